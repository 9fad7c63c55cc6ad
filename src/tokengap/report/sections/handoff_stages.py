"""What the handoff is made of, with what no stage accounts for."""

from typing import Final

from tokengap.findings import Audit
from tokengap.findings.audit import Row
from tokengap.report.section import Section, Subject, Table
from tokengap.units import format_count, format_duration, format_share

STAGE_COLUMNS: Final = ("boundary", "stage", "n", "p50", "max", "share of the handoff")
STAGES_SUM: Final = (
    "The stages that lie on the handoff's own clock, and `unaccounted`, what none of them covers, "
    "sum exactly to it. A stage on another clock, or with a duration only, is beside the sum."
)


def handoff_stages(subject: Subject) -> Section | None:
    """What the handoff is made of, with what no stage accounts for; None without stages."""
    rows = stage_rows(subject.audit)
    if not rows:
        return None
    return Section(
        "handoff_stages",
        "What the handoff is made of",
        "n beside each row, per request, boundary beside each row",
        subject.scope,
        data=subject.audit.stages,
        table=Table(STAGE_COLUMNS, rows, ("boundary", "stage")),
        notes=[STAGES_SUM],
    )


def stage_rows(audit: Audit) -> list[list[str]]:
    """What the handoffs are made of, where some log has stages of them."""
    named = {row["boundary"] for row in audit.stages if row["stage"] != "unaccounted"}
    return [_stage(row) for row in audit.stages if row["boundary"] in named]


def _stage(row: Row) -> list[str]:
    return [
        row["boundary"],
        row["stage"].replace("_", " "),
        format_count(row["requests"]),
        format_duration(row["p50_ns"]),
        format_duration(row["max_ns"]),
        format_share(row["total_share"]) if row["placed"] else "beside the sum",
    ]
