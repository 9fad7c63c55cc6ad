"""What the handoff is made of, with what no stage accounts for."""

from collections.abc import Iterator
from typing import Final

from tokengap.findings import Audit
from tokengap.findings.audit import Row
from tokengap.report.chart_handoff import waterfall
from tokengap.report.section import Section, Subject, Table
from tokengap.units import format_count, format_duration, format_share

STAGE_COLUMNS: Final = ("boundary", "stage", "n", "p50", "max", "share of the handoff")
STAGES_SUM: Final = (
    "The stages that lie on the handoff's own clock, and `unaccounted`, what none of them covers, "
    "sum exactly to it. A stage on another clock, or with a duration only, is beside the sum."
)
MEDIANS: Final = (
    "Each bar is a median over the requests that have the stage, and starts where the one before "
    "it ends: medians need not sum to the median of the whole. Hollow bars are beside the sum."
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
        chart=waterfall(bars) if (bars := list(_bars(subject.audit))) else None,
        data=bars,
        table=Table(STAGE_COLUMNS, rows, ("boundary", "stage")),
        notes=[STAGES_SUM, MEDIANS],
    )


def stage_rows(audit: Audit) -> list[list[str]]:
    """What the handoffs are made of, where some log has stages of them."""
    return [_stage(row) for row in _told(audit)]


def _told(audit: Audit) -> list[Row]:
    named = {row["boundary"] for row in audit.stages if row["stage"] != "unaccounted"}
    return [row for row in audit.stages if row["boundary"] in named]


def _bars(audit: Audit) -> Iterator[Row]:
    """Stages in their order, each from where the ones before it end, and then the whole."""
    told = _told(audit)
    wholes = {row["boundary"]: row for row in audit.boundaries if row["n"]}
    for boundary in dict.fromkeys(row["boundary"] for row in told):
        through_ns = 0.0
        for row in (row for row in told if row["boundary"] == boundary):
            kind = "unaccounted" if row["stage"] == "unaccounted" else "stage"
            bar = {key: row[key] for key in ("boundary", "requests", "p50_ns", "max_ns")}
            yield bar | {
                "stage": row["stage"].replace("_", " "),
                "kind": kind if row["placed"] else "beside the sum",
                "from_ns": through_ns if row["placed"] else 0.0,
            }
            through_ns += row["p50_ns"] if row["placed"] else 0
        if whole := wholes.get(boundary):
            bar = {key: whole[key] for key in ("boundary", "p50_ns", "max_ns")}
            yield bar | {
                "stage": "whole handoff", "kind": "whole", "requests": whole["n"], "from_ns": 0.0,
            }  # fmt: skip


def _stage(row: Row) -> list[str]:
    return [
        row["boundary"],
        row["stage"].replace("_", " "),
        format_count(row["requests"]),
        format_duration(row["p50_ns"]),
        format_duration(row["max_ns"]),
        format_share(row["total_share"]) if row["placed"] else "beside the sum",
    ]
