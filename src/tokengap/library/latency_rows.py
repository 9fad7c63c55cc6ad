"""The latency of every judged request, worked out day by day and kept beside the streams.

What judging needs is far less than the gaps it comes from: a year of it is read at once, and it
stays when the gaps of old days are pruned. The rows depend on what is declared: those of several
declarations stand beside each other, each in a file of its own for every day.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Final
from uuid import uuid4

import duckdb
import pyarrow.parquet as pq

from tokengap.errors import StoreError
from tokengap.library.catalogue import Catalogue
from tokengap.library.inputs import bound
from tokengap.library.loader import refresh
from tokengap.slo.model import Service
from tokengap.store.connect import NOTHING_DECLARED, Declared, Tables, bind
from tokengap.store.delta import Change, NewFile
from tokengap.store.keys import superseding
from tokengap.store.latency import around, by_day, digest, is_pruned, kept_days, loads_digest
from tokengap.store.places import open_to
from tokengap.store.records import UNDATED, uris
from tokengap.store.sql import literal, parquet_scan
from tokengap.store.tables import Store
from tokengap.utc import DAY_NS, day_start_ns

RELATION: Final = "_kept_latency"

Span = tuple[str, str]
"""First and last day, inclusive, as YYYY-MM-DD. Streams on no wall clock have no day: in no span
are they."""
Make = Callable[["DayRows"], Path]
"""Works out the rows of a day, into a file of the name they are kept by."""


@dataclass(frozen=True)
class DayRows:
    """What there is of one day under one way of declaring."""

    day: str
    facts: Declared
    uri: str | None
    """None: there are none up to date; they can be worked out, unless all of the day was pruned."""
    rows: int = 0
    made: bool = False
    """Worked out now, not found."""
    pruned: bool = False
    """Streams of the day were removed for their age: their rows stay as they are."""
    as_declared: bool = True
    """False: the only rows of a pruned day are these, made under other declarations. Their columns
    vantage, origin and handoff_boundary say which."""
    is_lacking: bool = False
    """There are none up to date, and they can be worked out."""
    onto: str | None = None
    """Rows of what was pruned, which those of what came later go to, if they are worked out."""


def facts_of(service: Service, base: Declared = NOTHING_DECLARED) -> Declared:
    """What is declared where the requests of a service are judged."""
    return replace(base, vantage=service.vantage, origin=service.origin, handoff=service.handoff)


def kept_files(
    store: Store, catalogue: Catalogue, facts: Declared, span: Span | None = None
) -> list[DayRows]:
    """The rows of every day of the store, or of the span; or that there are none up to date."""
    return _Kept(store, catalogue).days([facts], span)


def worked_out(
    store: Store, catalogue: Catalogue, facts: Declared, scratch: Path, span: Span | None = None
) -> list[DayRows]:
    """As `kept_files`; what is lacking is worked out into `scratch`, and the store left alone."""
    kept = _Kept(store, catalogue)
    found = kept.days([facts], span)
    with _making(kept, found, scratch) as make:
        paths = {row: make(row) for row in found if row.is_lacking}
    return [
        _made(row, str(paths[row]), pq.read_metadata(paths[row]).num_rows) if row in paths else row
        for row in found
    ]


def keep_latency(
    store: Store, catalogue: Catalogue, asked: Iterable[Declared], scratch: Path
) -> list[DayRows]:
    """Work out the rows of every day that lacks some, under each of these declarations.

    Each day is one commit, with which rows of other loads and under other declarations go. Days
    that are pruned keep the rows they have. StoreError for an older version of the store.
    """
    store.latency.require_writable()
    kept = _Kept(store, catalogue)
    found = kept.days(list(asked))
    with _making(kept, found, scratch) as make:
        days = (list(rows) for _, rows in groupby(found, lambda row: row.day))
        done = [_keep(store, rows, make) if _lack(rows) else rows for rows in days]
    _forget(store, kept.gone)
    return [row for rows in done for row in rows]


class _Kept:
    """A store's days, and the files of rows that it keeps of them."""

    def __init__(self, store: Store, catalogue: Catalogue) -> None:
        self.store = store
        self.catalogue = catalogue
        self.parts = by_day(store.live_parts())
        self.files = kept_days(store)
        self._queries = digest([query.sql for query in catalogue.closure(RELATION)])

    @property
    def gone(self) -> set[str]:
        """Days of which there are rows, and no stream any more, nor the memory of one."""
        return set(self.files) - set(self.parts)

    def days(self, asked: Sequence[Declared], span: Span | None = None) -> list[DayRows]:
        """What there is of each day under each declaration. What is judged of it is no matter."""
        facts = dict.fromkeys(replace(each, window=None) for each in asked)
        days = [day for day in self.parts if span is None or span[0] <= day <= span[1]]
        return [self._rows(day, each) for day in days for each in facts]

    def name(self, day: str, facts: Declared) -> str:
        """What the name of the file of these rows begins with."""
        return loads_digest(around(self.parts, day)) + _digest(facts) + self._queries

    def _rows(self, day: str, facts: Declared) -> DayRows:
        files, parts = self.files.get(day, []), self.parts[day]
        current = next((file for file in files if file.is_of(self.name(day, facts))), None)
        if current:
            return DayRows(day, facts, current.uri, current.rows, pruned=is_pruned(parts))
        if not is_pruned(parts):
            return DayRows(day, facts, None, is_lacking=True)
        left = any(part.streams for part in parts)
        if not files:
            return DayRows(day, facts, None, pruned=True, is_lacking=left)
        nearest = min(files, key=lambda file: not file.declares(_digest(facts)))
        same = nearest.declares(_digest(facts))
        if same and left and not nearest.is_of(loads_digest(around(self.parts, day))):
            return DayRows(day, facts, None, pruned=True, is_lacking=True, onto=nearest.uri)
        return DayRows(day, facts, nearest.uri, nearest.rows, pruned=True, as_declared=same)


