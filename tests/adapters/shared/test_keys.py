"""Which keys tell that a record has none twice, where others leave the same without them."""

import json
from itertools import product
from typing import Any

import pytest
from msgspec import inspect

from tokengap.adapters.shared.keys import key_read_twice, keys_to_find, rests

KEYS = ("queued", "dequeued", "quu")
"""They leave the same: the letters of hexadecimal numbers are left out."""


def test_keys_that_differ_in_what_is_left_out() -> None:
    line = (
        b'{"id": "queued", "t": {"queued": 1, "x": [{}], "dequeued" : 2}, "text": "{\\"quu\\": 1"}'
    )
    assert keys_to_find(line) == (b'"queued":', b'"dequeued":')
    assert keys_to_find(b'{"a1": 1, "a2": {"a1x": 1}, "other": 2}') == (b'"a1":', b'"a2":')
    assert keys_to_find(b'{"queued": 1, "x": {"queued": 2}}') == ()  # not in one object


@pytest.mark.parametrize(
    "line",
    [
        b'{"queued": 1, "queued": 2}',
        b'{"queued": 1, "dequeued": 2, "x": {"queued": 3}}',
        b'{"queued": 1, "dequeued": 2, "a\\"{": 3}',
    ],
)
def test_where_nothing_can_be_said(line: bytes) -> None:
    assert keys_to_find(line) is None


def test_a_record_that_has_all_of_them_has_none_twice() -> None:
    # Every way to write three keys that leave the same, of which two are in an object within.
    written = [
        b'{"%b":1,"t":{"%b":2,"%b":3}}' % tuple(key.encode() for key in keys)
        for keys in product(KEYS, repeat=3)
    ]
    assert len(set(rests(b"\n".join(written)))) == 1
    found = keys_to_find(written[KEYS.index("quu") * 9 + 1])  # quu, then queued and dequeued
    assert found == (b'"quu":', b'"queued":', b'"dequeued":')
    passed = [line for line in written if all(key in line for key in found)]
    assert len(passed) == 6  # the orders of three keys
    for line in passed:
        outer, inner = json.loads(line, object_pairs_hook=list)
        assert len({key for key, _ in inner[1]}) == 2
        assert outer[0] != inner[0]


@pytest.mark.parametrize("first", range(8))
def test_of_several_keys_that_come_twice_the_first_is_named(first: int) -> None:
    # Not one of a set, whose order differs from process to process.
    keys = [f"key{(first + step) % 8}" for step in range(8)]
    data = json.dumps(dict.fromkeys(keys, 0)).encode()
    twice = data[:-1] + b"," + data[1:]
    assert key_read_twice(data, inspect.type_info(dict[str, int])) is None
    for kind in (dict[str, int], Any):
        assert key_read_twice(twice, inspect.type_info(kind)) == keys[0]
