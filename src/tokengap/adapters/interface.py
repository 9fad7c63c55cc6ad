"""What an adapter is: it recognises one log format and turns files of it into `streams` rows.

To add one: write `adapters/formats/<format>.py` with a class that has the members of `Adapter`, put
it in `ADAPTERS` (`adapters/__init__.py`), add a small real file under `sample_traces/<format>/` and
a test under `tests/adapters/formats/`. Nothing else needs to change.
"""

import csv
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol

import msgspec
import pyarrow as pa

from tokengap.adapters.source import Line, Source, short_digest
from tokengap.schema import CLOCKS, REJECTS

VALUE_LIMIT = 80
_NAMES_SHOWN: Final = 8
_LINE_SHOWN: Final = 60
_JSON: Final = re.compile(rb"\s*(\{|\[\s*[\[{\]\"\dtfn-])")


@dataclass(frozen=True)
class About:
    """What a format is, and what can be answered from a file of it.

    reads: which file of which tool. vantage: where its times were stamped. granularity: what one
    delivery is (`streams.granularity`). clock: kind and unit of its stamps. ttft, worst_gap: yes,
    bounds, or no. handoff: the boundaries it has a share in, or no. checked: the version upstream
    that the reader was run against, or `FROM_DOCUMENTATION` where no real file was at hand.
    """

    reads: str
    vantage: str
    granularity: str
    clock: str
    ttft: str
    worst_gap: str
    handoff: str
    checked: str


FROM_DOCUMENTATION: Final = "from documentation"


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
        """Keys of the first object, alone or in an array, also where it is longer than the head."""
        if self.first_line:
            return frozenset(self.first_line)
        return frozenset(_outer_keys(self.data))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names in the first line of a table with commas; empty if it is none."""
        line = self.data.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace")
        if self.is_json or b"\0" in self.data or "," not in line:
            return ()
        return tuple(name.strip() for name in next(csv.reader([line])))

    @property
    def names(self) -> frozenset[str]:
        """Keys or columns."""
        return self.keys.union(self.columns)

    @property
    def is_json(self) -> bool:
        """True if it begins like a JSON object or array."""
        return _JSON.match(self.data) is not None

    @property
    def is_parquet(self) -> bool:
        """True if it begins like a Parquet file."""
        return self.data.startswith(b"PAR1")

    @property
    def kind(self) -> str:
        """What the bytes look like, for a message."""
        if not self.data:
            return "an empty file"
        if b"\0" in self.data:
            return "Parquet" if self.is_parquet else "binary data"
        if self.is_json:
            keys = _some(sorted(self.keys))
            return f"JSON with the keys {keys}" if keys else "JSON without keys at its top"
        if self.columns:
            return f"a table with the columns {_some(self.columns)}"
        line = self.data.lstrip().split(b"\n", 1)[0][:_LINE_SHOWN].decode("utf-8", "replace")
        return f"text that is not JSON, beginning {line.strip()!r}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")


# A text that the head cuts off is one token to its end: no quote in it begins another.
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*+)(?:"\s*(:?)|\\?\Z)|[{}\[\]]', re.DOTALL)


def _outer_keys(data: bytes) -> Iterator[str]:
    depth, outer = 0, 2 if data.lstrip().startswith(b"[") else 1
    for match in _TOKEN.finditer(data):
        mark = match[0]
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            if depth < outer:
                return
        elif depth == outer and match[2]:
            yield match[1].decode("utf-8", "replace")


@dataclass(frozen=True)
class Sniff:
    """Does a file look like this adapter's format? `missing` of the `wanted` spoke against it."""

    wanted: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        """True if nothing is missing."""
        return not self.missing


def wants(head: Head, *groups: str) -> Sniff:
    """A sniff by keys or columns: each group is one name, or alternatives joined by `|`."""
    return Sniff(groups, tuple(g for g in groups if not head.names.intersection(g.split("|"))))


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

    trace: the run's name. mapping: text of the user's `--map` file, for formats that need one.
    """

    trace: str
    adapter: str
    mapping: str | None = None
    rejects: list[Reject] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)

    def source_id(self, source: Source) -> str:
        """Short id of a file, as written in `streams.source`."""
        return f"{self.adapter}:{short_digest(source.sha256)}"

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
    about: About
    """What it reads and what that can answer."""
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
