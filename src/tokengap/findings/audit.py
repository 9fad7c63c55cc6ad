"""An audit: every number that a verdict rests on, taken from the query library."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from tokengap.library import keep
from tokengap.slo import Objective, sql_parameter
from tokengap.store.sql import literal
from tokengap.weekly.against import Against

RATIOS_SHOWN: Final = 10

Row = dict[str, Any]


@dataclass(frozen=True)
class Audit:
    """Rows of library relations, named after them; see `queries/` for every column.

    attainment, counts and binding are single rows, binding None where no objective is;
    `ratios` is only filled where no limit is given.
    """

    traces: list[str]
    objectives: tuple[Objective, ...]
    vantages: list[Row]
    window: Row
    counts: Row
    percentiles: list[Row]
    gaps: Row
    attainment: Row
    per_objective: list[Row]
    binding: Row | None
    stalls: list[Row]
    causes: list[Row]
    quadrants: list[Row]
    ratios: list[Row]
    inexact: list[Row]
    handoff: list[Row]
    boundaries: list[Row]
    stages: list[Row]
    views: list[Row]
    quality: list[Row]
    judged_handoff: str
    """Boundary that a limit on the handoff gap is about."""
    against: Against | None = None
    """What changed since earlier runs, where these are given."""

    @property
    def judged(self) -> list[Row]:
        """The vantages that verdicts are about: one, unless nothing was read."""
        return [row for row in self.vantages if row["judged"]]

    @property
    def hidden(self) -> list[Row]:
        """Requests that meet their average TPOT and miss their worst gap."""
        return [row for row in self.stalls if row["stall"] == "hidden"]

    @property
    def possible(self) -> list[Row]:
        """Requests that may be: one of the two verdicts is unknown, the other fits."""
        return [row for row in self.stalls if row["stall"] == "possible"]

    @property
    def untold(self) -> int:
        """Completed requests of which the logs decide neither of the two verdicts."""
        return sum(
            row["requests"] for row in self.quadrants if row["average"] == row["worst"] == "unknown"
        )

    @property
    def judges_stalls(self) -> bool:
        """True if both limits that a hidden stall is defined by are given."""
        return {"tpot", "worst_gap"} <= {objective.statistic for objective in self.objectives}

    @property
    def goodput_per_s(self) -> float | None:
        """Good requests per second of the window; None without a window."""
        start, end = self.window["start_ns"], self.window["end_ns"]
        if start is None or end is None or end <= start or not self.objectives:
            return None
        return float(self.attainment["good"] * 1_000_000_000 / (end - start))


def audit(con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective]) -> Audit:
    """Judge everything the connection is bound to; the query library must be loaded."""
    asked = literal(sql_parameter(objectives))
    keep(con, "gap_causes", asked)
    return Audit(
        traces=[row["trace"] for row in rows(con, "SELECT DISTINCT trace FROM streams ORDER BY 1")],
        objectives=tuple(objectives),
        vantages=rows(con, "FROM judged_vantages"),
        window=rows(con, "FROM judged_window")[0],
        counts=_counts(con, asked),
        percentiles=rows(con, "FROM latency_percentiles"),
        gaps=rows(con, "FROM gap_percentiles")[0],
        attainment=rows(con, f"FROM slo_attainment({asked}) WHERE scope = 'all'")[0],
        per_objective=rows(con, f"FROM objective_attainment({asked})") if objectives else [],
        binding=next(iter(rows(con, f"FROM binding_objective({asked})")), None),
        stalls=rows(con, f"FROM hidden_stalls({asked})") if objectives else [],
        causes=rows(con, f"FROM cause_summary({asked})") if objectives else [],
        quadrants=rows(con, f"FROM stall_quadrants({asked})") if objectives else [],
        ratios=[] if objectives else rows(con, f"FROM worst_gap_ratios LIMIT {RATIOS_SHOWN}"),
        inexact=rows(con, "FROM inexact_values"),
        handoff=rows(con, "FROM handoff_summary"),
        boundaries=rows(con, "FROM handoff_by_boundary"),
        stages=rows(con, "FROM handoff_stage_summary"),
        views=rows(
            con,
            "FROM vantage_summary WHERE vantage IN (SELECT vantage FROM judged_vantages"
            " WHERE judged)",
        ),
        judged_handoff=rows(con, "SELECT declared_handoff() AS boundary")[0]["boundary"],
        quality=rows(con, "FROM quality"),
    )


def _counts(con: duckdb.DuckDBPyConnection, asked: str) -> Row:
    counts = rows(con, f"FROM request_counts({asked})")[0]
    return counts | {"rejects": rows(con, "SELECT count(*) AS n FROM rejects")[0]["n"]}


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    """The query's result as one dict per row."""
    cursor = con.execute(query)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