def _digest(facts: Declared) -> str:
    return digest(repr(facts))


@contextmanager
def _making(kept: _Kept, wanted: Sequence[DayRows], scratch: Path) -> Iterator[Make]:
    """Lets rows be worked out; nothing is loaded for it if none of these are lacking."""
    lacking = [row for row in wanted if row.is_lacking]
    if not lacking:
        yield _nothing_lacks
        return
    clocks = kept.store.clocks()
    with bound(Tables(), kept.catalogue, lacking[0].facts, scratch, only=RELATION) as con:

        def make(row: DayRows) -> Path:
            parts = around(kept.parts, row.day)
            tables = Tables(streams=uris(parts), clocks=clocks, superseding=superseding(parts))
            con.execute(row.facts.macros())
            bind(con, tables, row.facts)
            refresh(con, kept.catalogue, RELATION)
            name = f"{kept.name(row.day, row.facts)}-{uuid4().hex[:12]}.parquet"
            return _write(con, row, scratch / name)

        yield make


def _nothing_lacks(row: DayRows) -> Path:
    raise AssertionError(row.day)


def _write(con: duckdb.DuckDBPyConnection, row: DayRows, path: Path) -> Path:
    query = f"WITH fresh AS (SELECT * FROM {RELATION} WHERE {_on(row.day)}) FROM fresh"
    if row.onto:
        open_to(con, [row.onto])
        query += (
            f" UNION ALL BY NAME FROM {parquet_scan([row.onto])}"
            " ANTI JOIN fresh USING (trace, request_id, vantage)"
        )
    query += " ORDER BY began_ns, request_id"
    try:
        con.execute(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")
    except duckdb.IOException as error:
        raise StoreError(
            f"{path.parent}: cannot be written ({error}); make room, or set TMPDIR to a folder "
            "that has some"
        ) from error
    return path


def _made(row: DayRows, uri: str, rows: int) -> DayRows:
    return replace(row, uri=uri, rows=rows, made=True, is_lacking=False)


def _lack(rows: Iterable[DayRows]) -> bool:
    return any(row.is_lacking for row in rows)


def _keep(store: Store, rows: Sequence[DayRows], make: Make) -> list[DayRows]:
    """Put what is lacking of a day in place of all that is there and was not asked for.

    What was pruned of a day cannot be made again: then only what the new rows hold is replaced.
    """
    folder = f"{store.latency.uri}/day={rows[0].day}/"
    there = {row.uri for row in rows}
    replaced = {row.onto for row in rows}
    pruned = rows[0].pruned
    new = {row: _put(store, row, make(row)) for row in rows if row.is_lacking}

    def plan(live: list[str]) -> Change:
        if any(file.uri in live for file in new.values()):
            return Change()  # a commit got through, and its answer did not
        of_day = (uri for uri in live if uri.startswith(folder))
        old = (uri for uri in of_day if (uri in replaced if pruned else uri not in there))
        return Change(tuple(new.values()), tuple(old))

    try:
        store.latency.commit(plan)
    finally:
        store.latency.drop_unused(new.values())
    return [_made(row, new[row].uri, new[row].rows) if row in new else row for row in rows]


def _put(store: Store, row: DayRows, path: Path) -> NewFile:
    store.latency.ensure(pq.read_schema(path))
    file = store.latency.put(path, pq.read_metadata(path).num_rows, row.day)
    path.unlink()
    return file


def _forget(store: Store, days: set[str]) -> None:
    """Remove the rows of days of which nothing is left."""
    if days:
        folders = tuple(f"{store.latency.uri}/day={day}/" for day in days)
        store.latency.commit(
            lambda live: Change(remove=tuple(uri for uri in live if uri.startswith(folders)))
        )


def _on(day: str) -> str:
    """SQL: the stream lies on that day of the store."""
    dated = "clock_kind = 'wall' AND began_ns IS NOT NULL"
    if day == UNDATED:
        return f"({dated}) IS NOT true"
    start_ns = day_start_ns(date.fromisoformat(day))
    return f"{dated} AND began_ns >= {start_ns} AND began_ns < {start_ns + DAY_NS}"
