"""The handoff against what it hands over, by each boundary."""

from collections.abc import Iterator, Sequence

from tokengap.findings.audit import Row, rows
from tokengap.report.chart_handoff import by_size
from tokengap.report.section import Section, Subject
from tokengap.units import format_count


def handoff_by_size(subject: Subject) -> Section | None:
    """Whether long prompts, or large caches, make long handoffs; None without any handoff."""
    if not any(row["n"] for row in subject.audit.boundaries):
        return None
    found = rows(subject.con, "FROM handoff_by_size()")
    measure = "kv_bytes" if any(row["measure"] == "kv_bytes" for row in found) else "prompt_tokens"
    marks = [row for row in found if row["measure"] == measure]
    drawn = [row for row in marks if row["handoff_ns"] > 0]
    limit_ns = subject.limits_ns.get("handoff_gap")
    limits = {} if limit_ns is None else {subject.audit.judged_handoff: limit_ns}
    return Section(
        "handoff_by_size",
        "Handoff against its size",
        "n and boundary above each plot, completed requests, per request",
        subject.scope,
        chart=by_size(drawn, limits) if drawn else None,
        data=marks,
        notes=list(_notes(subject, marks, drawn)),
    )


def _notes(subject: Subject, marks: Sequence[Row], drawn: Sequence[Row]) -> Iterator[str]:
    if not marks:
        yield (
            "No log says how many prompt tokens, or bytes of KV cache, were handed over in these "
            "handoffs."
        )
        return
    if len({row["boundary"] for row in drawn}) > 1:
        yield (
            "Each plot measures another span of the same handoffs; their lengths are not to be "
            "compared from plot to plot."
        )
    if below := sum(row["requests"] for row in marks if row["handoff_ns"] <= 0):
        yield (
            f"Not drawn: {format_count(below)} handoffs of 0 or below, which only skewed clocks or "
            "stamps of one instant give."
        )
    for row in subject.audit.boundaries:
        sized = sum(mark["requests"] for mark in marks if mark["boundary"] == row["boundary"])
        if row["n"] > sized:
            left = f"{format_count(row['n'] - sized)} of {format_count(row['n'])} handoffs"
            yield f"Boundary {row['boundary']}: {left} left out, for no log says their size."
