"""Rows of a query for people and for programs."""

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TextIO

import duckdb
from rich.console import Console
from rich.table import Table
from rich.text import Text

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
    """Start a query."""
    cursor = con.execute(statement)
    return Rows([column[0] for column in cursor.description or ()], _fetched(cursor))


def write_json(rows: Rows, out: TextIO) -> None:
    """An array of row objects, strict JSON, one row a line."""
    out.write("[")
    for number, row in enumerate(rows.values):
        out.write(",\n" if number else "\n")
        record = dict(zip(rows.names, row, strict=True))
        out.write(json.dumps(record, allow_nan=False, ensure_ascii=False))
    out.write("\n]\n")


def write_csv(rows: Rows, out: TextIO) -> None:
    """Comma-separated, one header line; nested values as JSON, NULL as nothing."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.names)
    for row in rows.values:
        writer.writerow([_cell(value) for value in row])


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
        table.add_row(*("" if value is None else Text(str(_cell(value))) for value in row))
    return table


def _fetched(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchmany(_FETCHED):
        yield from rows


def _cell(value: object) -> object:
    if isinstance(value, dict | list):
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    return value
