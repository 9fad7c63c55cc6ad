"""The weekly report as values: what page, Markdown, CSV and chart files share."""

from collections.abc import Iterator
from typing import Final

from tokengap.report.banner import Banner
from tokengap.report.section import Section
from tokengap.report.weekly.budgets import budgets, burn
from tokengap.report.weekly.causes import contributors, stalls, worst
from tokengap.report.weekly.changes import changes
from tokengap.report.weekly.data import coverage, left_out, notes
from tokengap.report.weekly.glance import glance
from tokengap.report.weekly.history import history
from tokengap.report.weekly.kept import kept
from tokengap.report.weekly.promised import promised
from tokengap.report.weekly.summary import answer, changed
from tokengap.report.weekly.terms import terms
from tokengap.report.weekly.trends import goodput, headroom
from tokengap.report.weekly.words import day_name
from tokengap.report.whole import Report
from tokengap.report.words import plain
from tokengap.units import format_count
from tokengap.weekly.model import Weekly

_SERVICES_NAMED: Final = 6


def compose(weekly: Weekly) -> Report:
    """The report."""
    names = [plain(of.service.name) for of in weekly.services]
    more = [f"{len(names) - _SERVICES_NAMED} more"] if len(names) > _SERVICES_NAMED else []
    services = ", ".join([*names[:_SERVICES_NAMED], *more]) or "no services"
    return Report(
        kind="weekly",
        title=f"{weekly.week}: {services}",
        scope=_scope(weekly),
        banner=_banner(weekly),
        sections=list(_sections(weekly)),
        stamp=f"week {weekly.week}, store version {weekly.store_version}",
    )


def _scope(weekly: Weekly) -> str:
    week = weekly.week
    offered = format_count(sum(of.offered for of in weekly.services))
    days = f"{day_name(week.first)} to {day_name(week.last)} {week.last.year}, UTC"
    return f"{days} · {offered} offered requests · store version {weekly.store_version}"


def _banner(weekly: Weekly) -> Banner:
    kept_all = [each.promise.is_kept for each in promised(weekly)]
    tone = "missed" if False in kept_all else "kept" if True in kept_all else "open"
    return Banner(tone, answer(weekly), [changed(weekly)], [])


def _sections(weekly: Weekly) -> Iterator[Section]:
    scope = " · ".join(_places(weekly)) or "no requests"
    yield glance(weekly, scope)
    of_promises = (kept, history, budgets, burn, changes)
    for build in of_promises if promised(weekly) else ():
        yield build(weekly, scope)
    for some in (stalls, contributors, worst, coverage, left_out, goodput, headroom, notes):
        if section := some(weekly, scope):
            yield section
    yield terms(scope)


def _places(weekly: Weekly) -> Iterator[str]:
    """Where each service's requests were judged, and what their times count from."""
    for of in weekly.services:
        if of.vantage:
            origins = " or ".join(of.origins) or "nowhere"
            yield f"{plain(of.service.name)}: {of.vantage}, times from {origins}"
