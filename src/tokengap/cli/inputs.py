"""From paths on the command line to a DuckDB connection with the library over their streams."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import duckdb
import pyarrow as pa

from tokengap.errors import UsageError
from tokengap.library import Catalogue, load
from tokengap.slo import Objective, combine, parse_limit, read_slo
from tokengap.store.connect import Declared, Tables, Window, bind, connect
from tokengap.store.keys import superseding
from tokengap.store.load import Loads
from tokengap.store.load import load as load_paths
from tokengap.store.tables import open_store
from tokengap.units import parse_duration_ns


@dataclass(frozen=True)
class Opened:
    """What a command works on."""

    con: duckdb.DuckDBPyConnection
    loads: Loads


@contextmanager
def opened(
    paths: Sequence[str],
    catalogue: Catalogue,
    *,
    format_name: str | None = None,
    trace: str | None = None,
    mapping: Path | None = None,
    only: str | None = None,
    **declared: Any,
) -> Iterator[Opened]:
    """Read the paths; what is spilled on the way is gone afterwards, whatever happens.

    only: load just this relation of the library and what it needs.
    """
    facts = declaration(**declared)
    with tempfile.TemporaryDirectory(prefix="tokengap-") as folder:
        scratch = Path(folder)
        loads = load_paths(
            paths, scratch, format_name=format_name, trace=trace, mapping=read_mapping(mapping)
        )
        for unknown in loads.found.unrecognised:
            click.echo(f"left out: {unknown}", err=True)
        for name, earlier in loads.found.duplicates:
            click.echo(f"left out: {name}: the same bytes as {earlier}", err=True)
        con = connect(facts, scratch)
        load(con, catalogue, only)
        bind(con, _tables(loads))
        try:
            yield Opened(con, loads)
        finally:
            con.close()


def read_mapping(path: Path | None) -> str | None:
    """Text of the `--map` file; UsageError if it cannot be read."""
    try:
        return path.read_text("utf-8") if path else None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--map {path}: cannot be read ({error})") from error


def declaration(
    last_prefill_token: int | None = None,
    vantage: str | None = None,
    origin: str | None = None,
    window: str | None = None,
    window_rule: str = "by_start",
) -> Declared:
    """The declaring options as one value."""
    span = None if window is None else _window(window, window_rule)
    return Declared(last_prefill_token, vantage, origin, span)


def objectives(limits: Sequence[str], slo: Path | None) -> list[Objective]:
    """The judging options as limits, each with its source."""
    return combine(read_slo(slo) if slo else [], [parse_limit(text) for text in limits])


def _window(text: str, rule: str) -> Window:
    start, dots, end = text.partition("..")
    if not dots:
        raise UsageError(f"--window {text}: expected START..END, such as 10s..20s")
    window = Window(parse_duration_ns(start), parse_duration_ns(end), rule)
    if window.start_ns >= window.end_ns:
        raise UsageError(f"--window {text}: the end must come after the start")
    return window


def _tables(loads: Loads) -> Tables:
    stores = [open_store(path) for path in loads.found.stores]
    return Tables(
        streams=[part.uri for part in loads.parts],
        rejects=pa.concat_tables([r.rejects for r in loads.loaded] + [s.rejects() for s in stores]),
        clocks=pa.concat_tables([r.clocks for r in loads.loaded] + [s.clocks() for s in stores]),
        superseding=superseding(loads.parts),
    )
