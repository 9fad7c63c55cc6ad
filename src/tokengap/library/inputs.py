"""From paths and what is declared of them to a connection with the library over their streams."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tokengap.adapters.formats.table.table import Table
from tokengap.choices import CHOICES
from tokengap.errors import UsageError
from tokengap.library.catalogue import Catalogue
from tokengap.library.loader import load, refresh
from tokengap.library.strict import require_quality
from tokengap.slo import Objective, combine, parse_limit, read_slo
from tokengap.slo.judged import Judged
from tokengap.store.clocks import ClockOffset
from tokengap.store.connect import Declared, Tables, Window, bind, connect
from tokengap.store.discover import Found
from tokengap.store.ingest import IngestSummary, ingest
from tokengap.store.keys import superseding
from tokengap.store.load import Loads
from tokengap.store.load import load as load_paths
from tokengap.store.places import asking
from tokengap.store.records import Loaded, uris
from tokengap.store.tables import Store, open_store
from tokengap.units import parse_duration_ns

Say = Callable[[str], None]
"""Where remarks go that are no errors: what was left out."""


@dataclass(frozen=True)
class Opened:
    """What an audit or a query works on."""

    con: duckdb.DuckDBPyConnection
    loads: Loads


@contextmanager
def opened(
    paths: Sequence[str],
    catalogue: Catalogue,
    say: Say,
    *,
    format_name: str | None = None,
    trace: str | None = None,
    mapping: Path | None = None,
    only: str | None = None,
    strict: bool = False,
    **declared: Any,
) -> Iterator[Opened]:
    """Read the paths; what is spilled on the way is gone afterwards, whatever happens.

    only: load just this relation of the library and what it needs.
    """
    facts = declaration(**declared)
    with tempfile.TemporaryDirectory(prefix="tokengap-") as folder:
        scratch = Path(folder)
        loads = load_paths(
            paths,
            scratch,
            format_name=format_name,
            trace=trace,
            mapping=read_mapping(mapping, format_name),
        )
        _say_left_out(loads.found, say)
        tables = tables_of(loads.loaded, [open_store(path) for path in loads.found.stores])
        if strict:
            require_quality(tables, facts, scratch)
        with bound(tables, catalogue, facts, scratch, only=only) as con:
            yield Opened(con, loads)


@contextmanager
def bound(
    tables: Tables, catalogue: Catalogue, facts: Declared, scratch: Path, *, only: str | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the library, or `only` one relation of it, over these tables."""
    with connect(facts, scratch) as con, asking():
        load(con, catalogue, only)
        bind(con, tables, facts)
        refresh(con, catalogue, only)
        yield con


def keep_in_store(
    paths: Sequence[str],
    store: str,
    say: Say,
    *,
    format_name: str | None = None,
    trace: str | None = None,
    mapping: Path | None = None,
    strict: bool = False,
) -> IngestSummary:
    """Load logs into a store; under `strict` nothing is kept where anything limits the trust."""
    with tempfile.TemporaryDirectory(prefix="tokengap-") as folder:

        def accept(loads: Sequence[Loaded]) -> None:
            require_quality(tables_of(loads), Declared(), Path(folder))

        summary = ingest(
            paths,
            store,
            Path(folder),
            format_name=format_name,
            trace=trace,
            mapping=read_mapping(mapping, format_name),
            accept=accept if strict else None,
        )
    _say_left_out(summary.found, say)
    return summary


def _say_left_out(found: Found, say: Say) -> None:
    for unknown in found.unrecognised:
        say(f"left out: {unknown}")
    for name, earlier in found.duplicates:
        say(f"left out: {name}: the same bytes as {earlier}")


def read_mapping(path: Path | None, format_name: str | None) -> str | None:
    """Text of the `--map` file; UsageError if it cannot be read, or if nothing would read it."""
    if path is None:
        return None
    if format_name != Table.name:
        raise UsageError(f"--map {path}: only a table has a map; say --format {Table.name} too")
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--map {path}: cannot be read ({error})") from error


def declaration(
    last_prefill_token: int | None = None,
    vantage: str | None = None,
    origin: str | None = None,
    window: str | None = None,
    window_rule: str = "by_start",
    handoff: str = "stream",
    clocks: Sequence[str] = (),
    same_clock: bool = False,
    id_prefixes: Sequence[str] = (),
    workers: Sequence[str] = (),
) -> Declared:
    """The declaring options as one value; UsageError if one can be nothing that it is."""
    few = {"vantage": vantage, "origin": origin, "window_rule": window_rule, "handoff": handoff}
    for option, value in few.items():
        if value is not None and value not in CHOICES[option]:
            name, known = option.replace("_", "-"), ", ".join(CHOICES[option])
            raise UsageError(f"--{name} {value}: expected one of {known}")
    if last_prefill_token is not None and last_prefill_token < 0:
        raise UsageError(f"--last-prefill-token {last_prefill_token}: expected 0 or more")
    return Declared(
        last_prefill_token=last_prefill_token,
        vantage=vantage,
        origin=origin,
        window=None if window is None else _window(window, window_rule),
        handoff=handoff,
        clocks=tuple(_clock(text) for text in clocks),
        same_clock=same_clock,
        id_prefixes=tuple(_by_trace(text) for text in id_prefixes),
        workers=tuple(_by_trace(text) for text in workers),
    )


def objectives(
    limits: Sequence[str], slo: Path | None, judged: Judged | None = None
) -> list[Objective]:
    """The judging options as limits, each with its source.

    judged: the service that is chosen from the file `slo`, whose `[limits]` are read without one.
    """
    from_file: Sequence[Objective] = read_slo(slo) if slo and not judged else []
    return combine(judged.objectives if judged else from_file, [parse_limit(t) for t in limits])


def _window(text: str, rule: str) -> Window:
    start, dots, end = text.partition("..")
    if not dots:
        raise UsageError(f"--window {text}: expected START..END, such as 10s..20s")
    window = Window(parse_duration_ns(start), parse_duration_ns(end), rule)
    if window.start_ns >= window.end_ns:
        raise UsageError(f"--window {text}: the end must come after the start")
    return window


def _clock(text: str) -> ClockOffset:
    id_, equals, offset = text.rpartition("=")
    ahead, plus_minus, spread = offset.replace("+-", "±").partition("±")
    if not equals or not id_:
        raise UsageError(f"--clock {text}: expected ID=OFFSET±SPREAD, such as server=+12.5ms±0.2ms")
    return ClockOffset(
        id_,
        parse_duration_ns(ahead, signed=True),
        parse_duration_ns(spread) if plus_minus else 0,
    )


def _by_trace(text: str) -> tuple[str | None, str]:
    trace, equals, stated = text.rpartition("=")
    return (trace if equals else None), stated


def tables_of(loaded: Sequence[Loaded], stores: Sequence[Store] = ()) -> Tables:
    """What logs that were read, and stores, hold together."""
    parts = [part for store in stores for part in store.live_parts()]
    parts += [part for load in loaded for part in load.parts]
    return Tables(
        streams=uris(parts),
        rejects=pa.concat_tables([r.rejects for r in loaded] + [s.rejects() for s in stores]),
        clocks=pa.concat_tables([r.clocks for r in loaded] + [s.clocks() for s in stores]),
        superseding=superseding(parts),
    )
