"""What each vantage sees of the same requests."""

from typing import Final

from tokengap.findings import Audit
from tokengap.findings.audit import Row
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import interval
from tokengap.units import format_count

VIEW_COLUMNS: Final = (
    "seen at", "requests", "TTFT there", "TTFT outside", "worst gap there", "worst gap outside",
    "way in", "way out",
)  # fmt: skip
WAYS: Final = (
    "Way in: origin outside to origin there. Way out: first token there to first token outside. "
    "Where two clocks are only known within bounds, so are these. TTFT of two vantages are two "
    "quantities and are never pooled."
)


def vantages(subject: Subject) -> Section | None:
    """What each vantage sees of the same requests; None where only one logged them."""
    rows = view_rows(subject.audit)
    if not rows:
        return None
    return Section(
        "vantages",
        "What each vantage sees",
        f"n {format_count(sum(row['requests'] for row in subject.audit.views))} pairs of views, "
        "medians over requests",
        subject.scope,
        data=subject.audit.views,
        table=Table(VIEW_COLUMNS, rows, ("seen at", "requests")),
        notes=[WAYS],
    )


def view_rows(audit: Audit) -> list[list[str]]:
    """What each view further in sees, beside the outermost one of the same requests."""
    return [_view(row) for row in audit.views]


def _view(row: Row) -> list[str]:
    half = "" if row["part"] == "whole" else f", {row['part']} half"
    return [
        f"{row['inner_vantage']}{half}",
        f"{format_count(row['requests'])} of {format_count(row['of'])} at the {row['vantage']}",
        *(
            interval(row[name], row[name])
            for name in (
                "inner_ttft_p50_ns",
                "ttft_p50_ns",
                "inner_worst_gap_p50_ns",
                "worst_gap_p50_ns",
            )
        ),
        *(_span(row, way) for way in ("way_in", "way_out")),
    ]


def _span(row: Row, way: str) -> str:
    if row["unrelated"] == row["requests"]:
        return "clocks unrelated"
    return interval(row[f"{way}_low_p50_ns"], row[f"{way}_high_p50_ns"])
