"""A log format of one line per stream, small enough to be written in a test."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tokengap.adapters.interface import About, Clock, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.source import Source
from tokengap.schema import STREAMS
from tokengap.store.records import FileId, Provenance

NOON_NS = 1_764_417_600_000_000_000
"""2025-11-29T12:00:00Z: 20,421 days and 12 hours after 1970, in ns."""

PROVENANCE = Provenance("fake", 1, (FileId("run.log", 10, "ab" * 32, "cd" * 32),), {"trace": "t"})


ABOUT = About("lines of a made-up log", "client", "token", "monotonic ns", "yes", "yes", "no", "-")


@dataclass
class FakeAdapter:
    """Lines `{NAME: request id, "times": [ns, ...], "clock": kind, ...}`; others are rejected."""

    name: str = "fake"
    version: int = 1
    supersedes: tuple[str, ...] = ()
    joins_files: bool = False
    about: About = ABOUT

    def sniff(self, head: Head) -> Sniff:
        return wants(head, self.name, "times")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        for source in sources:
            identity = intake.source_id(source)
            intake.clocks.append(Clock("host", "wall", 5, None, "told", identity))
            yield from record_batches(self._streams(source, intake), intake.trace)

    def _streams(self, source: Source, intake: Intake) -> Iterator[Stream]:
        for line in source.lines():
            try:
                record = json.loads(line.data)
                yield Stream(
                    record[self.name],
                    f"{intake.source_id(source)}:{line.number}",
                    "completed",
                    clock_kind=record.get("clock", "wall"),
                    vantage=record.get("vantage", "client"),
                    times_ns=record["times"],
                    sent_ns=record["times"][0] - 100,
                )
            except (ValueError, KeyError, TypeError) as error:
                intake.reject(source, line, f"no line of this log: {type(error).__name__}")


FAKE = (FakeAdapter(),)


def line(request: str, *times_ns: int, key: str = "fake", **more: str) -> str:
    return json.dumps({key: request, "times": times_ns or (NOON_NS, NOON_NS + 7), **more})


def log(path: Path, *lines: str) -> str:
    """Write a log; its name, as a user would give it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")
    return str(path)


def batch(*gaps_ns: Sequence[int] | None, **columns: Sequence[object]) -> pa.RecordBatch:
    """Rows with these gaps, and with the columns that a test is about."""
    rows = len(gaps_ns)
    values: dict[str, Sequence[object]] = {"gaps_ns": gaps_ns, **columns}
    nothing = [None] * rows
    arrays = [pa.array(values.get(field.name, nothing), field.type) for field in STREAMS]
    return pa.RecordBatch.from_arrays(arrays, schema=STREAMS)
