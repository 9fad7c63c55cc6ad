"""The bulk reader takes no line that a strict reader refuses, and reads the same from it."""

import json
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.adapters.own_log import read_own
from tokengap.adapters import bulk
from tokengap.adapters.bulk import BulkReader, Chunk, in_order
from tokengap.adapters.lines import LineError, decode
from tokengap.adapters.source import Block

COLUMNS = pa.schema({"name": pa.string(), "t_ns": pa.int64(), "small": pa.int32()})

EXPECTED = pa.schema({"exact": pa.int64()})


def chunks(data: bytes, *learned: Mapping[str, object]) -> list[Chunk]:
    reader = BulkReader(COLUMNS, EXPECTED)
    for record in learned:
        reader.learn(record)
    return list(reader.chunks(Block(1, 0, data)))


def rows(data: bytes, *learned: Mapping[str, object]) -> list[dict[str, object]] | None:
    (chunk,) = chunks(data, *learned)
    return None if chunk.rows is None else chunk.rows.to_pylist()


GOOD = b'{"name":"a","t_ns":1}'
GOOD_EVENT = b'{"request_id":"g","t_ns":1,"index":0}'


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
        b'{"x":' + b"[" * 99999 + b"]" * 99999 + b"}",
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


def test_one_bad_line_spoils_only_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PART_BYTES", 200)
    lines = [b'{"name":"a","t_ns":%d}' % n for n in range(100)]
    lines[50] = b'{"name":"a","t_ns":50.0}'
    found = chunks(b"\n".join(lines) + b"\n")
    assert sum(chunk.rows is None for chunk in found) == 1
    numbers: list[int] = []
    for chunk in found:
        held = [line.number for line in chunk.block.lines()]
        assert chunk.rows is None or len(held) == chunk.rows.num_rows
        assert (chunk.rows is None) == (51 in held)
        numbers += held
    assert numbers == list(range(1, 101))
    assert b"".join(chunk.block.data for chunk in found) == b"\n".join(lines) + b"\n"


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


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(in_order(lambda n: n * n, range(50))) == [n * n for n in range(50)]


def test_an_error_in_a_thread_is_not_lost() -> None:
    def broken(n: int) -> float:
        return 1 / (5 - n)

    results = in_order(broken, range(50))
    with pytest.raises(ZeroDivisionError):
        list(results)


def test_items_are_not_read_far_ahead() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for n in range(1000):
            read.append(n)
            yield n

    results = cast("Generator[int]", in_order(lambda n: n, items()))
    next(results)
    results.close()
    assert len(read) < 20


VALUES = st.sampled_from(
    [
        b"1", b"-1", b"0", b"4611686018427387904", b"9223372036854775807", b"1.0", b"1e3", b"true",
        b"null", b'"a"', b'"client"', b'"text"', b'"done"', b'"\\u0061"', b'"x:y{}"', b'"\xff"',
        b"[1]", b'{"a":1}', b'{"a":1,"a":2}', b"NaN", b"", b"[", b'"',
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        b"request_id", b"t_ns", b"attempt", b"choice", b"index", b"kind", b"n_tokens", b"vantage",
        b"clock", b"model", b"status", b"output_tokens", b"other", b"\\u0074_ns", b"times_ns",
    ]
)  # fmt: skip
PLAIN = st.integers(0, 9).map(lambda n: b'"request_id":"a","index":%d,"t_ns":%d' % (n, 10 * n))
SOME = st.lists(st.tuples(KEYS, VALUES).map(lambda kv: b'"%s":%s' % kv), max_size=3)
LINES = st.one_of(
    PLAIN.map(lambda body: b"{" + body + b"}"),
    st.tuples(PLAIN, SOME).map(lambda two: b"{" + b",".join([two[0], *two[1]]) + b"}"),
    SOME.map(lambda parts: b"{" + b",".join(parts) + b"}"),
)
BREAKS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"", b" \n", b"\0\n", b"}\n{"])
FILES = st.lists(st.tuples(LINES, BREAKS), max_size=12).map(
    lambda pairs: b"".join(part for pair in pairs for part in pair)
)


