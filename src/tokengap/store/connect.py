"""A DuckDB connection with the canonical tables: parts as views, declarations as macros.

The query library is loaded between `connect` and `bind`, against empty tables, because binding
views over thousands of files once per view would cost seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from tokengap.schema import CLOCKS, REJECTS, STREAM_COLUMNS, STREAMS
from tokengap.store.clocks import ClockOffset, Seen, clock_offsets
from tokengap.store.places import open_to
from tokengap.store.promised import Promised, bind_promises
from tokengap.store.sql import exactly, literal

MEMORY_LIMIT: Final = "1GB"

_SEEN: Final = """
WITH clocks_of AS (
    SELECT clock, clock_kind, trace, coalesce(vantage, declared_vantage(), 'client') AS vantage
    FROM all_streams
    UNION
    SELECT clock, CASE WHEN ends_with(clock, ':wall') THEN 'wall' ELSE clock_kind END, trace, NULL
    FROM (SELECT trace, clock_kind, unnest(stages).clock AS clock FROM all_streams)
)
SELECT
    clock,
    arg_min(clock_kind, vantage IS NULL),
    list(DISTINCT trace),
    arg_min(vantage, list_position(['client', 'gateway', 'engine'], vantage)),
FROM clocks_of
WHERE clock IS NOT NULL
GROUP BY clock
"""


@dataclass(frozen=True)
class Window:
    """A half-open span on the streams' clock, and what makes a request belong to it."""

    start_ns: int
    end_ns: int
    rule: str = "by_start"


@dataclass(frozen=True)
class Declared:
    """What the user states about the logs; it is applied when reading and the log wins over it.

    last_prefill_token: k, the last token that the prefill side delivers.
    vantage: where stamps were taken if the log does not say, and the vantage to judge.
    origin: the stamp that times count from: planned, sent, received or arrival.
    window: only what belongs to it is judged. handoff: the boundary that a limit on the handoff gap
    is about. clocks: how far clocks run ahead. same_clock: all was stamped on one host.
    id_prefixes: (trace, or None for all; prefix) of the request ids that a client sent but did not
    save: prefix and index. workers: (trace, or None for all; name) of the worker that served what
    names none.
    """

    last_prefill_token: int | None = None
    vantage: str | None = None
    origin: str | None = None
    window: Window | None = None
    handoff: str = "stream"
    clocks: tuple[ClockOffset, ...] = ()
    same_clock: bool = False
    id_prefixes: tuple[tuple[str | None, str], ...] = ()
    workers: tuple[tuple[str | None, str], ...] = ()

    def macros(self) -> str:
        """SQL that makes the declarations known to the query library."""
        window = self.window
        start, end = (window.start_ns, window.end_ns) if window else (None, None)
        rule = window.rule if window else "by_start"
        return (
            f"CREATE OR REPLACE MACRO declared_last_prefill_token() AS "
            f"{literal(self.last_prefill_token)}::INTEGER;\n"
            f"CREATE OR REPLACE MACRO declared_vantage() AS {literal(self.vantage)}::VARCHAR;\n"
            f"CREATE OR REPLACE MACRO declared_origin() AS {literal(self.origin)}::VARCHAR;\n"
            f"CREATE OR REPLACE MACRO declared_window_start_ns() AS {literal(start)}::BIGINT;\n"
            f"CREATE OR REPLACE MACRO declared_window_end_ns() AS {literal(end)}::BIGINT;\n"
            f"CREATE OR REPLACE MACRO declared_window_rule() AS {literal(rule)}::VARCHAR;\n"
            f"CREATE OR REPLACE MACRO declared_handoff() AS {literal(self.handoff)}::VARCHAR;\n"
            f"CREATE OR REPLACE MACRO declared_id_prefix(run) AS {_by_trace(self.id_prefixes)};\n"
            f"CREATE OR REPLACE MACRO declared_worker(run) AS {_by_trace(self.workers)};\n"
        )


def _by_trace(stated: Sequence[tuple[str | None, str]]) -> str:
    """What is stated for the trace `run`, else for all; NULL where nothing is."""
    cases = [
        f"WHEN {'true' if trace is None else f'run = {literal(trace)}'} THEN {literal(value)}"
        for trace, value in sorted(stated, key=lambda pair: pair[0] is None)
    ]
    return f"(CASE {' '.join(cases)} END)::VARCHAR" if cases else "NULL::VARCHAR"


