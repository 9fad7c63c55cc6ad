import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.outer_values import outer_values, read

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=5)
STYLES: tuple[dict[str, Any], ...] = (
    {},
    {"separators": (",", ":")},
    {"indent": 2},
    {"ensure_ascii": False},
)


def without(found: object) -> object:
    """What is left of a value once NaN and Infinity are null."""
    return json.loads(json.dumps(found), parse_constant=lambda _: None)


@given(OBJECTS, st.sampled_from(STYLES))
def test_it_tells_what_the_standard_library_tells(
    found: dict[str, Any], style: dict[str, Any]
) -> None:
    values = outer_values(json.dumps(found, **style).encode(errors="surrogatepass"))
    assert {name: json.loads(bytes(raw)) for name, raw in values.items()} == without(found)


@given(OBJECTS, st.sampled_from(STYLES), st.data())
def test_a_key_that_stands_twice_is_never_missed(
    found: dict[str, Any], style: dict[str, Any], data: st.DataObject
) -> None:
    key = json.dumps(data.draw(st.sampled_from(["", "a", "twice"])))
    again = json.dumps(found | {json.loads(key): 1}, **style)[:-1] + f",{key}:2}}"
    with pytest.raises(LineError, match="appears twice"):
        outer_values(again.encode())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "not a JSON object"),
        ("7", "not a JSON object"),
        ("", "not JSON"),
        ('{"a": 1', "not JSON"),
        ('{"a": Infinit}', "not JSON"),
        ('{"a": 1} {}', "not JSON"),
        (b'{"a": "\xff"}', "not JSON"),
    ],
)
def test_what_is_no_object_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(LineError, match=reason):
        outer_values(text if isinstance(text, bytes) else text.encode())


def test_a_value_of_another_type_is_none() -> None:
    values = outer_values(b'{"n": 1, "t": "x", "z": null}')
    assert [read(values, name, int) for name in ("n", "t", "z", "missing")] == [1, None, None, None]
