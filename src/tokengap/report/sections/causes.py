"""Why gaps were over their limit, by cause."""

from typing import Final

from tokengap.findings import Audit
from tokengap.findings.audit import Row
from tokengap.findings.causes import CAUSES
from tokengap.report.section import Section, Subject, Table
from tokengap.units import format_count, format_duration, format_share

CAUSE_COLUMNS: Final = (
    "cause", "how known", "gaps", "requests", "p50", "max", "time lost", "share",
)  # fmt: skip
READING: Final = (
    "Time lost is what these gaps took beyond each stream's own steady step. Measured: the log "
    "names worker and times. Inferred: worker or prefill is not logged, and bounded by what is. "
    "Declared: it rests on an option. A cause changes no verdict: the user waited all the same."
)


def causes(subject: Subject) -> Section | None:
    """What the time beyond the steady pace went to; None where no limit is about gaps."""
    if not {"worst_gap", "handoff_gap"} & subject.limits_ns.keys():
        return None
    found = subject.audit.causes
    over = format_count(sum(row["gaps"] for row in found))
    return Section(
        "causes",
        "Why gaps were long",
        f"n {over} gaps over their limit, per gap",
        subject.scope,
        table=Table(CAUSE_COLUMNS, cause_rows(subject.audit), ("cause", "how known"))
        if found
        else None,
        data=found,
        notes=[READING] if found else ["No gap is over its limit."],
    )


def cause_rows(audit: Audit) -> list[list[str]]:
    """The causes, most time lost first."""
    return [_cause(row) for row in audit.causes]


def _cause(row: Row) -> list[str]:
    return [
        CAUSES[row["cause"]],
        row["basis"] or "",
        format_count(row["gaps"]),
        format_count(row["requests"]),
        format_duration(row["p50_ns"]),
        format_duration(row["max_ns"]),
        format_duration(row["excess_ns"]),
        format_share(row["excess_share"] or 0),
    ]
