"""The tables by which the query library judges services: whose requests, by which limits, and why.

Who belongs where is worked out outside, once for every combination of columns that the logs hold;
SQL then joins by value.
"""

from dataclasses import dataclass, field
from typing import Final

import duckdb
import pyarrow as pa

from tokengap.slo import STATISTICS

SERVICE_MEMBERS: Final = pa.schema({
    "deployment": pa.string(),
    "model": pa.string(),
    "tenant": pa.string(),
    "slo_class": pa.string(),
    "profile": pa.int32(),
})  # fmt: skip
"""The profile of each combination: a service, and the promises that hold for these requests."""
SERVICE_LIMITS: Final = pa.schema(
    {
        "profile": pa.int32(),
        "day": pa.int32(),
        "vantage": pa.string(),
        **{f"{statistic}_limit_ns": pa.int64() for statistic in STATISTICS},
        "excluded_spans": pa.list_(pa.struct({"start_ns": pa.int64(), "end_ns": pa.int64()})),
    }
)
"""Where a profile is judged, and its limits on a day since 1970 (NULL: without a wall clock); and
the half-open spans that touch that day, about which nothing is promised (NULL: none)."""

WORST_GAP_CAUSES: Final = pa.schema({
    "trace": pa.string(),
    "request_id": pa.string(),
    "attempt": pa.int32(),
    "choice": pa.int32(),
    "vantage": pa.string(),
    "gap_index": pa.int64(),
    "cause": pa.string(),
    "basis": pa.string(),
})  # fmt: skip
"""Rows of `gap_causes` on the gaps that are their stream's worst, as far as they are worked out."""


@dataclass(frozen=True)
class Promised:
    """The two tables, in these schemas."""

    service_members: pa.Table = field(default_factory=SERVICE_MEMBERS.empty_table)
    service_limits: pa.Table = field(default_factory=SERVICE_LIMITS.empty_table)


def bind_promises(con: duckdb.DuckDBPyConnection, promised: Promised) -> None:
    """Let the connection judge by these; why gaps were long is not known then."""
    _bind(con, "service_members", promised.service_members)
    _bind(con, "service_limits", promised.service_limits)
    bind_causes(con, WORST_GAP_CAUSES.empty_table())


def bind_causes(con: duckdb.DuckDBPyConnection, worst_gap_causes: pa.Table) -> None:
    """Let the connection know why worst gaps were long; schema `WORST_GAP_CAUSES`."""
    _bind(con, "worst_gap_causes", worst_gap_causes)


def _bind(con: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    con.register("incoming", table)
    con.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")
    con.unregister("incoming")
