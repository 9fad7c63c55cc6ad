import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.reading import SAMPLES
from tokengap.adapters.shared.lines import (
    LineError,
    decode,
    optional_time_ns,
    shaped,
    time_ns,
    tokens,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)


def refusal(data: bytes, **options: bool) -> LineError:
    with pytest.raises(LineError) as caught:
        decode(data, **options)
    return caught.value


@given(OBJECTS, st.booleans())
def test_every_json_object_is_read_as_it_is(record: dict[str, Any], ascii_only: bool) -> None:
    text = json.dumps(record, ensure_ascii=ascii_only)
    assert decode(text.encode()) == record


@given(OBJECTS, st.text(), VALUES)
def test_a_repeated_key_is_refused_wherever_it_stands(
    record: dict[str, Any], key: str, value: object
) -> None:
    pair = f"{json.dumps(key)}: {json.dumps(value)}"
    text = f'{{"outer": [{{{pair}, "rest": {json.dumps(record)}, {pair}}}]}}'
    assert refusal(text.encode()).reason == f'key "{key}" appears twice'


def test_the_same_key_in_two_objects_is_no_repetition() -> None:
    assert decode(b'{"a": {"t": 1}, "b": [{"t": 2}, {"t": 3}]}')["b"] == [{"t": 2}, {"t": 3}]


def test_a_colon_in_an_escape_does_not_hide_a_repetition() -> None:
    # Three colons are written; "a" and "b" and the text ":" decode to three as well.
    assert refusal(rb'{"a":1,"a":2,"b":"\u003a"}').field == "a"
    assert decode(rb'{"a":1,"b":"\u003A"}') == {"a": 1, "b": ":"}


def test_integers_beyond_64_bits_do_not_hide_a_repetition() -> None:
    assert refusal(b'{"a": 100000000000000000000, "a": 1}').field == "a"
    assert decode(b'{"a": 100000000000000000000}') == {"a": 10**20}


def test_the_published_record_with_one_key_twice() -> None:
    first = (SAMPLES / "aiperf/doc_duplicate_key/profile_export.jsonl").read_bytes().split(b"\n")[0]
    assert refusal(first).reason == 'key "time_to_first_token" appears twice'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x", "not JSON"),
        (b'{"a": 1', "not JSON"),
        (b'{"a": 1} {"b": 2}', "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"a": "\xff"}', "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"17", "not a JSON object"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_object_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    assert refusal(data).reason.startswith(reason)


def test_numbers_that_are_not_finite_pass_on_request_only() -> None:
    text = b'{"request_rate": Infinity, "mean_itl_ms": NaN, "completed": 3}'
    record = decode(text, non_finite=True)
    assert record["request_rate"] == float("inf")
    assert record["mean_itl_ms"] != record["mean_itl_ms"]
    assert record["completed"] == 3
    assert refusal(text).reason.startswith("not JSON")
    assert refusal(b'{"a": NaN, "a": 1}', non_finite=True).field == "a"
    assert refusal(b'{"a": NaN', non_finite=True).reason.startswith("not JSON")


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1], 2**62, -(2**62)])
def test_a_stamp_is_an_integer_within_limits(value: object) -> None:
    with pytest.raises(LineError) as caught:
        time_ns(value, "t_ns")
    assert caught.value.field == "t_ns"
    assert caught.value.value == value


@pytest.mark.parametrize("value", [0, -5, 2**62 - 1, 1 - 2**62, 1_795_951_384_724_246_852])
def test_a_stamp_is_kept_to_the_nanosecond(value: int) -> None:
    assert time_ns(value, "t_ns") == optional_time_ns(value, "t_ns") == value


def test_an_optional_stamp_may_be_missing() -> None:
    assert optional_time_ns(None, "t_ns") is None


@pytest.mark.parametrize("value", [True, -1, 1.5, 2**31, None])
def test_a_token_count_is_a_whole_number(value: object) -> None:
    with pytest.raises(LineError, match="n: a whole number of tokens expected"):
        tokens(value, "n")


class Shape(msgspec.Struct):
    status: int
    inner: dict[str, int] = {}


def test_a_wrong_type_is_named_by_its_path_and_its_value_left_out() -> None:
    assert shaped({"status": 200}, Shape).status == 200
    with pytest.raises(LineError) as caught:
        shaped({"status": "some text"}, Shape)
    assert (caught.value.field, caught.value.value) == ("status", None)
    assert caught.value.reason == "status: Expected `int`, got `str`"


def test_a_missing_key_is_named() -> None:
    with pytest.raises(LineError, match="missing required field `status`"):
        shaped({}, Shape)
