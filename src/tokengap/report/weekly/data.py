"""What the numbers rest on: hours with data, late and excluded data, and what limits trust."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from tokengap.findings import Finding
from tokengap.report.section import Section, Table
from tokengap.report.weekly.words import day_name, log_text, moment
from tokengap.report.words import plain
from tokengap.units import counted, format_count, format_share
from tokengap.weekly.calendar import HOURS
from tokengap.weekly.model import ServiceWeek, Weekly

HOLES_SHOWN: Final = 8
_COVERAGE_COLUMNS: Final = ("service", "hours with data", "of", "coverage", "without data, UTC")
_LEFT_COLUMNS: Final = ("service", "what", "requests", "when", "why")
_HOUR_S: Final = 3600


def coverage(weekly: Weekly, scope: str) -> Section:
    """Hours that have requests: one without is neither uptime nor downtime."""
    rows = [_coverage(of) for of in weekly.services]
    return Section(
        "coverage",
        "Coverage",
        f"{HOURS} hours of a week, less what is excluded",
        scope,
        table=Table(_COVERAGE_COLUMNS, rows, ("service", "without data, UTC"), tight=True)
        if rows
        else None,
        notes=["An hour without a request is neither uptime nor downtime: nothing is known of it."],
    )


def _coverage(of: ServiceWeek) -> list[str]:
    found = of.coverage
    holes = [_span(*hole) for hole in found.holes[:HOLES_SHOWN]]
    if more := len(found.holes) - HOLES_SHOWN:
        holes += [f"{counted(more, 'more span')}"] if more > 0 else []
    return [
        plain(of.service.name),
        format_count(found.hours_seen),
        format_count(found.hours_due),
        "-" if found.share is None else format_share(found.share),
        "; ".join(holes) or "none",
    ]


def _span(start: datetime, end: datetime) -> str:
    hours = int((end - start).total_seconds()) // _HOUR_S
    last = f"{end:%H:%M}" if end.date() == start.date() else moment(end)
    return f"{moment(start)} to {last} ({hours} h)"


def left_out(weekly: Weekly, scope: str) -> Section:
    """Data that came late, and requests that no promise is about."""
    rows = [row for of in weekly.services for row in _left_out(of)]
    if weekly.unmatched:
        none = ["-", "of no service", format_count(weekly.unmatched), str(weekly.week)]
        rows.append([*none, "no match rule takes them"])
    if weekly.rejects:
        count = format_count(weekly.rejects)
        rows.append(["-", "records put aside", count, str(weekly.week), "they could not be read"])
    if weekly.undated:
        count = format_count(weekly.undated)
        rows.append(["-", "streams of no week", count, "any", "they are on no wall clock"])
    return Section(
        "left_out",
        "Late and excluded data",
        "requests; streams where data came late",
        scope,
        table=Table(_LEFT_COLUMNS, rows, ("service", "what", "when", "why"), tight=True)
        if rows
        else None,
        notes=[] if rows else ["No data came late, and nothing is excluded."],
    )


def _left_out(of: ServiceWeek) -> Iterator[list[str]]:
    name = plain(of.service.name)
    for late in of.late:
        why = f"loaded {late.loaded:%Y-%m-%d %H:%M} from {log_text(late.names)}"
        yield [name, "late, counted", format_count(late.streams), day_name(late.day), why]
    for each in of.excluded:
        why = log_text(each.reason)
        yield [name, "excluded", format_count(each.requests), _span(each.start, each.end), why]
    if of.not_offered:
        why = "still running, or cancelled without a miss"
        yield [name, "not offered", format_count(of.not_offered), "all week", why]


def notes(weekly: Weekly, scope: str) -> Section | None:
    """What limits the trust in the numbers; None if nothing does."""
    said = [
        f"{plain(of.service.name)}: {plain(note)}" for of in weekly.services for note in of.notes
    ]
    if not weekly.ended:
        said.insert(0, f"The store's data ends within {weekly.week}: these numbers are not final.")
    if not said:
        return None
    found = [Finding("note", "unknown", note) for note in said]
    return Section("notes", "What limits these numbers", "", scope, findings=found)
