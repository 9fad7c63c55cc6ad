"""What of a log is replayed, and what it showed itself."""

from collections.abc import Sequence
from typing import Final

import duckdb
import numpy as np

from tokengap.errors import UsageError
from tokengap.findings.audit import rows
from tokengap.replay import Workload, of_streams
from tokengap.replay.sweep.validate import MEASURES, PERCENTILES, Logged
from tokengap.slo import Objective, sql_parameter
from tokengap.store.sql import literal

_REPLAYED: Final = """
CREATE OR REPLACE TEMP VIEW _replayed AS
WITH first_attempts AS (
    SELECT
        * EXCLUDE (origin, origin_ns),
        coalesce(vantage, declared_vantage(), 'client') AS seen_at,
        prompt_tokens > 0 AND coalesce(output_tokens, requested_output_tokens) > 0
            AND origin_ns IS NOT NULL AS is_usable,
    FROM streams
    WHERE attempt = 0 AND choice = 0 AND _in_window(origin_ns, origin_ns)
),

best AS (
    SELECT seen_at,
    FROM first_attempts
    GROUP BY seen_at
    ORDER BY
        count_if(is_usable) DESC,
        list_position(['client', 'gateway', 'engine'], seen_at)
    LIMIT 1
)

SELECT first_attempts.*,
FROM first_attempts
SEMI JOIN best USING (seen_at)
"""
_NAMED_BY_TRACE: Final = """
SELECT * REPLACE (trace || '/' || request_id AS request_id)
FROM _replayed
"""
_VALUES: Final = """
SELECT ttft_ns::DOUBLE AS ttft, tpot_ns::DOUBLE AS tpot, worst_gap_ns::DOUBLE AS worst_gap
FROM _judged
WHERE status = 'completed'
"""
_NAMED: Final = 4  # clocks, in a message


def arrivals(con: duckdb.DuckDBPyConnection, *, same_clock: bool = False) -> Workload:
    """Arrivals and lengths of the window's requests, as the vantage saw them that knows most.

    Retries and further choices of a request are what it was answered with, not what was asked.
    same_clock: several logs were stamped on one host, so that they are one load. UsageError for
    several others. InputError if there is nothing to replay.
    """
    found = rows(con, "SELECT DISTINCT trace FROM streams ORDER BY ALL")
    if len(traces := [row["trace"] for row in found]) > 1 and not same_clock:
        raise UsageError(
            f"{len(traces)} logs ({', '.join(traces[:_NAMED])}): a replay is of one load; give one "
            "log, or say --same-clock if all of it was stamped on one host"
        )
    con.execute(_REPLAYED)
    named = _NAMED_BY_TRACE if len(traces) > 1 else "FROM _replayed"
    return of_streams(con.sql(named).to_arrow_table())


def logged(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective]) -> Logged:
    """Exact values of completed requests, and the share of offered ones that are good."""
    arrays = con.sql(_VALUES).fetchnumpy()
    values = {
        measure: np.ma.filled(np.ma.masked_invalid(arrays[measure]), np.nan) for measure in MEASURES
    }
    known = {measure: each[~np.isnan(each)] for measure, each in values.items()}
    (gaps,) = rows(con, "FROM gap_percentiles")
    percentiles = {p: gaps[f"p{p}_ns"] for p in PERCENTILES if gaps[f"p{p}_ns"] is not None}
    return Logged(known, percentiles, _attainment(con, objectives))


def _attainment(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective]) -> float | None:
    asked = literal(sql_parameter(objectives))
    found = rows(con, f"FROM slo_attainment({asked})")
    share: float | None = next(row["attainment"] for row in found if row["scope"] == "all")
    return share
