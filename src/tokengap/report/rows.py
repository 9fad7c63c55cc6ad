"""Rows of a query for people and for programs."""

import json
from typing import Any, TextIO

import duckdb
from rich.console import Console
from rich.table import Table

ROWS_SHOWN = 100


def write_json(result: duckdb.DuckDBPyRelation, out: TextIO) -> None:
    """An array of row objects, strict JSON, one row a line."""
    names = result.columns
    out.write("[")
    for number, row in enumerate(_fetched(result)):
        out.write(",\n" if number else "\n")
        record = dict(zip(names, row, strict=True))
        out.write(json.dumps(record, allow_nan=False, ensure_ascii=False))
    out.write("\n]\n")


def write_csv(result: duckdb.DuckDBPyRelation, out: TextIO) -> None:
    """Comma-separated, one header line; nested values as JSON, NULL as nothing."""
    import csv

    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(result.columns)
    for row in _fetched(result):
        writer.writerow([_cell(value) for value in row])


def write_table(result: duckdb.DuckDBPyRelation, out: TextIO) -> None:
    """The first rows as a table."""
    table = Table(box=None, pad_edge=False)
    for name in result.columns:
        table.add_column(name, overflow="fold")
    for number, row in enumerate(_fetched(result)):
        if number == ROWS_SHOWN:
            table.caption = f"the first {ROWS_SHOWN} rows; --json or --csv print all"
            break
        table.add_row(*("" if value is None else str(_cell(value)) for value in row))
    console = Console(file=out, highlight=False, width=None if out.isatty() else 200)
    console.print(table)


def _fetched(result: duckdb.DuckDBPyRelation) -> Any:
    while rows := result.fetchmany(10_000):
        yield from rows


def _cell(value: object) -> object:
    if isinstance(value, dict | list):
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    return value