NOTHING_DECLARED: Final = Declared()


@dataclass(frozen=True)
class Tables:
    """What a connection is bound to.

    streams: Parquet parts. rejects, clocks: canonical Arrow tables.
    superseding: (lesser, finer) pairs of adapters that are both present.
    """

    streams: Sequence[str] = ()
    rejects: pa.Table = field(default_factory=REJECTS.empty_table)
    clocks: pa.Table = field(default_factory=CLOCKS.empty_table)
    superseding: Sequence[tuple[str, str]] = ()


def connect(declared: Declared, scratch: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A connection whose canonical tables are empty; what does not fit spills to `scratch`."""
    con = duckdb.connect()
    con.execute("SET preserve_insertion_order = false")
    # An unnested list counts as one row: so many were joined by trying every pair.
    con.execute("SET asof_loop_join_threshold = 0")
    con.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    if scratch is not None:
        con.execute(f"SET temp_directory = {literal(str(scratch))}")
    con.execute(declared.macros())
    bind(con, Tables())
    bind_promises(con, Promised())
    return con


def bind(
    con: duckdb.DuckDBPyConnection, tables: Tables, declared: Declared = NOTHING_DECLARED
) -> None:
    """Let the connection's canonical tables show these parts.

    Raises UsageError for a declared clock that the parts do not know.
    """
    _keep(con, "rejects", tables.rejects)
    _keep(con, "clocks", tables.clocks)
    open_to(con, tables.streams)
    if tables.streams:
        source = f"SELECT * FROM {streams_scan(tables.streams)}"
    else:
        _keep(con, "no_streams", STREAMS.empty_table())
        source = "SELECT * FROM no_streams"
    con.execute(f"CREATE OR REPLACE VIEW all_streams AS {source}")
    con.execute(f"CREATE OR REPLACE VIEW stored_streams AS {_without_superseded(tables)}")
    _keep(con, "clock_offsets", _clock_offsets(con, tables, declared))


def streams_scan(uris: Sequence[str]) -> str:
    """The table function that reads these parts, also those from before a column was added.

    Columns are found by their field ids, and NULL where a part has none of that id. Nothing but
    the first file is opened to bind it, however many there are.
    """
    return (
        f"read_parquet({exactly(uris)}, hive_partitioning = false, schema = MAP {{{_columns()}}})"
    )


@cache
def _columns() -> str:
    with duckdb.connect() as con:
        con.register("streams", STREAMS.empty_table())
        types = {name: kind for name, kind, *_ in con.execute("DESCRIBE streams").fetchall()}
    return ", ".join(
        f"{column.field_id}: {{name: {literal(column.name)}, type: {literal(types[column.name])},"
        " default_value: NULL}"
        for column in STREAM_COLUMNS
    )


def _clock_offsets(con: duckdb.DuckDBPyConnection, tables: Tables, declared: Declared) -> pa.Table:
    seen = _seen_clocks(con) if declared.clocks or declared.same_clock else []
    logged = tables.clocks.to_pylist()
    return clock_offsets(logged, seen, declared.clocks, same_clock=declared.same_clock)


def _seen_clocks(con: duckdb.DuckDBPyConnection) -> list[Seen]:
    found = con.execute(_SEEN).fetchall()
    return [Seen(id_, kind, frozenset(traces), vantage) for id_, kind, traces, vantage in found]


def _keep(con: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    con.register("incoming", table)
    con.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")
    con.unregister("incoming")


def _without_superseded(tables: Tables) -> str:
    """Rows of a lesser file go where a finer one holds the same request at the same vantage."""
    query = "SELECT s.* FROM all_streams AS s"
    for number, (lesser, finer) in enumerate(tables.superseding):
        query += (
            f" LEFT JOIN (SELECT DISTINCT request_id, attempt, choice, vantage, true AS found"
            f" FROM all_streams WHERE starts_with(source, {literal(finer + ':')})) AS f{number}"
            f" ON starts_with(s.source, {literal(lesser + ':')})"
            f" AND s.request_id = f{number}.request_id AND s.attempt = f{number}.attempt"
            f" AND s.choice = f{number}.choice"
            f" AND s.vantage IS NOT DISTINCT FROM f{number}.vantage"
        )
    if tables.superseding:
        query += " WHERE " + " AND ".join(
            f"f{number}.found IS NULL" for number in range(len(tables.superseding))
        )
    return query
