"""Records decoded together are what they are one by one, and the same ones are refused."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.interface import Intake, Reject
from tokengap.adapters.shared.bulk_records import SINGLY, BulkRecords
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.record_files import pieces_of_lines
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Source


class Part(msgspec.Struct):
    size: Count | None = None


class Record(msgspec.Struct):
    id: str
    s: float | None = None
    part: Part | None = None


Found = list[tuple[int, str, float | None, int | None]]


def source_of(folder: Path, data: bytes) -> Source:
    path = folder / "log.jsonl"
    path.write_bytes(data)
    return Source(str(path), path)


def together(source: Source, *, non_finite: bool = False) -> tuple[Found, list[Reject]]:
    records = BulkRecords(Record, Record, non_finite=non_finite)
    intake = Intake("t", "a")
    found: Found = []
    for piece in pieces_of_lines(source):
        decoded = records.decode(piece, source, intake)
        arrays, part = decoded.fields.arrays, decoded.fields.parts["part"]
        columns = (arrays["id"], arrays["s"], part.arrays["size"])
        found += zip(decoded.numbers.tolist(), *(c.to_pylist() for c in columns), strict=True)
    return found, intake.rejects


def singly(source: Source, *, non_finite: bool = False) -> tuple[Found, list[Reject]]:
    records, intake = Records(Record, non_finite=non_finite), Intake("t", "a")
    found: Found = []
    for line in source.lines():
        try:
            record = records.decode(line.data)
        except LineError as error:
            intake.reject(source, line, error.reason, error.field, error.value)
        else:
            size = record.part.size if record.part else None
            found.append((line.number, record.id, record.s, size))
    return found, intake.rejects


GOOD = [
    b'{"id": "a", "s": 1.5, "part": {"size": 3}}',
    b'{"id":"b"}',
    b'{"id": "c", "s": null, "more": {"id": 1, "x": [{"id": 2}, {"id": 3}]}}',
    b'{"id": "say \\"id\\": \\"x\\" {\\n", "s": 2}',
    b'{"id": "\\\\", "s": 3}',
    b'{"\\u0069d": "d"}',
    '{"id": "\u00e9", "text": "a {\u20ac} : b"}'.encode(),
    b'{"id": "a\\n", "x": 1e999}',
    b'  {"id": "e"}  ',
    b'{"id": "f"}\r',
    b"",
    b"   ",
]
BAD = [
    b'{"id": "a", "id": "b"}',
    b'{"id": "a", "\\u0069d": "b"}',
    b'{"id": "x\\n", "part": {"size": 1, "size": 2}}',
    b'{"id": "a"} {"id": "b"}',
    b'{"id": "a"}{"id": "b"}',
    b'{"id": "a", "s":',
    b"1.0}",
    b'{"id": "a", "x": [{}',
    b', "y", {}]}',
    b'{"id": 7}',
    b'{"id": "a", "part": {"size": -1}}',
    b'{"id": "a", "x": "\xff"}',
    b'{"s": 1}',
    b"[1]",
    b"null",
    b"no",
    b"\x00",
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_a_line_that_is_no_record_costs_only_itself(tmp_path: Path, bad: bytes) -> None:
    lines = [GOOD[0]] * 3 * SINGLY
    lines[2 * SINGLY] = bad
    source = source_of(tmp_path, b"\n".join(lines))
    found, rejects = together(source)
    assert [number for number, *_ in found] == [
        number for number in range(1, len(lines) + 1) if number != 2 * SINGLY + 1
    ]
    assert [reject.line for reject in rejects] == [2 * SINGLY + 1]
    assert (found, rejects) == singly(source)


def test_an_object_over_two_lines_beside_two_on_one_is_not_taken_for_two(tmp_path: Path) -> None:
    # As many objects as lines, but not one on each.
    lines = [b'{"id": "a\\n"}{"id": "b\\n"}', b'{"id": "c", "x": [{}', b'{"y": 1}]}', GOOD[0]]
    found, rejects = together(source_of(tmp_path, b"\n".join(lines)))
    assert [number for number, *_ in found] == [4]
    assert [reject.line for reject in rejects] == [1, 2, 3]


@given(st.lists(st.sampled_from(GOOD + BAD), max_size=3 * SINGLY), st.booleans())
def test_together_they_are_what_they_are_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ended: bool
) -> None:
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    source = source_of(tmp_path_factory.mktemp("log"), data)
    assert together(source) == singly(source)


NON_FINITE = [
    b'{"id": "a", "s": NaN}',
    b'{"id": "NaN", "s": -Infinity, "x": [Infinity, {"y": NaN}]}',
    b'{"id": "\\"NaN", "s": 1.5}',
]


def test_numbers_that_are_not_finite_count_as_null_on_request(tmp_path: Path) -> None:
    lines = NON_FINITE * SINGLY
    source = source_of(tmp_path, b"\n".join(lines))
    found, rejects = together(source, non_finite=True)
    assert found[:3] == [(1, "a", None, None), (2, "NaN", None, None), (3, '"NaN', 1.5, None)]
    assert (len(found), rejects) == (len(lines), [])
    found, rejects = together(source)
    assert {name for _, name, *_ in found} == {'"NaN'}
    assert len(rejects) == 2 * SINGLY


@given(st.lists(st.sampled_from(GOOD + BAD + NON_FINITE), max_size=3 * SINGLY))
def test_so_they_do_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    source = source_of(tmp_path_factory.mktemp("log"), b"\n".join(lines))
    assert together(source, non_finite=True) == singly(source, non_finite=True)


TEXT = st.text(st.sampled_from('ab{}[]":,\\\n 1\u00e9'), max_size=12)
VALUE = st.recursive(
    TEXT | st.integers(-5, 5) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.lists(
        st.tuples(st.dictionaries(TEXT, VALUE, max_size=4), TEXT, st.booleans(), st.booleans()),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_the_texts_hold(
    tmp_path_factory: pytest.TempPathFactory, logged: list[tuple[dict[str, Any], str, bool, bool]]
) -> None:
    lines = []
    for more, name, twice, compact in logged:
        separators = (",", ":") if compact else (", ", ": ")
        line = json.dumps({"id": name, **more}, separators=separators)
        lines.append(line[:-1] + ', "id": "again"}' if twice else line)
    source = source_of(tmp_path_factory.mktemp("log"), "\n".join(lines).encode())
    found, rejects = together(source)
    assert (found, rejects) == singly(source)


def test_a_struct_may_stand_for_what_is_logged(tmp_path: Path) -> None:
    def part(record: Record) -> Part:
        if record.part is None:
            raise LineError("no part", "part")
        return record.part

    lines = [GOOD[0], GOOD[1], b'{"id": 1}', GOOD[0], b""]
    source = source_of(tmp_path, b"\n".join(lines))
    records, intake = BulkRecords(Part, Record, part), Intake("t", "a")
    (piece,) = pieces_of_lines(source)
    decoded = records.decode(piece, source, intake)
    assert decoded.fields.arrays["size"].to_pylist() == [3, 3]
    assert decoded.numbers.tolist() == [1, 4]
    assert [(reject.line, reject.field) for reject in intake.rejects] == [(2, "part"), (3, "id")]


class Timed(msgspec.Struct):
    queued: float
    dequeued: float | None = None


@pytest.mark.parametrize("twice", ["queued", "dequeued"])
def test_a_key_twice_among_records_whose_keys_are_almost_alike(tmp_path: Path, twice: str) -> None:
    good = '{"queued": 1.0, "dequeued": 2.0}\n'
    data = good * 30 + f'{{"{twice}": 1.0, "{twice}": 2.0}}\n' + good * 30
    records, intake = BulkRecords(Timed, Timed), Intake("t", "a")
    source = source_of(tmp_path, data.encode())
    (piece,) = pieces_of_lines(source)
    found = records.decode(piece, source, intake)
    assert found.numbers.tolist() == [at for at in range(1, 62) if at != 31]
    assert [(reject.line, reject.field) for reject in intake.rejects] == [(31, twice)]