@settings(max_examples=200, deadline=None)
@given(data=FILES)
@example(b'{"t_ns":1}\0}')
@example(b'{"t_ns":1}\n{"t_ns":2}{"t_ns":3}\n')
def test_every_row_is_what_the_strict_reader_reads(data: bytes) -> None:
    for chunk in chunks(data, {"request_id": "a", "model": "m", "status": "s", "other": 1}):
        if chunk.rows is not None:
            lines = list(chunk.block.lines())
            assert len(lines) == chunk.rows.num_rows
            for line, row in zip(lines, chunk.rows.to_pylist(), strict=True):
                record = decode(line.data)
                assert {**dict.fromkeys(row), **record} == row


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=FILES, part_bytes=st.sampled_from([60, 300, 5000]))
def test_bulk_and_single_lines_agree_on_every_line(
    tmp_path: Path, data: bytes, part_bytes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "PART_BYTES", part_bytes)
        fast = read_own(tmp_path, data)
        patch.setattr(BulkReader, "_parse", lambda *_: None)
        slow = read_own(tmp_path, data)
    assert fast.rows == slow.rows
    assert fast.intake.rejects == slow.intake.rejects


@pytest.mark.parametrize(
    "field",
    [
        '"n_tokens":0', '"index":-1', '"attempt":-1', '"choice":-1', '"kind":"x"',
        '"vantage":"x"', '"t_ns":null', '"t_ns":4611686018427387905', '"request_id":""',
        '"request_id":null',
    ],
)  # fmt: skip
def test_a_row_is_judged_like_a_single_line(tmp_path: Path, field: str) -> None:
    name = field.partition(":")[0]
    good = {'"request_id"': '"request_id":"a"', '"t_ns"': '"t_ns":7', '"index"': '"index":0'}
    bad = "{" + ",".join((good | {name: field}).values()) + "}"
    with pytest.MonkeyPatch.context() as patch:
        fast = read_own(tmp_path, GOOD_EVENT, bad, GOOD_EVENT)
        patch.setattr(BulkReader, "_parse", lambda *_: None)
        slow = read_own(tmp_path, GOOD_EVENT, bad, GOOD_EVENT)
    assert [reject.line for reject in slow.intake.rejects] == [2]
    assert fast.intake.rejects == slow.intake.rejects
    assert fast.rows == slow.rows


FACTS = st.sampled_from(
    ["", ',"model":"m"', ',"model":"n"', ',"status":"failed"', ',"status":"bad"', ',"kv_bytes":-1']
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(facts=st.lists(st.tuples(st.sampled_from("ab"), FACTS, FACTS), min_size=1, max_size=10))
@example([("a", ',"status":"bad"', "")] * 3 + [("a", ',"status":"failed"', "")])
@example([("a", ',"status":"bad"', "")] * 2 + [("a", ',"kv_bytes":-1', "")])
@example([("a", "", ""), ("b", "", ',"model":"m"'), ("a", "", ',"model":"m"')])
@example([("a", ',"model":"m"', ',"model":"m"'), ("a", ',"model":"m"', "")])
def test_a_fact_on_many_lines_is_judged_as_on_each(
    tmp_path: Path, facts: list[tuple[str, str, str]]
) -> None:
    known = '{"request_id":"z","t_ns":0,"model":"m","status":"failed","kv_bytes":1}'
    lines = [
        f'{{"request_id":"{request_id}","t_ns":{10 * n},"index":{n}{one}{other}}}'
        for n, (request_id, one, other) in enumerate(facts)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "PART_BYTES", len(known))  # it is read first, and singly
        fast = read_own(tmp_path, "x", known, *lines)
        patch.setattr(BulkReader, "_parse", lambda *_: None)
        slow = read_own(tmp_path, "x", known, *lines)
    assert fast.rows == slow.rows
    assert fast.intake.rejects == slow.intake.rejects


def test_a_file_of_plain_events_needs_no_single_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(data: bytes) -> None:
        raise LineError(f"read singly: {data!r}")

    monkeypatch.setattr("tokengap.adapters.tokengap_block.read", refuse)
    lines = [b'{"request_id":"a","index":%d,"t_ns":%d,"kind":"text"}' % (n, n) for n in range(99)]
    reading = read_own(tmp_path, *lines)
    assert reading.intake.rejects == []
    assert [row["output_tokens"] for row in reading.rows] == [99]
