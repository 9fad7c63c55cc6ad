"""The bulk reader takes no line that a strict reader refuses, and reads the same from it."""

import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings

from tests.adapters.formats.tokengap.own_log import NASTY_FILES
from tokengap.adapters.formats.tokengap import bulk
from tokengap.adapters.formats.tokengap.bulk import BulkReader
from tokengap.adapters.shared import json_blocks
from tokengap.adapters.shared.json_blocks import Chunk
from tokengap.adapters.shared.lines import decode
from tokengap.adapters.source import Block

COLUMNS = pa.schema({"name": pa.string(), "t_ns": pa.int64(), "small": pa.int32()})

EXPECTED = pa.schema({"exact": pa.int64()})


def chunks(data: bytes, *learned: Mapping[str, object]) -> list[Chunk]:
    reader = BulkReader(COLUMNS, EXPECTED)
    reader.learn({"name": "a", "t_ns": 1, "small": 1})
    for record in learned:
        reader.learn(record)
    return list(reader.chunks(Block(1, 0, data)))


def rows(data: bytes, *learned: Mapping[str, object]) -> list[dict[str, object]] | None:
    (chunk,) = chunks(data, *learned)
    return None if chunk.rows is None else chunk.rows.to_pylist()


GOOD = b'{"name":"a","t_ns":1}'


def test_lines_become_rows() -> None:
    found = rows(GOOD + b'\n{"t_ns":2,"small":3,"name":null}\n')
    assert found == [{"name": "a", "t_ns": 1, "small": None}, {"name": None, "t_ns": 2, "small": 3}]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_end_of_the_last_line_does_not_matter(end: bytes) -> None:
    found = rows(GOOD + (end or b"\n") + GOOD + end)
    assert found is not None
    assert len(found) == 2


@pytest.mark.parametrize(
    "line",
    [
        b'{"t_ns":1.0}', b'{"t_ns":1.5}', b'{"t_ns":1e3}', b'{"t_ns":-0.0}', b'{"t_ns":true}',
        b'{"t_ns":"1"}', b'{"t_ns":9223372036854775808}', b'{"small":2147483648}', b'{"t_ns":NaN}',
        b'{"t_ns":01}', b'{"t_ns":1,}', b'{"t_ns":1,"t_ns":2}', b'{"t_ns":1,"\\u0074_ns":2}',
        b'{"t_ns":[1]}', b'{"t_ns":{}}', b'{"name":1}', b'{"name":"\xff"}', b'{"name":"\xed\xa0"}',
        b'{"name":"\\ud800"}', b'{"name":"a\tb"}', b'{"name":"a', b'{"t_ns":1}{"t_ns":2}',
        b'{"t_ns":1}x', b'{"t_ns":1}\0}', b'{"t_ns":1} ', b"", b"  ", b"[1]", b"7", b"}", b"{",
        b"\xef\xbb\xbf" + GOOD, b'{"t_ns":\n1}', b'{"other":1}',
        b'{"x":' + b"[" * 7000 + b"]" * 7000 + b"}",
    ],
)  # fmt: skip
def test_what_may_not_be_strict_is_left_to_the_reader_of_single_lines(line: bytes) -> None:
    for block in (
        line,
        GOOD + b"\n" + line,
        line + b"\n" + GOOD,
        GOOD + b"\n" + line + b"\n" + GOOD,
    ):
        assert rows(block + b"\n") is None


def test_one_bad_line_spoils_only_its_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_blocks, "LEAF_BYTES", 100)
    lines = [b'{"name":"a","t_ns":%d}' % n for n in range(100)]
    lines[50] = b'{"name":"a","t_ns":50.0}'
    found = chunks(b"\n".join(lines) + b"\n")
    assert sum(chunk.rows is None for chunk in found) == 1
    numbers: list[int] = []
    for chunk in found:
        held = [line.number for line in chunk.block.lines()]
        assert chunk.rows is None or len(held) == chunk.rows.num_rows
        assert (chunk.rows is None) == (51 in held)
        assert len(held) < 10
        numbers += held
    assert numbers == list(range(1, 101))
    assert b"".join(chunk.block.data for chunk in found) == b"\n".join(lines) + b"\n"


