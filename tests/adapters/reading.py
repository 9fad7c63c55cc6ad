"""Reading a file, or a few lines of one, through one adapter."""

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tokengap.adapters.interface import Adapter, Intake
from tokengap.adapters.source import Source
from tokengap.schema import STREAMS

SAMPLES = Path(__file__).parents[2] / "sample_traces"

Row = dict[str, Any]


@dataclass(frozen=True)
class Reading:
    rows: list[Row]
    intake: Intake

    def by_id(self) -> dict[str, Row]:
        return {row["request_id"]: row for row in self.rows}

    def by_status(self) -> dict[str, int]:
        found = [row["status"] for row in self.rows]
        return {status: found.count(status) for status in sorted(set(found))}


def read(adapter: Adapter, path: Path) -> Reading:
    source = Source(str(path), path)
    intake = Intake(source.stem, adapter.name)
    batches = list(adapter.read([source], intake))
    table = pa.Table.from_batches(batches, STREAMS)
    table.validate(full=True)
    intake.reject_table().validate(full=True)
    intake.clock_table().validate(full=True)
    return Reading(table.to_pylist(), intake)


def read_lines(adapter: Adapter, folder: Path, lines: Iterable[object]) -> Reading:
    """Lines may be given as bytes, as text, or as what their JSON says."""
    path = folder / "log.jsonl"
    path.write_bytes(b"".join(_encoded(line) + b"\n" for line in lines))
    return read(adapter, path)


def _encoded(line: object) -> bytes:
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line)).encode()


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def records(path: Path) -> list[Any]:
    """The JSON lines of a file, as the standard library reads them."""
    return [json.loads(line) for line in unpacked(path).splitlines()]


def times(row: Row) -> list[int]:
    """The delivery times, back from first token and gaps."""
    if row["first_token_ns"] is None:
        return []
    found = [row["first_token_ns"]]
    for gap in row["gaps_ns"]:
        found.append(found[-1] + gap)
    return found


def marks(row: Row) -> list[str]:
    return [mark["kind"] for mark in row["marks"]]
