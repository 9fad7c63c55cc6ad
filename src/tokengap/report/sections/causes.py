"""Why gaps were over their limit, by cause."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tokengap.findings import Audit
from tokengap.findings.audit import Row, rows
from tokengap.report.cause_bars import cause_bars
from tokengap.report.section import Key, Section, Subject, Table
from tokengap.report.theme import PIECES
from tokengap.units import format_count, format_duration, format_share

CAUSES: Final = {
    "handoff": "the handoff from prefill to decode",
    "preemption": "preemption",
    "prefill_interference": "prefill of other requests on the same worker",
    "delivery_pause": "a pause in delivery: a burst follows, so the tokens were made on time",
    "shared_pause": "a pause that most streams of the worker shared, with no prefill to explain it",
    "unexplained": "nothing that the logs tell",
}
"""What made a gap long, in words."""
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
    parts = rows(subject.con, f"FROM cause_parts({subject.asked})")
    over = format_count(sum(row["gaps"] for row in found))
    return Section(
        "causes",
        "Why gaps were long",
        f"n {over} gaps over their limit, per gap",
        subject.scope,
        legend=list(_legend(parts)),
        chart=cause_bars([row | _words(row) for row in found], parts) if found else None,
        table=Table(CAUSE_COLUMNS, cause_rows(subject.audit), ("cause", "how known"))
        if found
        else None,
        data=parts,
        notes=list(_notes(parts)) if found else ["No gap is over its limit."],
    )


def _words(row: Row) -> Row:
    basis = f", {row['basis']}" if row["basis"] else ""
    requests = f"{format_count(row['requests'])} request{'s' if row['requests'] > 1 else ''}"
    gaps = f"{format_count(row['gaps'])} gap{'s' if row['gaps'] > 1 else ''}"
    return {
        "name": f"{row['cause'].replace('_', ' ')}{basis}",
        "facts": f"{format_duration(row['excess_ns'])} lost, "
        f"{format_share(row['excess_share'] or 0)}: {gaps} of {requests}",
    }


def _legend(parts: Sequence[Row]) -> Iterator[Key]:
    """What the colours mean, with the time that is put down to each."""
    totals: Counter[str] = Counter()
    for row in parts:
        totals[row["part"]] += row["total_ns"]
    for part, place in PIECES.items():
        if totals[part] and part != "steady":
            yield Key(place, part.replace("_", " "), format_duration(totals[part]))


def _notes(parts: Sequence[Row]) -> Iterator[str]:
    steady_ns = sum(row["total_ns"] for row in parts if row["part"] == "steady")
    whole_ns = sum(row["total_ns"] for row in parts)
    yield (
        f"These gaps took {format_duration(whole_ns)} together, of which the streams' own steady "
        f"steps would have taken {format_duration(steady_ns)} anyway: the rest is lost. A bar is "
        "one cause; its colours are what each instant of its gaps is put down to. Solid: measured. "
        "Lighter: declared. Nearly hollow: inferred."
    )
    yield READING


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
