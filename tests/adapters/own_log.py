"""Writing and reading tokengap's own log in tests."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.adapters.reading import Reading, Row, read_lines
from tokengap.adapters.interface import Intake, Reject
from tokengap.adapters.source import Source
from tokengap.adapters.tokengap_jsonl import TokengapJsonl
from tokengap.schema import STREAMS

Line = dict[str, Any]


def event(t_ns: int, kind: str = "token", request_id: str = "a", **more: Any) -> Line:
    return {"request_id": request_id, "t_ns": t_ns, "kind": kind, **more}


def stream(times_ns: Sequence[int], request_id: str = "a", **more: Any) -> Line:
    return {"request_id": request_id, "times_ns": list(times_ns), **more}


def read_own(folder: Path, *lines: object) -> Reading:
    return read_lines(TokengapJsonl(), folder, lines)


def the_row(folder: Path, *lines: object) -> Row:
    """The only stream of a log none of whose lines is bad."""
    reading = read_own(folder, *lines)
    assert reading.intake.rejects == []
    (row,) = reading.rows
    return row


def the_reject(folder: Path, *lines: object) -> Reject:
    (reject,) = read_own(folder, *lines).intake.rejects
    return reject


def read_files(folder: Path, *files: Sequence[Line]) -> Reading:
    """Files named 0.jsonl, 1.jsonl, ... read in one call."""
    sources = []
    for number, lines in enumerate(files):
        path = folder / f"{number}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        sources.append(Source(path.name, path))
    intake = Intake("t", TokengapJsonl.name)
    table = pa.Table.from_batches(list(TokengapJsonl().read(sources, intake)), STREAMS)
    return Reading(table.to_pylist(), intake)
