"""What an adapter is: it recognises one log format and turns files of it into `streams` rows.

To add one: write `adapters/<format>.py` with a class that has the members of `Adapter`, put it in
`ADAPTERS` (`adapters/__init__.py`), add a small real file under `sample_traces/<format>/` and a
test under `tests/adapters/`. Nothing else needs to change.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import msgspec
import pyarrow as pa

from tokengap.adapters.source import Line, Source
from tokengap.schema import CLOCKS, REJECTS

VALUE_LIMIT = 80
_KEYS_SHOWN = 8


@dataclass(frozen=True)
class Head:
    """The first bytes of a file, as far as recognising it needs."""

    data: bytes

    @cached_property
    def first_line(self) -> dict[str, object]:
        """The first line, if it is a whole JSON object; else empty."""
        line = self.data.lstrip().split(b"\n", 1)[0]
        try:
            record = msgspec.json.decode(line)
        except msgspec.DecodeError:
            return {}
        return record if isinstance(record, dict) else {}

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the first object, also where the object is longer than the head."""
        if self.first_line:
            return frozenset(self.first_line)
        return frozenset(_outer_keys(self.data))

    @property
    def kind(self) -> str:
        """What the bytes look like, for a message."""
        if not self.data:
            return "an empty file"
        if b"\0" in self.data:
            return "binary data"
        if self.keys:
            shown = ", ".join(sorted(self.keys)[:_KEYS_SHOWN])
            return f"JSON with the keys {shown}" + (", ..." if len(self.keys) > _KEYS_SHOWN else "")
        if self.data.lstrip()[:1] in (b"{", b"["):
            return "JSON without keys at its top"
        return "text that is not JSON"


_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*(:?)|[{}\[\]]', re.DOTALL)


def _outer_keys(data: bytes) -> Iterator[str]:
    depth = 0
    for match in _TOKEN.finditer(data):
        mark = match[0]
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return
        elif depth == 1 and match[2]:
            yield match[1].decode("utf-8", "replace")


@dataclass(frozen=True)
class Sniff:
    """Does a file look like this adapter's format? `missing` says what spoke against it."""

    missing: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        """True if nothing is missing."""
        return not self.missing


def wants(head: Head, *groups: str) -> Sniff:
    """A sniff by keys: each group is one key, or alternatives joined by `|`."""
    return Sniff(tuple(g for g in groups if not head.keys.intersection(g.split("|"))))


@dataclass(frozen=True)
class Reject:
    """A record that was left out, and why. Values that may hold user text stay NULL."""

    source: str
    source_name: str
    line: int
    reason: str
    offset: int | None = None
    length: int | None = None
    sha256: str | None = None
    field: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class Clock:
    """How one clock relates to another; see `schema.CLOCK_COLUMNS`."""

    id: str
    reference: str
    offset_ns: int
    uncertainty_ns: int | None
    how: str
    source: str


@dataclass
class Intake:
    """What an adapter is told, and where it puts what is not a stream.

    `trace` is the run's name; `source_ids[i]` stands for file i in `source` columns.
    """

    trace: str
    adapter: str
    rejects: list[Reject] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)

    def source_id(self, source: Source) -> str:
        """Short id of a file, as written in `streams.source`."""
        return f"{self.adapter}:{source.sha256[:16]}"

    def reject(
        self,
        source: Source,
        record: Line | int,
        reason: str,
        field: str | None = None,
        value: object = None,
    ) -> None:
        """Quarantine one line, or the record with index `record` of a JSON document."""
        shown = None if value is None else str(value)[:VALUE_LIMIT]
        if isinstance(record, int):
            place = Reject(
                self.source_id(source), source.name, record, reason, field=field, value=shown
            )
        else:
            place = Reject(
                self.source_id(source),
                source.name,
                record.number,
                reason,
                record.offset,
                len(record.data),
                hashlib.sha256(record.data).hexdigest(),
                field,
                shown,
            )
        self.rejects.append(place)

    def reject_table(self) -> pa.Table:
        """The quarantined records as the canonical table."""
        return _table(self.rejects, REJECTS)

    def clock_table(self) -> pa.Table:
        """The clocks' relations as the canonical table."""
        return _table(self.clocks, CLOCKS)


def _table(rows: Sequence[Reject] | Sequence[Clock], schema: pa.Schema) -> pa.Table:
    columns = [pa.array([getattr(row, f.name) for row in rows], f.type) for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


class Adapter(Protocol):
    """One log format."""

    name: str
    """What `--format` calls it."""
    version: int
    """Raised whenever the same bytes would give other rows."""
    reads: str
    """One line: which file of which tool."""
    supersedes: tuple[str, ...]
    """Adapters whose file of the same requests tells less."""
    joins_files: bool
    """True if one request's records may be spread over several files of a call."""

    def sniff(self, head: Head) -> Sniff:
        """Say whether the file looks like this format, and what speaks against it."""
        ...

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """Yield batches of schema `STREAMS`; put bad records and clocks into `intake`.

        `sources` holds one file unless `joins_files`. Memory must not grow with the file for
        line-based formats.
        """
        ...
