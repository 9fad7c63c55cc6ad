"""What needs doing, derived from the numbers alone: most urgent first."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tokengap.findings import Finding
from tokengap.report.weekly.promised import Promised, promised
from tokengap.report.weekly.troubles import (
    SOON,
    SPENT,
    Trouble,
    budget_name,
    days_more,
    troubles,
)
from tokengap.report.weekly.words import listed, log_text, spent_words
from tokengap.report.words import plain
from tokengap.units import counted, format_count, format_share
from tokengap.weekly.model import Contributor, Coverage, ServiceWeek, Weekly

_STANDS_OUT: Final = 1.25  # a value's part in the misses against its part in the requests
_DEVIATIONS: Final = 3  # of a binomial count: there are many values to be surprised by
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
    """Missed ones first; those of which only the budget is in trouble share a line."""
    found = [(each, troubles(each)) for each in promised(weekly)]
    for each, facts in sorted(found, key=lambda pair: pair[0].promise.is_kept is not False):
        if _kinds(facts) - {SPENT, SOON}:
            says = f"{each.service}, {each.name}: {'; '.join(fact.says for fact in facts)}."
            brief = f"{each.short} ({', '.join(fact.brief for fact in facts)})"
            yield _action("promise", "stall", brief, says)
    for service in weekly.services:
        own = [(each, facts) for each, facts in found if each.of is service]
        for kind in (SPENT, SOON):
            alone = [each for each, facts in own if _kinds(facts) == {kind}]
            yield from _budgets(service, alone, kind)


def _kinds(facts: Sequence[Trouble]) -> set[str]:
    return {fact.kind for fact in facts}


def _budgets(service: ServiceWeek, told: Sequence[Promised], kind: str) -> Iterator[Action]:
    """Promises that are kept, and whose budget is spent or soon will be."""
    if not told:
        return
    name, budget = plain(service.service.name), budget_name(service.service.window)
    names = ", ".join(f"{each.bare} ({_left(each)})" for each in told)
    brief = f"budget of {name} {listed(each.bare for each in told)}"
    if kind == SPENT:
        says = f"{name}: nothing is left of the {budget} for {names}."
        yield _action("budget", "stall", f"{brief} (spent)", says)
    else:
        says = f"{name}: at this week's rate the {budget} ends before the next report for {names}."
        yield _action("budget", "unknown", f"{brief} (ending)", says)


def _left(each: Promised) -> str:
    budget = each.promise.budget
    if budget.left_share is not None and budget.left_share <= 0:
        return spent_words(1 - budget.left_share)
    return f"lasts {days_more(budget.exhausted_in_days or 0)}"


def _begin(weekly: Weekly) -> Iterator[Action]:
    """Where misses gather, in services that have something to explain."""
    for service in weekly.services:
        troubled = any(each.of is service and troubles(each) for each in promised(weekly))
        found = top(service)[:_BEGIN_WITH] if troubled else []
        if found:
            name = plain(service.service.name)
            says = listed(map(_stands_out, found))
            brief = f"begin with {listed(f'{c.dimension} {value(c)}' for c in found)} in {name}"
            yield _action("contributors", "stall", brief, f"In {name}, begin with {says}.")


def top(service: ServiceWeek) -> list[Contributor]:
    """Of each dimension the value with most misses beyond its part, if they are many."""
    best: dict[str, Contributor] = {}
    for each in sorted(service.contributors, key=lambda each: -beyond(each)):
        if each.value is not None and each.value != "unexplained":
            best.setdefault(each.dimension, each)
    return [each for each in best.values() if _gathers(each)]


def beyond(each: Contributor) -> float:
    """Its part in the misses beyond its part in the requests."""
    return each.bad_share - (0 if each.dimension in OF_MISSES else each.offered_share)


def _gathers(each: Contributor) -> bool:
    """Has a good part of the misses, and more than its part of the requests, beyond chance."""
    if each.bad_share < _LEAST_PART:
        return False
    if each.dimension in OF_MISSES:
        return True
    due = each.bad / each.bad_share * each.offered_share
    chance = math.sqrt(due * (1 - each.offered_share))
    return each.bad >= _STANDS_OUT * due and each.bad - due >= _DEVIATIONS * chance


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
    if weekly.rejects:
        says = f"Put aside, as they could not be read: {counted(weekly.rejects, 'record')}."
        advice = "`tokengap audit` of the logs names line and reason"
        yield _action("rejects", "note", "records put aside", says, advice)


def _missing(coverage: Coverage) -> int:
    return coverage.hours_due - coverage.hours_seen
