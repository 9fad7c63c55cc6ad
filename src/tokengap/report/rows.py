"""Rows of a query for people and for programs."""

import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TextIO

import duckdb
import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokengap.errors import QueryError
from tokengap.store.places import asking

ROWS_SHOWN: Final = 100
COLUMNS_SHOWN: Final = 16
_FETCHED: Final = 10_000
_PLAIN_WIDTH: Final = 200


@dataclass(frozen=True)
class Rows:
    """The running result of a query: column names, and rows fetched as they are read."""

    names: list[str]
    values: Iterator[tuple[Any, ...]]


def run(con: duckdb.DuckDBPyConnection, statement: str) -> Rows:
    """Start a query; QueryError, also while rows are read, says why DuckDB cannot answer it."""
    with _as_query_error(statement):
        cursor = con.execute(statement)
    names = [column[0] for column in cursor.description or ()]
    return Rows(names, _fetched(cursor, statement))


def frame(con: duckdb.DuckDBPyConnection, statement: str) -> pl.DataFrame:
    """All rows of a query as a Polars frame; QueryError says why DuckDB cannot answer it.

    Sums, which DuckDB gives as HUGEINT and Polars would show as decimals, are integers where they
    fit.
    """
    with _as_query_error(statement):
        found: pl.DataFrame = con.sql(statement).pl()
    wide = [name for name, dtype in found.schema.items() if dtype == pl.Decimal(38, 0)]
    return found.with_columns(_integers(found[name]) for name in wide)


def _integers(column: pl.Series) -> pl.Series:
    narrow = column.cast(pl.Int64, strict=False)
    return narrow if narrow.null_count() == column.null_count() else column


def write_json(rows: Rows, out: TextIO) -> None:
    """An array of row objects, strict JSON, one row a line; QueryError for what JSON lacks."""
    out.write("[")
    for number, row in enumerate(rows.values):
        out.write(",\n" if number else "\n")
        out.write(_json(dict(zip(rows.names, row, strict=True))))
    out.write("\n]\n")


def write_csv(rows: Rows, out: TextIO) -> None:
    """Comma-separated, one header line; nested values as JSON, NULL as nothing."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.names)
    for row in rows.values:
        writer.writerow([cell(value) for value in row])


def write_table(rows: Rows, out: TextIO) -> None:
    """The first rows: as a table, or field by field where there are too many columns for one."""
    shown = list(islice(rows.values, ROWS_SHOWN))
    width = None if out.isatty() else _PLAIN_WIDTH
    console = Console(file=out, highlight=False, markup=False, width=width)
    if len(rows.names) > COLUMNS_SHOWN:
        for number, row in enumerate(shown):
            console.print(f"row {number + 1}")
            console.print(_table(["", ""], zip(rows.names, row, strict=True), headed=False))
    else:
        console.print(_table(rows.names, shown))
    if len(shown) == ROWS_SHOWN and next(rows.values, None) is not None:
        console.print(f"the first {ROWS_SHOWN} rows; --json or --csv print all")


def _table(names: list[str], rows: Iterable[tuple[Any, ...]], *, headed: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, show_header=headed)
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*("" if value is None else Text(str(cell(value))) for value in row))
    return table


def _fetched(cursor: duckdb.DuckDBPyConnection, statement: str) -> Iterator[tuple[Any, ...]]:
    while True:
        with _as_query_error(statement):
            rows = cursor.fetchmany(_FETCHED)
        if not rows:
            return
        yield from rows


@contextmanager
def _as_query_error(statement: str) -> Iterator[None]:
    try:
        with asking():
            yield
    except duckdb.Error as error:
        raise QueryError(f"{statement}: {error}") from error


def cell(value: object) -> object:
    """A value for one cell of a table: what is nested as JSON."""
    return _json(value) if isinstance(value, dict | list) else value


def _json(value: object) -> str:
    """Strict JSON; dates and the like, of a user's own query, as text."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False, default=str)
    except ValueError as error:
        raise QueryError(f"{value} holds NaN or an infinity, which JSON lacks") from error
