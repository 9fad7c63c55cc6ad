"""Where in the stream the worst gap falls."""

from collections.abc import Iterator, Sequence

from tokengap.findings.audit import Row, rows
from tokengap.report.gap_places import gap_places
from tokengap.report.section import Section, Subject
from tokengap.report.words import request_name, shortened, why_nothing
from tokengap.units import format_count, format_share


def worst_gap_places(subject: Subject) -> Section:
    """How many worst gaps fall at each place of the stream, by their length."""
    found = rows(subject.con, "FROM worst_gap_places")
    cells = [row | {"name": _name(subject, row)} for row in found]
    limits = {name: ns for name, ns in subject.limits_ns.items() if name == "worst_gap"}
    requests = sum(row["requests"] for row in cells)
    return Section(
        "worst_gap_places",
        "Where in the stream the worst gap falls",
        f"n {format_count(requests)} completed requests, per request",
        subject.scope,
        chart=gap_places(cells, limits) if cells else None,
        data=found,
        notes=list(_notes(subject, cells, requests)),
    )


def _name(subject: Subject, row: Row) -> str:
    return shortened(request_name(subject.audit, row | {"choice": 0}))


def _notes(subject: Subject, cells: Sequence[Row], requests: int) -> Iterator[str]:
    if not cells:
        yield why_nothing(subject.audit, rows(subject.con, "FROM unplaced_requests"))
        return
    first = sum(row["requests"] for row in cells if row["last_gap"] == 1)
    yield (
        f"It is the first gap in {format_count(first)} of {format_count(requests)} requests "
        f"({format_share(first / requests)}). The numbers count requests; places double from cell "
        "to cell, and a short stream has no late ones."
    )
    completed = subject.audit.counts["completed"]
    if left := completed - requests:
        yield (
            f"Left out: {format_count(left)} of {format_count(completed)} completed requests, "
            "whose worst gap is not known, or that have none."
        )