def test_a_line_longer_than_any_piece_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_blocks, "LEAF_BYTES", 10)
    lines = [b'{"t_ns":1}', b'{"t_ns":1.0,"name":"' + b"x" * 1000 + b'"}', b'{"t_ns":2}']
    found = chunks(b"\n".join(lines) + b"\n")
    held = [[line.data for line in chunk.block.lines()] for chunk in found if chunk.rows is None]
    assert held == [[lines[1]]] or held == [lines[:2]]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_lines_of_some_rows_can_be_had(end: bytes) -> None:
    data = end.join([GOOD, b'{"t_ns":22}', GOOD + end])
    (chunk,) = chunks(data)
    first, last = chunk.lines(np.array([0, 1]))
    assert (first.number, first.offset, first.data) == (1, 0, GOOD)
    assert (last.number, last.offset, last.data) == (2, len(GOOD + end), b'{"t_ns":22}')


def test_a_column_is_only_looked_for_once_it_has_been_seen() -> None:
    reader = BulkReader(COLUMNS, EXPECTED)
    block = Block(1, 0, b'{"t_ns":1}\n')
    assert next(reader.chunks(block)).rows is None
    reader.learn({"t_ns": 5})
    rows = next(reader.chunks(block)).rows
    assert rows is not None
    assert rows.schema.names == COLUMNS.names
    assert rows.to_pylist() == [{"name": None, "t_ns": 1, "small": None}]


def test_fields_beyond_the_columns_are_learned() -> None:
    data = b'{"t_ns":1,"x":"\xc3\xbc","y":true}\n{"t_ns":2,"z":0.5}\n'
    assert rows(data) is None
    found = rows(data, {"x": "s", "y": False, "z": 1, "t_ns": "ignored", "n": None, "l": [1]})
    assert found == [
        {"name": None, "t_ns": 1, "small": None, "x": "ü", "y": True, "z": None},
        {"name": None, "t_ns": 2, "small": None, "x": None, "y": None, "z": 0.5},
    ]


def test_a_learned_field_of_another_type_is_left_to_the_reader_of_single_lines() -> None:
    assert rows(b'{"x":1}\n', {"x": "s"}) is None
    assert rows(b'{"x":"1","x":"2"}\n', {"x": "s"}) is None
    assert rows(b'{"x":"\xff"}\n', {"x": "s"}) is None


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"nan", b"Inf"])
def test_a_learned_number_is_finite(value: bytes) -> None:
    assert rows(b'{"x":0.5}\n{"x":' + value + b"}\n", {"x": 0.5}) is None
    assert rows(b'{"x":0.5}\n{"x":1e99}\n{"t_ns":1}\n', {"x": 0.5}) is not None


def test_an_expected_field_has_the_type_expected() -> None:
    assert rows(b'{"exact":9007199254740993}\n') is None
    found = rows(b'{"exact":9007199254740993}\n', {"exact": 1})
    assert found is not None
    assert found[0]["exact"] == 9007199254740993  # 2^53 + 1 is no double
    assert rows(b'{"exact":1.0}\n', {"exact": 1}) is None


def test_only_so_many_fields_are_learned() -> None:
    names = [f"x{n}" for n in range(bulk.COLUMNS_LIMIT - len(COLUMNS) + 1)]
    one, more = (json.dumps(dict.fromkeys(n, 1)).encode() for n in (names[:-1], names))
    learned = dict.fromkeys(names, 1)
    assert rows(one, learned) is not None
    assert rows(more, learned) is None


@settings(max_examples=200, deadline=None)
@given(data=NASTY_FILES)
@example(b'{"t_ns":1}\0}')
@example(b'{"t_ns":1}\n{"t_ns":2}{"t_ns":3}\n')
def test_every_row_is_what_the_strict_reader_reads(data: bytes) -> None:
    for chunk in chunks(data, {"request_id": "a", "model": "m", "status": "s", "other": 1}):
        if chunk.rows is not None:
            lines = list(chunk.block.lines())
            assert len(lines) == chunk.rows.num_rows
            for line, row in zip(lines, chunk.rows.to_pylist(), strict=True):
                record = dict.fromkeys(row) | decode(line.data)
                if record["other"] is not None:
                    record["other"] = float(record["other"])  # all that is promised
                assert record == row
