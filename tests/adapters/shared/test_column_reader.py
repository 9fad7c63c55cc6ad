from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tokengap.adapters.interface import Intake
from tokengap.adapters.shared import column_reader, record_files
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_columns, read_groups, read_kinds
from tokengap.adapters.shared.columns import Columns
from tokengap.adapters.shared.nested import suffixed
from tokengap.adapters.shared.record_files import read_pieces
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.source import Source
from tokengap.schema import STREAMS


class Record(msgspec.Struct):
    name: str
    size: float = 0


def make(records: Columns) -> Rows:
    records.pass_over(pc.equal(records["size"], 0))
    records.refuse(pc.less(records["size"], 0), "size: below 0", "size", records["size"])
    facts = {"request_id": records["name"], "status": "completed"}
    return Rows(records.numbers, records.sieve, facts)


def read(folder: Path, text: str) -> tuple[list[tuple[str, str]], Intake]:
    path = folder / "log.jsonl"
    path.write_text(text)
    source, intake = Source(str(path), path), Intake("log", "test")
    pieces, records = read_pieces(source, "records"), BulkRecords(Record, Record)
    table = pa.Table.from_batches(read_columns(source, intake, pieces, records, make), STREAMS)
    rows = table.select(["request_id", "source"]).to_pylist()
    return [(row["request_id"], row["source"].rpartition(":")[2]) for row in rows], intake


LINES = (
    '{"name": "a", "size": 1}\n{"name": "b"}\n{"name": "c", "size": -4}\n\n'
    '{"name": "d", "size": "x"}\nno\n{"name": "e", "name": "f"}\n{"name": "g", "size": 2}\n'
)


def test_each_record_makes_a_row_or_none_or_is_put_aside_in_order(tmp_path: Path) -> None:
    rows, intake = read(tmp_path, LINES)
    assert rows == [("a", "1"), ("g", "8")]
    assert [(r.line, r.offset, r.field, r.value) for r in intake.rejects] == [
        (3, LINES.index('{"name": "c"'), "size", "-4.0"),
        (5, LINES.index('{"name": "d"'), "size", None),
        (6, LINES.index("no"), None, None),
        (7, LINES.index('{"name": "e"'), "name", None),
    ]


def test_records_of_a_document_are_counted_from_zero(tmp_path: Path) -> None:
    document = (
        '[{"name": "a",\n "size": 1},\n 5, {"name": "b", "size": -1}, {"name": "c", "size": 1}]'
    )
    rows, intake = read(tmp_path, document)
    assert rows == [("a", "0"), ("c", "3")]
    assert [(r.line, r.offset) for r in intake.rejects] == [(1, None), (2, None)]


@pytest.mark.parametrize(("piece_bytes", "batch_bytes"), [(1, 1), (100, 1), (100, 300)])
def test_a_large_file_is_read_in_pieces_of_which_some_are_looked_at_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int, batch_bytes: int
) -> None:
    whole, rejected = read(tmp_path, LINES * 20)
    assert len(whole) == 40
    monkeypatch.setattr(record_files, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(column_reader, "BATCH_BYTES", batch_bytes)
    rows, intake = read(tmp_path, LINES * 20)
    assert rows == whole
    assert intake.rejects == rejected.rejects


def test_nothing_but_bad_records(tmp_path: Path) -> None:
    rows, intake = read(tmp_path, '{"name": 1}\n{"name": 2}\n')
    assert rows == []
    assert len(intake.rejects) == 2


def test_records_of_a_whole_file_are_looked_at_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_files, "PIECE_BYTES", 1)
    monkeypatch.setattr(column_reader, "BATCH_BYTES", 1)
    path = tmp_path / "log.jsonl"
    path.write_text(LINES * 3)
    source, intake = Source(str(path), path), Intake("log", "test")
    batches = {}
    for whole in (False, True):
        pieces, records = read_pieces(source, "records"), BulkRecords(Record, Record)
        batches[whole] = [*read_columns(source, intake, pieces, records, make, whole=whole)]
    (together,) = batches[True]
    assert len(batches[False]) > 1
    assert together.equals(pa.concat_batches(batches[False]))


def halves(records: Columns) -> Iterator[Rows]:
    records.refuse(pc.less(records["size"], 0), "size: below 0", "size", records["size"])
    for suffix, least in (("-1", 0), ("-2", 2)):
        facts = {"request_id": suffixed(records["name"], suffix), "status": "completed"}
        where = pc.greater_equal(records["size"], least).to_numpy(zero_copy_only=False)
        yield Rows(records.numbers, records.sieve, facts, where=where)


def test_a_record_may_make_several_rows(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(LINES)
    source, intake = Source(str(path), path), Intake("log", "test")
    pieces, records = read_pieces(source, "records"), BulkRecords(Record, Record)
    table = pa.Table.from_batches(read_kinds(source, intake, pieces, records, halves), STREAMS)
    assert table["request_id"].to_pylist() == ["a-1", "b-1", "g-1", "g-2"]
    assert [reject.line for reject in intake.rejects] == [3, 5, 6, 7]


def groups(folder: Path, text: str) -> tuple[list[tuple[list[str], list[int]]], list[int]]:
    """Names of the records of each group and its undecoded ones, and lines that were rejected.

    Refuses those whose size is below 0, each before the next group is asked for.
    """
    path = folder / "log.jsonl"
    path.write_text(text)
    source, intake = Source(str(path), path), Intake("log", "test")
    pieces, records = read_pieces(source, "records"), BulkRecords(Record, Record)
    found = []
    for group in read_groups(source, intake, pieces, records):
        group.refuse(pc.less(group["size"], 0), "size: below 0")
        found.append((group["name"].to_pylist(), list(group.undecoded)))
    return found, [reject.line for reject in intake.rejects]


def test_groups_hold_what_could_be_decoded_and_know_what_could_not(tmp_path: Path) -> None:
    assert groups(tmp_path, LINES) == ([(["a", "b", "c", "g"], [5, 6, 7])], [3, 5, 6, 7])


def test_each_group_knows_its_own_records_even_if_none_is_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_files, "PIECE_BYTES", 1)
    monkeypatch.setattr(column_reader, "BATCH_BYTES", 1)
    found, rejected = groups(tmp_path, LINES)
    assert [group for group in found if group != ([], [])] == [
        (["a"], []),
        (["b"], []),
        (["c"], []),
        ([], [5]),
        ([], [6]),
        ([], [7]),
        (["g"], []),
    ]
    assert rejected == [3, 5, 6, 7]
