"""The tree drawn at the top of errors.py is the tree there is."""

import inspect
import re

import pytest

from tokengap import errors
from tokengap.errors import EXIT_CONDITION, EXIT_DONE, EXIT_INPUT, EXIT_USAGE, TokengapError

CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, TokengapError)
]
DRAWN_LINE = re.compile(r"(?P<branch>[ |`-]*)(?P<name>\w+)(?: +(?P<exit_code>\d) +\S.*)?")


def drawn_tree() -> dict[str, tuple[str, int | None]]:
    """Name of each class in the drawing, with its parent and exit code."""
    drawing = inspect.cleandoc(errors.__doc__ or "").split("\n\n")[1]
    tree: dict[str, tuple[str, int | None]] = {}
    above: list[str] = []
    for line in drawing.splitlines():
        match = DRAWN_LINE.fullmatch(line)
        assert match is not None, line
        depth = len(match["branch"]) // 3
        parent = above[depth - 1] if depth else "Exception"
        above[depth:] = [match["name"]]
        tree[match["name"]] = (parent, int(match["exit_code"]) if match["exit_code"] else None)
    return tree


def test_the_drawing_names_every_class_with_its_parent_and_exit_code() -> None:
    drawn = drawn_tree()
    there_are = {cls.__name__: (cls.__bases__[0].__name__, cls.exit_code) for cls in CLASSES}
    # The base ends no command itself, so the drawing gives it no exit code.
    drawn["TokengapError"] = (drawn["TokengapError"][0], TokengapError.exit_code)
    assert drawn == there_are


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_class_says_when_it_occurs(cls: type[TokengapError]) -> None:
    assert cls.__doc__
    assert cls.__doc__.rstrip().endswith(".")


def test_exit_codes_tell_a_finding_from_a_failure() -> None:
    codes = [EXIT_DONE, EXIT_CONDITION, EXIT_USAGE, EXIT_INPUT]
    assert codes == [0, 1, 2, 3]
    assert {cls.exit_code for cls in CLASSES} == {EXIT_USAGE, EXIT_INPUT}
