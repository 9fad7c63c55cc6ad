from pathlib import Path

import msgspec

from tokengap.adapters.interface import Intake
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.one_per_record import streams
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.record_files import read_records
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Source


class Record(msgspec.Struct):
    name: str
    size: int = 0


def make(record: Record, place: Place) -> Stream | None:
    if record.size < 0:
        raise LineError("size: below 0", "size", record.size)
    if record.size == 0:
        return None
    return Stream(request_id=record.name, source=place.text, status="completed")


def read(folder: Path, text: str) -> tuple[list[Stream], Intake]:
    path = folder / "log.jsonl"
    path.write_text(text)
    source, intake = Source(str(path), path), Intake("log", "test")
    found = read_records(source, "records")
    return list(streams(source, intake, found, Records(Record), make)), intake


def test_each_record_makes_a_row_or_none_or_is_put_aside(tmp_path: Path) -> None:
    rows, intake = read(
        tmp_path,
        '{"name": "a", "size": 1}\n{"name": "b"}\n{"name": "c", "size": -4}\n'
        '{"name": "d", "size": "x"}\nno\n{"name": "e", "name": "f"}\n{"name": "g", "size": 2}\n',
    )
    source_id = rows[0].source.rpartition(":")[0]
    assert [(row.request_id, row.source) for row in rows] == [
        ("a", f"{source_id}:1"),
        ("g", f"{source_id}:7"),
    ]
    assert [(r.line, r.field, r.value) for r in intake.rejects] == [
        (3, "size", "-4"),
        (4, "size", None),
        (5, None, None),
        (6, "name", None),
    ]


def test_records_of_a_document_are_counted_from_zero(tmp_path: Path) -> None:
    rows, intake = read(tmp_path, '[{"name": "a", "size": 1}, 5, {"name": "b", "size": 1}]')
    assert [row.source.rpartition(":")[2] for row in rows] == ["0", "2"]
    assert [r.line for r in intake.rejects] == [1]
