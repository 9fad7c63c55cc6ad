"""An audit of what a user gave: refused where nothing could be judged."""

from collections.abc import Sequence

import duckdb

from tokengap.errors import InputError, UsageError
from tokengap.findings.audit import Audit, Row, audit
from tokengap.slo import Objective


def judge(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective]) -> Audit:
    """The audit of everything the connection is bound to.

    InputError for files without any answer's times, UsageError for a vantage that nobody had.
    """
    require_answers(con)
    found = audit(con, objectives)
    require_judged(found.vantages)
    return found


def require_answers(con: duckdb.DuckDBPyConnection) -> None:
    """InputError for workload files: nothing could be judged, which is not the same as a miss."""
    told = con.execute("SELECT bool_and(granularity = 'workload') FROM streams").fetchone()
    if told == (True,):
        raise InputError(
            "these files hold arrivals and lengths only, no answer's times: there is nothing to "
            "judge. `tokengap query streams PATH` shows them"
        )


def require_judged(vantages: Sequence[Row]) -> None:
    """UsageError where streams were read, and none at the declared vantage."""
    if vantages and not any(row["judged"] for row in vantages):
        seen = ", ".join(row["vantage"] for row in vantages)
        raise UsageError(f"--vantage: no stream was seen there; the logs were stamped at: {seen}")
