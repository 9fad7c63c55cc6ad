"""Tables and maps for the tests of the adapter `table`."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.adapters.reading import Reading
from tokengap.adapters.formats.table.table import Table
from tokengap.adapters.interface import Intake
from tokengap.adapters.source import Source
from tokengap.schema import STREAMS

MS = 1_000_000
REQUESTS = 'rows = "request"\nvantage = "client"\nclock = { kind = "wall" }\n[columns]\n'
DURATIONS = 'rows = "request"\nvantage = "client"\n[columns]\n'
TOKENS = 'rows = "token"\nvantage = "gateway"\nclock = { kind = "monotonic" }\n[columns]\n'

Columns = Mapping[str, Sequence[Any]]


def read_file(path: Path, mapping: str | None) -> Reading:
    source = Source(str(path), path)
    intake = Intake(source.stem, "table", mapping)
    table = pa.Table.from_batches(list(Table().read([source], intake)), STREAMS)
    table.validate(full=True)
    intake.reject_table().validate(full=True)
    return Reading(table.to_pylist(), intake)


def read_text(folder: Path, mapping: str, text: str, name: str = "log.csv") -> Reading:
    path = folder / name
    path.write_text(text, "utf-8")
    return read_file(path, mapping)


def write(folder: Path, kind: str, columns: Columns) -> Path:
    """The same rows as a file of one kind."""
    path = folder / f"log.{kind}"
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if kind == "parquet":
        pq.write_table(pa.table(dict(columns)), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue(), "utf-8")
    return path


def rejects(reading: Reading) -> list[tuple[int, str | None, str | None]]:
    return [(r.line, r.field, r.value) for r in reading.intake.rejects]
