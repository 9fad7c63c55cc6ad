"""What a store holds, day by day."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tokengap.store.delta import LiveFile
from tokengap.store.late import is_late
from tokengap.store.records import UNDATED, Part, uris
from tokengap.store.tables import Store


@dataclass(frozen=True)
class Held:
    """What some parts are together. Times are on wall clocks; None where no stream has one."""

    loads: int
    files: int
    size_bytes: int
    streams: int
    tokens: int
    first_origin_ns: int | None
    last_origin_ns: int | None
    pruned_loads: int
    """Loads of which rows were removed for their age."""
    late_streams: int
    """Of the streams, those that were loaded long after their day."""


@dataclass(frozen=True)
class Contents:
    """The latest version of a store; `days` by UTC day, `undated` last."""

    version: int | None
    """Of the table `streams`; None before the first commit."""
    total: Held
    days: Mapping[str, Held]
    rejects: int


def contents(store: Store) -> Contents:
    """Describe the store without reading a row; StoreError if a part is damaged."""
    table = store.streams.table()
    files = store.streams.files(table) if table else {}
    parts = store.parts(files)
    days: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        days[part.day or UNDATED].append(part)
    counts = store.reject_counts()
    return Contents(
        version=table.version() if table else None,
        total=_held(parts, files),
        days={day: _held(days[day], files) for day in sorted(days)},
        rejects=sum(counts.get(load_id, 0) for load_id in {part.load_id for part in parts}),
    )


def _held(parts: Iterable[Part], files: Mapping[str, LiveFile]) -> Held:
    parts = list(parts)
    there = [part for part in parts if not part.pruned]
    firsts = [part.first_origin_ns for part in there if part.first_origin_ns is not None]
    lasts = [part.last_origin_ns for part in there if part.last_origin_ns is not None]
    return Held(
        loads=len({part.load_id for part in there}),
        files=len(uris(parts)),
        size_bytes=sum(files[uri].size_bytes for uri in uris(parts)),
        streams=sum(part.streams for part in parts),
        tokens=sum(part.tokens for part in parts),
        first_origin_ns=min(firsts, default=None),
        last_origin_ns=max(lasts, default=None),
        pruned_loads=len({part.load_id for part in parts if part.pruned}),
        late_streams=sum(part.streams for part in parts if is_late(part)),
    )
