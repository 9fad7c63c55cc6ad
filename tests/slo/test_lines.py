"""In these texts each whole number says on which line it stands, so the text is its own truth."""

import doctest
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from tokengap.slo import lines
from tokengap.slo.lines import KeyPath, key_lines

TEXTS = {
    "tables": """a = 1
[b]
c = 3

# [not.a.table]
[b.d]  # e = 0
e = 7
""",
    "arrays of tables": """[[service]]
n = 2
[[service.objective]]
n = 4
[[service.objective]]
n = 6
[service.objective.deep]
n = 8
[[service]]
n = 10
[[service.objective]]
n = 12
""",
    "keys": """a.b = 1
"a.b" = 2
'c d' = 3
"\\u0065 # = [" = 4
f . g = 5
[ "x.y" . z ]
n = 7
""",
    "values that look like more": '''a = "[x]"
b = 2
c = """
[not.a.table]
d = 0
"""
e = 7
f = \'\'\'
g = 0\'\'\'
h = 10
i = "a \\" # = \\\\"
j = 12
k = """a ""quoted"" \\""" end""""
l = 14
m = 2026-01-01 02:00:00Z
o = 0.5
p = 17
''',
    "values over many lines": """a = [
  2,
  3, # with a comment, and a comma

  5,
]
b = { c = 7, d = { e = 7 } }
f = [
  { g = 9, h = [9, 9] },
  { g = 10 },
  [
    12,
  ],
]
i = 15
""",
    "line ends of Windows": "a = 1\r\n[b]\r\nc = 3\r\n",
    "no end of line": "a = 1\nb = 2",
}


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, int]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    elif isinstance(value, int):
        yield path, value


@pytest.mark.parametrize("name", TEXTS)
def test_each_number_is_found_on_its_line(name: str) -> None:
    text = TEXTS[name]
    found = key_lines(text)
    numbers = dict(leaves(tomllib.loads(text)))
    assert numbers
    assert {path: found[path] for path in numbers} == numbers


def test_each_item_of_an_array_of_tables_stands_on_its_own_header() -> None:
    found = key_lines(TEXTS["arrays of tables"])
    assert [found["service", index] for index in (0, 1)] == [1, 9]
    assert [found["service", 0, "objective", index] for index in (0, 1)] == [3, 5]


def test_the_example_in_the_docstring_holds() -> None:
    assert doctest.testmod(lines) == (0, 1)
