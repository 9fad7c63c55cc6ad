"""What was asked of the servers over time, and how long gaps were meanwhile."""

from collections.abc import Iterator, Sequence
from typing import Final

from tokengap.findings.audit import Row, rows
from tokengap.report.chart_load import SERIES, load_chart
from tokengap.report.section import Section, Subject
from tokengap.report.words import endings, why_nothing
from tokengap.units import format_count, format_duration

_OF_GAPS: Final[tuple[str, ...]] = ("gap_p99", "worst_gap")
"""Limits drawn among the gaps; without either, the one on the average."""
_MISSING: Final = {
    "arrivals": "no origin is logged",
    "running_streams": "first and last tokens are not logged",
    "prefill_tokens": "no prefill of a known prompt length is",
}


def load(subject: Subject) -> Section:
    """Load against gaps, on one time axis; why not where no clock is shared."""
    found = rows(subject.con, "FROM load_over_time()")
    gaps, arrivals = (sum(row[name] or 0 for row in found) for name in ("gaps", "arrivals"))
    return Section(
        "load",
        "Load and gaps over time",
        f"n {format_count(gaps)} gaps, per gap, and {format_count(arrivals)} arrivals",
        subject.scope,
        chart=load_chart(found, _limits(subject)) if found else None,
        data=found,
        notes=list(_notes(subject, found)) if found else [_why(subject)],
    )


def _limits(subject: Subject) -> dict[str, int]:
    limits = subject.limits_ns
    drawn = _OF_GAPS if set(_OF_GAPS) & limits.keys() else ("tpot",)
    return {name: limits[name] for name in drawn if name in limits}


def _notes(subject: Subject, found: Sequence[Row]) -> Iterator[str]:
    first = found[0]
    width = format_duration(first["end_ns"] - first["start_ns"])
    yield (
        f"{format_count(len(found))} stretches of {width} each. Gaps are of completed requests and "
        "count where they end; streams run from their first token to their last."
    )
    if not any(row["gaps"] for row in found):
        yield "Not shown: gaps; no completed request has one with a place in time."
    for column, why in _MISSING.items():
        if first[column] is None:
            yield f"Not shown: {SERIES[column].split(',')[0]}; {why}."
    if first["prefill_tokens"] is not None:
        told = rows(subject.con, "SELECT basis, count(*) AS n FROM prefills GROUP BY 1 ORDER BY 1")
        known = ", ".join(f"{format_count(row['n'])} {row['basis']}" for row in told)
        yield f"Prefills: {known}."


def _why(subject: Subject) -> str:
    if not endings(subject.audit.counts):
        return why_nothing(subject.audit, [])
    clocks = subject.audit.window["clocks"]
    if clocks > 1:
        return (
            f"Judged requests are stamped by {format_count(clocks)} clocks that nothing relates, "
            "so they share no time axis; --clock or --same-clock relates them."
        )
    return "No times are logged that could be placed on an axis."
