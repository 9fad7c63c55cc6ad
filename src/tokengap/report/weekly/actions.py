"""What needs doing, derived from the numbers alone: most urgent first."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tokengap.findings import Finding
from tokengap.report.weekly.promised import Promised, promised
from tokengap.report.weekly.words import (
    counted,
    fired,
    listed,
    log_text,
    moment,
    span_hours,
    spent_words,
)
from tokengap.report.words import plain
from tokengap.units import format_count, format_share
from tokengap.weekly.model import WORSE, Change, Contributor, Coverage, ServiceWeek, Weekly

SOON_DAYS: Final = 7
"""A budget that this week's rate exhausts before the next report is worth a line."""
_STANDS_OUT: Final = 1.25  # a value's part in the misses against its part in the requests
_OUR_WORDS: Final = frozenset({"cause", "handoff"})
"""Dimensions whose values no log wrote."""
_LEVELS: Final = ("stall", "unknown", "note")
_BEGIN_WITH: Final = 2
_LEAST_PART: Final = 0.2  # of the misses
OF_MISSES: Final = frozenset({"cause"})
"""Dimensions of missed worst gaps alone: a good request has none."""


@dataclass(frozen=True)
class Action:
    """Something to do.

    brief: in a few words. finding: in a sentence with its numbers.
    """

    brief: str
    finding: Finding


def actions(weekly: Weekly) -> list[Action]:
    """All that needs doing; nothing if so."""
    found = [*_promises(weekly), *_begin(weekly), *_data(weekly)]
    return sorted(found, key=lambda action: _LEVELS.index(action.finding.level))


def _action(rule: str, level: str, brief: str, says: str, advice: str | None = None) -> Action:
    return Action(brief, Finding(rule, level, says, advice))


def _promises(weekly: Weekly) -> Iterator[Action]:
    troubled = [(each, facts) for each in promised(weekly) if (facts := list(_facts(each)))]
    for each, facts in troubled:
        urgent = any(fact.urgent for fact in facts)
        says = f"{each.service}, {each.name}: {'; '.join(fact.says for fact in facts)}."
        brief = f"{each.short} ({', '.join(fact.brief for fact in facts)})"
        yield _action("promise", "stall" if urgent else "unknown", brief, says)


@dataclass(frozen=True)
class _Fact:
    brief: str
    says: str
    urgent: bool = True


def _facts(each: Promised) -> Iterator[_Fact]:
    promise = each.promise
    if promise.is_kept is False:
        bad, of = format_count(promise.kept.bad), counted(promise.kept.applies, "request")
        yield _Fact("missed", f"missed, {bad} of {of} bad")
    yield from _budget(each)
    if rules := fired(promise):
        first = rules[0]
        over = f"burn rate of {span_hours(first.hours)} above {first.threshold:g} for "
        worst = f"at most {first.worst or 0:.3g}, until {moment(first.worst_until)}"
        yield _Fact("burn", f"{over}{counted(first.hours_over, 'hour')}, {worst}")
    if promise.change.verdict == WORSE:
        yield _Fact("worse", f"worse than the week before{_by(promise.change)}")


def _by(change: Change) -> str:
    """How much lower a share is than the week before, at equal mix."""
    if change.matched is None or change.low is None or change.high is None:
        return ""
    by, least, most = (f"{-100 * each:.2f}" for each in (change.matched, change.high, change.low))
    return f" by {by} points ({least} to {most})"


def _budget(each: Promised) -> Iterator[_Fact]:
    budget, window = each.promise.budget, each.of.service.window
    days, left = budget.exhausted_in_days, budget.left_share
    name = f"its {window.days}-day budget" if window.days else f"its budget of the {window.kind}"
    if left is not None and left <= 0:
        yield _Fact("budget spent", f"{name} is {spent_words(1 - left)}")
    elif days is not None and days <= SOON_DAYS:
        more = "under a day" if days < 1 else f"{days:.1f} days"
        soon = f"{name} lasts {more} more at this week's rate"
        yield _Fact(f"budget lasts {more}", soon, urgent=False)


def _begin(weekly: Weekly) -> Iterator[Action]:
    """Where misses gather, in services that have something to explain."""
    for service in weekly.services:
        troubled = any(p.of is service and list(_facts(p)) for p in promised(weekly))
        found = top(service)[:_BEGIN_WITH] if troubled else []
        if found:
            name = plain(service.service.name)
            says = listed(map(_stands_out, found))
            brief = f"begin with {listed(f'{c.dimension} {value(c)}' for c in found)} in {name}"
            yield _action("contributors", "stall", brief, f"In {name}, begin with {says}.")


def top(service: ServiceWeek) -> list[Contributor]:
    """Of each dimension the value with most misses, if it has more than its share of them."""
    best: dict[str, Contributor] = {}
    for each in sorted(service.contributors, key=lambda each: -each.bad_share):
        if each.value is not None and each.value != "unexplained":
            best.setdefault(each.dimension, each)
    return [each for each in best.values() if _gathers(each)]


def _gathers(each: Contributor) -> bool:
    """Has a good part of the misses, and more than its part of the requests."""
    of_misses = each.dimension in OF_MISSES
    more = of_misses or each.bad_share >= _STANDS_OUT * each.offered_share
    return each.bad_share >= _LEAST_PART and more


def value(each: Contributor) -> str:
    """The value for a reader."""
    said = log_text(each.value)
    return said.replace("_", " ") if each.dimension in _OUR_WORDS else said


def _stands_out(each: Contributor) -> str:
    bad, of = format_share(each.bad_share), format_share(each.offered_share)
    part = "long worst gaps" if each.dimension in OF_MISSES else f"misses, {of} of requests"
    return f"{each.dimension} {value(each)} ({bad} of {part})"


def _data(weekly: Weekly) -> Iterator[Action]:
    for service in weekly.services:
        name = plain(service.service.name)
        if missing := _missing(service.coverage):
            says = (
                f"{name}: {counted(missing, 'hour')} of {service.coverage.hours_due} without data"
            )
            advice = "neither uptime nor downtime; look for logs that were not ingested"
            yield _action(
                "coverage", "unknown", f"{missing} h of {name} without data", f"{says}.", advice
            )
        if service.late:
            streams = format_count(sum(late.streams for late in service.late))
            says = f"{name}: {streams} streams of this week were loaded late."
            advice = "reports made before that say less; make them again"
            yield _action("late", "unknown", f"late data of {name}", says, advice)
    if weekly.unmatched:
        says = f"Of no service: {counted(weekly.unmatched, 'request')}."
        yield _action("unmatched", "note", "requests of no service", says, "widen a match rule")


def _missing(coverage: Coverage) -> int:
    return coverage.hours_due - coverage.hours_seen
