"""What is promised: limits of one run, and the objectives of services over weeks.

Nothing here reads a log or a store; whether a stream meets a limit is worked out in SQL.
"""

from tokengap.slo.limits import (
    STATISTICS,
    Objective,
    combine,
    parse_limit,
    read_slo,
    sql_parameter,
    stated_limits,
)

__all__ = [
    "STATISTICS",
    "Objective",
    "combine",
    "parse_limit",
    "read_slo",
    "sql_parameter",
    "stated_limits",
]
