"""What of a log is replayed, and what it showed itself."""

from collections.abc import Sequence
from typing import Final

import duckdb
import numpy as np

from tokengap.errors import UsageError
from tokengap.findings.audit import rows
from tokengap.replay import Workload, of_streams
from tokengap.replay.sweep.validate import MEASURES, Logged
from tokengap.slo import Objective, sql_parameter
from tokengap.store.sql import literal

_REPLAYED: Final = """
CREATE OR REPLACE TEMP VIEW _replayed AS
FROM streams
SEMI JOIN _judged USING (trace, request_id, attempt, choice, vantage)
UNION ALL
FROM streams
WHERE granularity = 'workload'
"""
_VALUES: Final = """
SELECT ttft_ns::DOUBLE AS ttft, tpot_ns::DOUBLE AS tpot, worst_gap_ns::DOUBLE AS worst_gap
FROM _judged
WHERE status = 'completed'
"""
_NAMED: Final = 4  # clocks, in a message


def arrivals(con: duckdb.DuckDBPyConnection) -> Workload:
    """Arrivals and lengths of the judged requests, or of a workload's, which has no answers.

    UsageError for logs on clocks of their own.
    """
    con.execute(_REPLAYED)
    clocks = rows(con, "SELECT clock, min(trace) AS trace FROM _replayed GROUP BY clock")
    if len(clocks) > 1:
        named = ", ".join(row["trace"] for row in clocks[:_NAMED])
        raise UsageError(
            f"logs on {len(clocks)} clocks ({named}): a replay is of one load; give one log, or "
            "say --same-clock if they share one"
        )
    return of_streams(
        con.sql("SELECT * EXCLUDE (origin, origin_ns) FROM _replayed").to_arrow_table()
    )


def logged(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective]) -> Logged:
    """Exact values of completed requests, and the share of offered ones that are good."""
    arrays = con.sql(_VALUES).fetchnumpy()
    values = {
        measure: np.ma.filled(np.ma.masked_invalid(arrays[measure]), np.nan) for measure in MEASURES
    }
    known = {measure: each[~np.isnan(each)] for measure, each in values.items()}
    return Logged(known, _attainment(con, objectives))


def _attainment(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective]) -> float | None:
    asked = literal(sql_parameter(objectives))
    found = rows(con, f"FROM slo_attainment({asked})")
    share: float | None = next(row["attainment"] for row in found if row["scope"] == "all")
    return share
