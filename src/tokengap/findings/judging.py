"""An audit of what a user gave: refused where nothing could be judged."""

from collections.abc import Sequence

import duckdb

from tokengap.errors import InputError, UsageError
from tokengap.findings.audit import Audit, audit
from tokengap.slo import Objective


def judge(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective]) -> Audit:
    """The audit of everything the connection is bound to.

    InputError for files without any answer's times, UsageError for a vantage that nobody had.
    """
    _require_answers(con)
    found = audit(con, objectives)
    _require_judged(found)
    return found


def _require_answers(con: duckdb.DuckDBPyConnection) -> None:
    """Workload files have nothing that could be judged, which is not the same as a miss."""
    told = con.execute("SELECT bool_and(granularity = 'workload') FROM streams").fetchone()
    if told == (True,):
        raise InputError(
            "these files hold arrivals and lengths only, no answer's times: there is nothing to "
            "judge. `tokengap query streams PATH` shows them"
        )


def _require_judged(found: Audit) -> None:
    if found.vantages and not found.judged:
        seen = ", ".join(row["vantage"] for row in found.vantages)
        raise UsageError(f"--vantage: no stream was seen there; the logs were stamped at: {seen}")
