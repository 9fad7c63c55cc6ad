"""A run beside the runs of a stored baseline: kept as sums, compared at equal mix.

The file holds what `promised_cells` says of each run, no request by itself. It grows by a run at a
time, and the differences between its runs tell how much of a change is noise.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import numpy as np
import pyarrow as pa

from tokengap.errors import UsageError
from tokengap.findings.audit import Row, rows
from tokengap.findings.cells import cells_from
from tokengap.library import ensure, read_catalogue
from tokengap.slo import Objective
from tokengap.slo.model import GOOD, MATCHED
from tokengap.store.promised import SERVICE_LIMITS, SERVICE_MEMBERS, Promised, bind_promises
from tokengap.utc import DAY_NS, HOUR_NS
from tokengap.weekly.against import Against
from tokengap.weekly.cells import Cells
from tokengap.weekly.comparable import why_not
from tokengap.weekly.compare import tests_of
from tokengap.weekly.model import NOT_COMPARABLE, Change
from tokengap.weekly.runs import against_runs

SCHEMA: Final = "tokengap.baseline-runs/1"
BLOCKS: Final = 48
"""Of a run's time, each of an hour at most."""
_KEPT: Final = """
CREATE OR REPLACE TEMP TABLE run_latency AS
SELECT * REPLACE (began_ns - min(began_ns) OVER (PARTITION BY trace, clock) AS began_ns)
FROM _kept_latency
WHERE _in_window(origin_ns, end_ns)
"""
"""Of the window alone; times are since the run's start, for runs are compared by none of theirs."""


class Run(msgspec.Struct, frozen=True):
    """One run of a baseline: its limits, what was measured of it, and its sums."""

    limits_ns: dict[str, int]
    vantage: str | None
    places: list[dict[str, Any]]
    """Rows of `promised_places`."""
    cells: dict[str, dict[str, list[float]]]
    """By statistic, the columns of `Cells`."""


class _File(msgspec.Struct, frozen=True):
    schema: str
    runs: list[Run]


def against(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective], path: Path) -> Against:
    """What changed since the runs of the file, for every limit and for whole requests.

    UsageError if the file cannot be read or is none of ours.
    """
    run, before = _run(con, objectives), _read(path)
    asked = {name: _asked(name, run, before) for name in (*run.limits_ns, GOOD)}
    comparisons = sum(tests_of(_cells(run, name)) for name, why in asked.items() if why is None)
    changes = {
        name: Change(NOT_COMPARABLE, why)
        if why is not None
        else against_runs(_cells(run, name), [_cells(each, name) for each in before], comparisons)
        for name, why in asked.items()
    }
    return Against(str(path), len(before), changes)


def add_run(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective], path: Path) -> int:
    """Add the run to the file, or begin one; how many it has then."""
    runs = [*(_read(path) if path.exists() else []), _run(con, objectives)]
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_bytes(msgspec.json.encode(_File(SCHEMA, runs)) + b"\n")
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
    return len(runs)


def _read(path: Path) -> list[Run]:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path}: no baseline that --save-baseline wrote ({error})") from error
    if found.schema != SCHEMA or not found.runs:
        raise UsageError(f"{path}: expected {SCHEMA} with a run; make one with --save-baseline")
    return found.runs


def _asked(name: str, run: Run, before: Sequence[Run]) -> str | None:
    """Why the runs cannot be compared by this statistic; None if they can."""
    for each in before:
        if each.vantage != run.vantage:
            return f"seen at the {each.vantage} before, and at the {run.vantage} now"
        if name != GOOD and name not in each.limits_ns:
            return "no limit on it before"
        changed = [
            limit
            for limit in ([name] if name != GOOD else sorted({*run.limits_ns, *each.limits_ns}))
            if each.limits_ns.get(limit) != run.limits_ns.get(limit)
        ]
        if changed:
            return f"another limit on {changed[0]} before"
        if (says := why_not(name, each.places, run.places)) is not None:
            return says
    return None


def _run(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective]) -> Run:
    """The run that the connection is bound to; the library of an audit must be loaded."""
    ensure(con, read_catalogue(), "promised_cells", "promised_places")
    vantage = rows(con, "SELECT any_value(vantage) AS vantage FROM _last_attempts")[0]["vantage"]
    with _alone(con):
        _bind(con, objectives, vantage)
        cells = con.sql(f"FROM promised_cells({_block_ns(con)}) ORDER BY ALL").to_arrow_table()
        places = rows(con, "FROM promised_places ORDER BY ALL")
    names = [*(objective.statistic for objective in objectives), GOOD]
    return Run(
        limits_ns={objective.statistic: objective.limit_ns for objective in objectives},
        vantage=vantage,
        places=places,
        cells={
            name: _columns(cells_from(cells.filter(np.asarray(cells["statistic"]) == name)))
            for name in names
        },
    )


@contextmanager
def _alone(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Meanwhile what is judged by promises is the run alone; afterwards all is as it was."""
    con.execute(_KEPT)
    con.execute("ALTER VIEW _kept_latency RENAME TO whole_latency")
    con.execute("CREATE VIEW _kept_latency AS FROM run_latency")
    try:
        yield
    finally:
        con.execute("DROP VIEW _kept_latency")
        con.execute("ALTER VIEW whole_latency RENAME TO _kept_latency")


def _bind(
    con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective], vantage: str | None
) -> None:
    """Let all requests be of one service that promises these limits on any day."""
    members = [
        row | {"profile": 0}
        for row in rows(con, f"SELECT DISTINCT {', '.join(MATCHED)} FROM _kept_latency")
    ]
    days = rows(con, f"SELECT DISTINCT (began_ns // {DAY_NS})::INTEGER AS day FROM run_latency")
    limits = {f"{o.statistic}_limit_ns": o.limit_ns for o in objectives}
    held: list[Row] = [
        {"profile": 0, "day": day, "vantage": vantage} | limits
        for day in {None, *(row["day"] for row in days)}
    ]
    bind_promises(
        con,
        Promised(
            pa.Table.from_pylist(members, SERVICE_MEMBERS),
            pa.Table.from_pylist(held, SERVICE_LIMITS),
        ),
    )


def _block_ns(con: duckdb.DuckDBPyConnection) -> int:
    span_ns = rows(con, "SELECT max(began_ns) AS span FROM run_latency")[0]["span"] or 0
    return max(min(span_ns // BLOCKS, HOUR_NS), 1)


def _columns(cells: Cells) -> dict[str, list[float]]:
    return {
        field.name: (getattr(cells, field.name) + 0).tolist()  # flags as 0 and 1
        for field in fields(Cells)
        if field.name != "now"
    }


def _cells(run: Run, statistic: str) -> Cells:
    columns: Mapping[str, list[float]] = run.cells[statistic]
    kinds = {"block": np.int64, "prompt": np.int64, "output": np.int64, "finished": np.bool_}
    arrays: dict[str, Any] = {
        name: np.array(values, dtype=kinds.get(name, np.float64))
        for name, values in columns.items()
    }
    return Cells(now=np.zeros(len(arrays["block"]), dtype=bool), **arrays)
