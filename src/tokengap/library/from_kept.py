"""Requests judged from the latency rows that a store keeps, without a look at their streams."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from tokengap.library.catalogue import Catalogue
from tokengap.library.inputs import bound
from tokengap.library.latency_rows import RELATION, DayRows
from tokengap.library.loader import refresh
from tokengap.store.connect import Declared, Tables
from tokengap.store.places import open_to
from tokengap.store.sql import exactly

_SHOWN: Final = ("_last_by_vantage", RELATION)
"""Relations that the rows hold all columns of."""


@contextmanager
def from_kept(
    rows: Iterable[DayRows],
    catalogue: Catalogue,
    facts: Declared,
    scratch: Path,
    *,
    only: str | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection on which requests are judged from these rows alone.

    What reads no more of a stream than `_last_attempts` and `_kept_latency` have says the same as
    of the streams; whatever else the library holds is empty. only: load just this relation and what
    it needs.
    """
    with bound(Tables(), catalogue.storing(_held(catalogue)), facts, scratch, only=only) as con:
        for name in _held(catalogue.only(only) if only else catalogue):
            con.execute(f"ALTER TABLE {name} RENAME TO no{name}")
        show_kept(con, rows)
        refresh(con, catalogue, only)
        yield con


def show_kept(con: duckdb.DuckDBPyConnection, rows: Iterable[DayRows]) -> None:
    """Let the connection of `from_kept` judge these rows, instead of those before."""
    files = [row.uri for row in rows if row.uri is not None]
    tables = {row[0] for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    for name in _SHOWN:
        if f"no{name}" in tables:
            _show(con, name, files)


def _held(catalogue: Catalogue) -> list[str]:
    """Of what the rows hold all columns of, what the library has: empty tables that say so."""
    return [name for name in _SHOWN if name in catalogue.queries]


def _show(con: duckdb.DuckDBPyConnection, name: str, files: Sequence[str]) -> None:
    """Let the relation be what the files hold of it; a column that one lacks is NULL there."""
    open_to(con, files)
    columns = ", ".join(row[0] for row in con.execute(f"DESCRIBE no{name}").fetchall())
    scan = f"FROM read_parquet({exactly(files)}, hive_partitioning = false, union_by_name = true)"
    more = f" UNION ALL BY NAME {scan}" if files else ""
    con.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT {columns} FROM (FROM no{name}{more})")
