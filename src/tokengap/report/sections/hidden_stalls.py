"""Requests that are fine on average and stalled; without limits, the largest ratios."""

from typing import Final

from tokengap.findings.audit import Row
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import (
    TRY_LIMITS,
    interval,
    position,
    request_name,
    stall_notes,
    why_nothing,
)
from tokengap.units import format_count, format_duration

STALLS_SHOWN: Final = 200
_WORDS: Final = ("request", "worst gap falls", "why")


def hidden_stalls(subject: Subject) -> Section | None:
    """Hidden stalls and possible ones, worst first; without limits, the largest ratios."""
    audit = subject.audit
    if not audit.judges_stalls:
        return _ratios(subject) if audit.ratios else None
    found = audit.hidden + audit.possible
    columns = ("request", "TTFT", "average TPOT", "worst gap", "worst gap falls", "why")
    table = Table(columns, [_stall(subject, row) for row in found[:STALLS_SHOWN]], _WORDS)
    notes = []
    if not found:
        notes.append(
            "No completed request meets its average TPOT and misses its worst gap."
            if audit.counts["completed"]
            else why_nothing(audit, [])
        )
    if len(found) > STALLS_SHOWN:
        more = format_count(len(found) - STALLS_SHOWN)
        notes.append(f"The worst {STALLS_SHOWN} are listed, and {more} more are not.")
    return Section(
        "hidden_stalls",
        "Hidden stalls",
        f"n {format_count(len(found))} of {format_count(audit.counts['completed'])} completed "
        "requests, per request",
        subject.scope,
        data=found,
        table=table if found else None,
        notes=notes,
    )


def _stall(subject: Subject, row: Row) -> list[str]:
    return [
        request_name(subject.audit, row),
        interval(row["ttft_ns"], row["ttft_ns"]),
        interval(row["tpot_low_ns"], row["tpot_high_ns"]),
        interval(row["worst_gap_low_ns"], row["worst_gap_high_ns"]),
        position(row),
        stall_notes(subject.audit, row),
    ]


def _ratios(subject: Subject) -> Section:
    columns = ("request", "average TPOT", "worst gap", "ratio", "worst gap falls")
    rows = [
        [
            request_name(subject.audit, row),
            interval(row["tpot_low_ns"], row["tpot_high_ns"]),
            format_duration(row["worst_gap_ns"]),
            "-" if row["ratio"] is None else f"{row['ratio']:.1f}",
            position(row),
        ]
        for row in subject.audit.ratios
    ]
    return Section(
        "worst_gap_ratios",
        "Largest ratios of worst gap to average",
        f"the first {len(rows)}, per request",
        subject.scope,
        data=subject.audit.ratios,
        table=Table(columns, rows, _WORDS),
        notes=[f"Without limits nothing is judged; try {TRY_LIMITS}."],
    )
