"""The three promises that are all called TPOT, side by side."""

from collections.abc import Iterator, Sequence
from typing import Final

from tokengap.findings.audit import Row, rows
from tokengap.report.chart_promises import promises_matrix
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import NAMES, share, why_nothing
from tokengap.units import format_count, format_duration

_COLUMNS: Final = (
    "promise", "limit", "met", "missed", "not applicable", "unknown", "kept by", "95 % interval",
)  # fmt: skip
_WORDS: Final = ("promise",)
ALONE: Final = (
    "Each row of the table is how one promise alone would judge the same requests: met / (met + "
    "missed + unknown)."
)


def promises(subject: Subject) -> Section | None:
    """Who keeps a TPOT promised on the average, on a percentile, on every gap; None without one."""
    if "tpot" not in subject.limits_ns:
        return None
    alone = rows(subject.con, f"FROM tpot_promise_summary({subject.asked})")
    combined = rows(subject.con, f"FROM tpot_promises({subject.asked})")
    limits = {row["statistic"]: row["limit_ns"] for row in alone}
    judged = any(row["met"] or row["missed"] or row["unknown"] for row in alone)
    completed = format_count(sum(row["requests"] for row in combined))
    return Section(
        "promises",
        "Three promises called TPOT",
        f"n {completed} completed requests, per request",
        subject.scope,
        chart=promises_matrix(combined, limits) if judged else None,
        data=combined,
        table=Table(_COLUMNS, [_alone(row) for row in alone], _WORDS) if judged else None,
        notes=list(_notes(alone, combined)) if judged else [_why(subject, completed)],
    )


def _alone(row: Row) -> list[str]:
    borrowed = ", borrowed" if row["borrowed"] else ""
    return [
        NAMES[row["statistic"]],
        f"≤ {format_duration(row['limit_ns'])}{borrowed}",
        *(format_count(row[k]) for k in ("met", "missed", "not_applicable", "unknown")),
        *share(row),
    ]


def _notes(alone: Sequence[Row], combined: Sequence[Row]) -> Iterator[str]:
    hidden = sum(
        row["requests"] for row in combined if row["average"] == "met" and row["worst"] == "missed"
    )
    if hidden:
        of = format_count(sum(row["requests"] for row in combined))
        yield f"Kept on the average and broken on the worst gap: {format_count(hidden)} of {of}."
    if borrowed := [NAMES[row["statistic"]] for row in alone if row["borrowed"]]:
        yield (
            f"No limit is given on {' and '.join(borrowed)}, so the one on average TPOT is taken: "
            "the same promise, made of another number."
        )
    yield ALONE


def _why(subject: Subject, completed: str) -> str:
    if completed == "0":
        return why_nothing(subject.audit, [])
    return f"None of {completed} completed requests has a gap, so no such promise applies."
