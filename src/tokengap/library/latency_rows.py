"""The latency of every judged request, worked out day by day and kept beside the streams.

What judging needs is far less than the gaps it comes from: a year of it is read at once, and it
stays when the gaps of old days are pruned. The rows depend on what is declared, so they are made
with the declarations they shall be read with.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tokengap.library.catalogue import Catalogue
from tokengap.library.inputs import bound
from tokengap.library.loader import refresh
from tokengap.store.connect import Declared, Tables, bind
from tokengap.store.days import DAY_NS
from tokengap.store.delta import Change, NewFile
from tokengap.store.keys import superseding
from tokengap.store.latency import (
    around,
    by_day,
    digest,
    is_current,
    is_pruned,
    kept_days,
    loads_digest,
)
from tokengap.store.records import UNDATED, Part, uris
from tokengap.store.sql import literal, parquet_scan
from tokengap.store.tables import Store

RELATION: Final = "_kept_latency"


@dataclass(frozen=True)
class DayRows:
    """What there is of one day; `made` if it was worked out now, not found."""

    day: str
    rows: int
    made: bool


def keep_latency(
    store: Store, catalogue: Catalogue, facts: Declared, scratch: Path
) -> list[DayRows]:
    """Work out the rows of every day that has none, or those of other loads or declarations.

    Days that are pruned keep the rows they have. Each day is one commit.
    """
    days, kept = by_day(store.live_parts()), kept_days(store)
    how = digest([repr(facts), [query.sql for query in catalogue.closure(RELATION)]])
    wanted = {
        day: loads_digest(around(days, day)) + how
        for day, parts in days.items()
        if not is_pruned(parts)
    }
    stale = [day for day, name in wanted.items() if not is_current(kept.get(day, ()), name)]
    if stale:
        clocks = store.clocks()
        with bound(Tables(), catalogue, facts, scratch, only=RELATION) as con:
            for day in stale:
                _show(con, around(days, day), clocks, catalogue, facts)
                _keep(con, store, day, scratch / f"{wanted[day]}-{uuid4().hex[:12]}.parquet")
    files = store.latency.files()
    counts = {day: sum(files[uri].rows for uri in found) for day, found in kept_days(store).items()}
    return [DayRows(day, count, day in stale) for day, count in sorted(counts.items())]


def _show(
    con: duckdb.DuckDBPyConnection,
    parts: Sequence[Part],
    clocks: pa.Table,
    catalogue: Catalogue,
    facts: Declared,
) -> None:
    tables = Tables(streams=uris(parts), clocks=clocks, superseding=superseding(parts))
    bind(con, tables, facts)
    refresh(con, catalogue, RELATION)


def _keep(con: duckdb.DuckDBPyConnection, store: Store, day: str, path: Path) -> None:
    """Put the day's rows in place of those that are there."""
    query = f"SELECT * FROM {RELATION} WHERE {_on(day)} ORDER BY began_ns, request_id"
    con.execute(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")
    rows = pq.read_metadata(path).num_rows
    store.latency.ensure(pq.read_schema(path))
    file = store.latency.put(path, rows, day)
    path.unlink()

    def plan(live: list[str]) -> Change:
        folder = f"{store.latency.uri}/day={day}/"
        old = (uri for uri in live if uri.startswith(folder))
        return Change((NewFile(file.uri, rows, day),), tuple(old))

    try:
        store.latency.commit(plan)
    finally:
        store.latency.drop_unused([file])


def _on(day: str) -> str:
    """SQL: the stream lies on that day of the store."""
    dated = "clock_kind = 'wall' AND began_ns IS NOT NULL"
    if day == UNDATED:
        return f"({dated}) IS NOT true"
    start_ns = (date.fromisoformat(day) - date(1970, 1, 1)).days * DAY_NS
    return f"{dated} AND began_ns >= {start_ns} AND began_ns < {start_ns + DAY_NS}"


@contextmanager
def from_kept(
    store: Store,
    days: Iterable[str],
    catalogue: Catalogue,
    facts: Declared,
    scratch: Path,
    *,
    only: str | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection on which requests are judged from the rows kept of these days alone.

    What reads no more of a stream than `_last_attempts` has says the same as of the streams;
    whatever else the library holds is empty. only: load just this relation and what it needs.
    """
    kept = kept_days(store)
    files = [uri for day in days for uri in kept.get(day, ())]
    with bound(Tables(), catalogue, facts, scratch, only=only) as con:
        if files:
            con.execute(f"CREATE OR REPLACE VIEW _last_by_vantage AS FROM {parquet_scan(files)}")
        yield con
