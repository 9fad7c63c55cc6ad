"""Rows of many lines are there only where a strict reader would read the same from each."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.both_ways import spoilt
from tokengap.adapters.shared.json_blocks import rows_of

SCHEMA = pa.schema({
    "t_ns": pa.int64(), "name": pa.string(), "ms": pa.float64(),
    "parts": pa.list_(pa.struct({"n": pa.int64(), "s": pa.string()})),
})  # fmt: skip
GOOD: dict[str, Any] = {
    "t_ns": 5, "name": "a", "ms": 1.5, "parts": [{"n": 1, "s": "b"}], "unread": {"deep": [1]},
}  # fmt: skip


def rows(*lines: str, unexpected: Any = "ignore") -> list[dict[str, Any]] | None:
    found = rows_of("\n".join([*lines, ""]).encode("utf-8", "surrogatepass"), SCHEMA, unexpected)
    return None if found is None else found.to_pylist()


def test_fields_that_are_not_in_the_schema_are_ignored_or_refused() -> None:
    read = {name: value for name, value in GOOD.items() if name != "unread"}
    assert rows(json.dumps(GOOD), json.dumps(read)) == [read, read]
    assert rows(json.dumps(read), unexpected="error") == [read]
    assert rows(json.dumps(GOOD), unexpected="error") is None


def _read(value: Any) -> dict[str, Any]:
    """The fields of the schema as Python's own decoder reads them."""
    found = {name: value.get(name) for name in SCHEMA.names}
    if found["parts"] is not None:
        found["parts"] = [
            None if part is None else {"n": part.get("n"), "s": part.get("s")}
            for part in found["parts"]
        ]
    if found["ms"] is not None:
        found["ms"] = float(found["ms"])
    return found


def _is(value: Any, *types: type) -> bool:
    return value is None or type(value) in types


@pytest.mark.parametrize("line", list(spoilt(GOOD)))
def test_a_row_is_what_the_line_says_or_is_not_there(line: str) -> None:
    found = rows(json.dumps(GOOD), line, json.dumps(GOOD))
    if found is None:
        return
    assert len(found) == 3
    value = json.loads(line)
    assert found[1] == _read(value) or "NaN" in line
    assert _is(value.get("t_ns"), int)
    assert _is(value.get("name"), str)
    assert _is(value.get("ms"), int, float)


@pytest.mark.parametrize("key", ["t_ns", "name", "ms", "parts"])
def test_a_key_of_the_schema_may_not_stand_twice(key: str) -> None:
    twice = f'"{key}":{json.dumps(GOOD[key])},'
    text = json.dumps(GOOD)[1:]
    assert rows("{" + twice + text) is None
    escaped = f"\\u{ord(key[0]):04x}{key[1:]}"
    assert rows("{" + twice.replace(key, escaped) + text) is None
    assert rows('{"parts":[{"n":1,"n":1}]}') is None
    assert rows('{"unread":1,"unread":2}') is not None


DEEP = "[" * 50_000 + "]" * 50_000


@pytest.mark.parametrize("value", [DEEP, '{"a":' * 50_000 + "1" + "}" * 50_000])
def test_deep_nesting_in_a_field_that_is_not_read_does_no_harm(value: str) -> None:
    assert rows(f'{{"t_ns":1,"unread":{value}}}') == [_read({"t_ns": 1})]


@given(st.lists(st.sampled_from([json.dumps(GOOD), "", "x", "{}", '{"t_ns":1}{"t_ns":2}', "[1]"])))
def test_there_is_one_row_for_each_line_or_none_at_all(lines: list[str]) -> None:
    found = rows(*lines)
    good = bool(lines) and all(line in ("{}", json.dumps(GOOD)) for line in lines)
    assert (found is not None) == good
    assert found is None or len(found) == len(lines)
