from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.formats.otlp.spans import RawSpan
from tokengap.adapters.formats.otlp.values import (
    Attributes,
    KeyValue,
    any_value,
    are_hex,
    hex_id,
    stamp_ns,
    whole,
    wholes,
)
from tokengap.adapters.shared.lines import LineError

TRACE = bytes(range(16))


def attributes(**values: object) -> Attributes:
    return Attributes.of([KeyValue(key, value) for key, value in values.items()], "a")


@given(st.integers(-(2**63), 2**64 - 1))
def test_an_integer_is_the_same_as_number_and_as_text(number: int) -> None:
    # 1764412800000000001 as a double would be ...000, 256 ns apart from its neighbours.
    assert whole(number, "f") == whole(str(number), "f") == number


@pytest.mark.parametrize(
    "wrong", [1.5, 1e18, True, None, "", "-", "--1", "1_0", " 1", "1.0", "0x1", "\u0661", "9" * 21]
)
def test_anything_else_is_no_integer(wrong: object) -> None:
    with pytest.raises(LineError, match="f: a whole number expected"):
        whole(wrong, "f")


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        (["7", "0012"], [7, 12]),
        ([7, -12], [7, -12]),
        (["7", None, "9" * 20], [7, None, 99_999_999_999_999_999_999]),
        ([None, 7], [None, 7]),
        ([None, None], [None, None]),
    ],
)
def test_many_integers_at_once(written: list[object], numbers: list[int | None]) -> None:
    assert wholes(written) == numbers
    assert [None if each is None else whole(each, "f") for each in written] == numbers


@pytest.mark.parametrize(
    "wrong", [1.5, True, "", "-", "1_0", " 1", "1.0", "0x1", "\u0661", "9" * 21, [], "-1"]
)
@pytest.mark.parametrize("others", [[], ["7"], [7], [None]])
def test_many_that_are_not_sure_to_be_integers(wrong: object, others: list[object]) -> None:
    with pytest.raises(ValueError, match="whole numbers expected"):
        wholes([*others, wrong])


@pytest.mark.parametrize("wrong", ["0", 0, "-5", 2**62])
def test_a_stamp_of_zero_is_not_set(wrong: object) -> None:
    with pytest.raises(LineError, match="since 1970 expected"):
        stamp_ns(wrong, "f")


def test_ids_are_hex_or_base64() -> None:
    text = "000102030405060708090a0b0c0d0e0f"
    assert hex_id(text, 16, "f") == hex_id(text.upper(), 16, "f") == TRACE.hex() == text
    assert hex_id("AAECAwQFBgcICQoLDA0ODw==", 16, "f") == text


@pytest.mark.parametrize(
    ("ids", "same"),
    [
        (["00ff", "a1b2"], True),
        (["00FF", "a1b2"], False),
        (["00ff", "AQI="], False),
        (["00ff", "a1b"], False),
        (["00ff\na1b2", ""], False),
        (["00 ff", "a1b2"], False),
        ([""], False),
    ],
)
def test_ids_that_are_hex_already(ids: list[str], same: object) -> None:
    assert are_hex(ids, 2) is same


@pytest.mark.parametrize("wrong", [None, 1, "", "00", "zz" * 16, "00 " * 10 + "00", "A" * 23])
def test_anything_else_is_no_id(wrong: object) -> None:
    with pytest.raises(LineError, match="16 bytes expected"):
        hex_id(wrong, 16, "f")


def test_values_by_their_type() -> None:
    found = attributes(
        text={"stringValue": "x"},
        number={"intValue": "7"},
        none={},
        null=None,
        flag={"boolValue": False},
        list={"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}},
    )
    assert found.text("missing", "text") == "x"
    assert (found.integer("number"), found.count("missing", "number")) == (7, 7)
    assert (found.text("none"), found.text("null"), found.integer("missing")) == (None, None, None)
    assert found.flag("missing", "flag") is False
    assert (found.texts("list"), found.texts("text"), found.texts("missing")) == (["a"], ["x"], [])
    assert "text" in found
    assert "missing" not in found


@pytest.mark.parametrize(
    ("written", "expected", "note"),
    [
        ({"doubleValue": 0.0125}, 12_500_000, []),
        ({"doubleValue": 2}, 2_000_000_000, []),
        ({"intValue": "2"}, 2_000_000_000, []),
        ({"doubleValue": 0.0}, 0, []),
        ({"doubleValue": -0.5}, -500_000_000, ["clock_contradiction"]),
        ({"doubleValue": -1.0}, None, ["sentinel_dropped"]),
        ({"doubleValue": "NaN"}, None, ["sentinel_dropped"]),
        ({"doubleValue": "Infinity"}, None, ["sentinel_dropped"]),
        (None, None, []),
    ],
)
def test_durations_in_seconds(
    written: Mapping[str, Any] | None, expected: int | None, note: list[str]
) -> None:
    quality: list[str] = []
    assert attributes(d=written).s_ns("d", quality) == expected
    assert quality == note


def test_a_zero_may_stand_for_none() -> None:
    quality: list[str] = []
    found = attributes(d={"doubleValue": 0.0}, m={"doubleValue": 1.5})
    assert found.s_ns("d", quality, zero_is_unset=True) is None
    assert quality == ["sentinel_dropped"]
    assert found.ms_ns("m", quality) == 1_500_000


@pytest.mark.parametrize(
    "wrong", [{"stringValue": "1"}, {"doubleValue": []}, {"intValue": "x"}, "1"]
)
def test_a_value_of_another_type_is_refused(wrong: object) -> None:
    with pytest.raises(LineError, match=r"^d: "):
        attributes(d=wrong).s_ns("d", [])


@pytest.mark.parametrize(
    "pairs",
    [["x"], [{"value": {}}], {"a": 1}, 5, [{"key": "a", "value": {}}, {"key": "a", "value": {}}]],
)
def test_attributes_are_pairs_each_once(pairs: object) -> None:
    with pytest.raises(LineError, match=r"^a: "):
        Attributes.of(msgspec.convert({"attributes": pairs}, RawSpan).attributes, "a")


def test_plain_values_become_what_otlp_has() -> None:
    plain = {"t": "x", "i": 3, "d": 0.5, "b": True, "l": ["a"], "n": None}
    found = Attributes({key: any_value(each) for key, each in plain.items()})
    assert (found.text("t"), found.integer("i"), found.s_ns("d", [])) == ("x", 3, 500_000_000)
    assert (found.flag("b"), found.texts("l"), found.text("n")) == (True, ["a"], None)
