"""How many gaps are long: the share of all gaps that are longer than x."""

from collections.abc import Iterator
from typing import Final

from tokengap.findings.audit import Row, rows
from tokengap.report.charts import axis_start_ns, survival
from tokengap.report.section import Section, Subject
from tokengap.report.words import why_nothing
from tokengap.units import format_count, format_share

_GAP_LIMITS: Final = ("tpot", "gap_p50", "gap_p90", "gap_p99", "worst_gap", "handoff_gap")
"""Limits that can be read off an axis of gaps."""


def gap_survival(subject: Subject) -> Section:
    """The share of all gaps that are longer than x."""
    gaps = subject.audit.gaps
    steps = rows(subject.con, "FROM gap_survival")
    limits = {name: ns for name, ns in subject.limits_ns.items() if name in _GAP_LIMITS}
    if subject.audit.judged_handoff != "stream":  # then its limit is about no gap of a stream
        limits.pop("handoff_gap", None)
    return Section(
        "gap_survival",
        "How many gaps are long",
        f"n {format_count(gaps['n'])} gaps, per gap",
        subject.scope,
        chart=survival(steps, limits) if gaps["max_ns"] else None,
        data=steps,
        notes=list(_survival_notes(subject, steps)),
    )


def _survival_notes(subject: Subject, steps: list[Row]) -> Iterator[str]:
    gaps = subject.audit.gaps
    if not gaps["n"]:
        yield why_nothing(subject.audit, rows(subject.con, "FROM unplaced_requests"))
    else:
        yield "All gaps of completed requests pooled: long answers weigh more than short ones."
    if gaps["left_out"]:
        yield f"{format_count(gaps['left_out'])} negative gaps are left out: a clock stepped."
    if left := _left_of_axis(steps):
        yield (
            f"{format_count(left)} gaps ({format_share(left / gaps['n'])}) are shorter than the "
            "axis shows."
        )
    if gaps["coalesced_share"]:
        yield (
            f"{format_share(gaps['coalesced_share'])} of the gaps are of streams with coalesced "
            "reads: their shortest gaps come from the transport, not from the server."
        )


def _left_of_axis(steps: list[Row]) -> int:
    if not steps or not steps[-1]["gap_ns"]:
        return 0
    start_ns = axis_start_ns(steps)
    return sum(row["gaps"] for row in steps if row["gap_ns"] <= start_ns)
