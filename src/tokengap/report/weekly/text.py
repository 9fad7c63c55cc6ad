"""A week on a terminal: the answer, what to do, then a table for each service."""

from collections.abc import Iterator
from typing import Final

from tokengap.report.numbers import columns
from tokengap.report.weekly.actions import actions
from tokengap.report.weekly.glance import COLUMNS, row
from tokengap.report.weekly.promised import promised
from tokengap.report.weekly.summary import paragraph
from tokengap.report.weekly.trends import headroom_lines
from tokengap.report.words import plain
from tokengap.units import format_count, format_share
from tokengap.weekly.model import ServiceWeek, Weekly

_MARKS: Final = {"stall": "!", "unknown": "?", "note": "-"}


def weekly_text(weekly: Weekly) -> str:
    """The week in text."""
    to_do = [action.finding for action in actions(weekly)]
    lines = [
        f"{_MARKS[found.level]} {plain(found.says)}" + _advice(found.advice) for found in to_do
    ]
    parts = [
        f"{paragraph(weekly)}\n",
        *(_service(weekly, of) for of in weekly.services),
        "What to do\n" + "".join(f"{line}\n" for line in lines) if lines else "",
        f"Store version {weekly.store_version}\n",
    ]
    return "\n".join(filter(None, parts))


def _advice(advice: str | None) -> str:
    return f" ({advice})" if advice else ""


def _service(weekly: Weekly, of: ServiceWeek) -> str:
    rows = [row(each) for each in promised(weekly) if each.of is of]
    table = columns([(verdict, *told) for verdict, _, *told in (COLUMNS, *rows)])
    told = [*table.splitlines(), *_facts(of)]
    return f"{plain(of.service.name)}\n" + "".join(f"  {line}\n" for line in told)


def _facts(of: ServiceWeek) -> Iterator[str]:
    seen = f"{of.coverage.hours_seen} of {of.coverage.hours_due} hours with data"
    yield f"{format_count(of.offered)} offered requests, {seen}"
    if of.stalls:
        share = of.stalls.count / of.stalls.completed if of.stalls.completed else 0
        yield f"{format_count(of.stalls.count)} hidden stalls ({format_share(share)} of completed)"
    yield from (line.partition(": ")[2] for line in headroom_lines(of))
