"""Lines read in bulk and lines read singly give the same columns."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokengap.adapters.formats.table import json_lines
from tokengap.adapters.formats.table.json_lines import JsonFile
from tokengap.adapters.interface import Intake
from tokengap.adapters.source import Line, Source

Read = tuple[dict[str, list[object]], list[int], list[tuple[int, str | None]]]
NAMES = ("a", "b", "c", "o.a", "o.p.b")
BEGIN = {"a": 1.5, "b": "x", "c": [0.5], "o": {"a": 1.5, "p": {"b": "x"}}}


def read(folder: Path, lines: list[str]) -> Read:
    """Columns as text, lines, and what was rejected."""
    path = folder / "log.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    intake = Intake("t", "table")
    columns: dict[str, list[object]] = {name: [] for name in NAMES}
    numbers: list[int] = []
    for piece in JsonFile(Source(str(path), path)).pieces(NAMES):
        for rows in piece(intake):
            for row, number in enumerate(rows.numbers.tolist()):
                place = rows.place(row)
                assert isinstance(place, Line)
                assert place.number == number
                numbers.append(number)
            for name in NAMES:
                columns[name] += rows.columns[name].to_pylist()
    return columns, numbers, [(reject.line, reject.field) for reject in intake.rejects]


NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = (
    st.none()
    | NUMBERS
    | st.text("xy", min_size=1, max_size=3)
    | st.booleans()
    | st.lists(NUMBERS, max_size=3)
)
FLAT = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), VALUES, max_size=4)
INNER = st.fixed_dictionaries({}, optional={"a": VALUES, "p": FLAT | VALUES})
OBJECTS = st.builds(
    lambda flat, inner: flat | inner, FLAT, st.just({}) | INNER.map(lambda o: {"o": o})
)
BROKEN = ("", "[1]", '{"a": 1, "a": 2}', '{"o": {"a": 1, "a": 2}}', '{"o": {}, "o": {}}', "{")
LINES = st.lists(OBJECTS.map(json.dumps) | st.sampled_from(BROKEN))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=LINES)
def test_in_bulk_and_singly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    lines = [json.dumps(BEGIN), *lines]
    bulk = read(tmp_path, lines)
    monkeypatch.setattr(json_lines, "_in_bulk", lambda *_: None)
    singly = read(tmp_path, lines)
    monkeypatch.undo()
    assert bulk[1:] == singly[1:]
    for name in NAMES:
        assert list(map(_same, bulk[0][name])) == list(map(_same, singly[0][name]))


def _same(value: object) -> object:
    """What columns of two types may hold for one value of JSON: all others are words of x and y."""
    if isinstance(value, list):
        return [_same(element) for element in value]
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return float(value)
    return value if value is None or set(str(value)) & set("xytf") else float(str(value))


def test_whole_numbers_keep_their_digits_beside_others(tmp_path: Path) -> None:
    large = 2**60 + 1
    columns, _, _ = read(tmp_path, [json.dumps(BEGIN), json.dumps({"a": large, "c": [large]})])
    assert columns["a"] == ["1.5", str(large)]
    assert columns["c"] == [["0.5"], [str(large)]]


def test_an_object_and_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"o": {"a": 1}}\n{"o": null}\n{"o": {"a": 2}}\n', "utf-8")
    (piece,) = JsonFile(Source(str(path), path)).pieces(["o", "o.a"])
    (rows,) = piece(Intake("t", "table"))
    assert rows.columns["o"].to_pylist() == ['{"a":1}', None, '{"a":2}']
    assert rows.columns["o.a"].to_pylist() == [1, None, 2]
