"""What a week's report can fail a job for: four conditions, each on every promise of a service."""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final

from tokengap.slo.meaning import percent
from tokengap.units import counted, format_count, format_duration, format_share
from tokengap.weekly.model import (
    NOT_COMPARABLE,
    WORSE,
    Budget,
    Burn,
    Change,
    Promise,
    ServiceWeek,
    Weekly,
)

MISS: Final = "miss"
BURN: Final = "burn"
REGRESSION: Final = "regression"
COVERAGE: Final = "coverage"
CONDITIONS: Final = (MISS, BURN, REGRESSION, COVERAGE)
LEAST_COVERAGE: Final = 0.9


@dataclass(frozen=True)
class Check:
    """Whether one condition holds in one place."""

    condition: str
    service: str
    promise: str | None
    """None for coverage, which is of a whole service."""
    holds: bool | None
    """None: there is nothing to judge."""
    says: str
    """Why, in one sentence with its numbers."""


def checks(
    weekly: Weekly,
    conditions: Collection[str] = CONDITIONS,
    least_coverage: float = LEAST_COVERAGE,
) -> Iterator[Check]:
    """Every one of these conditions, for each promise of each service.

    least_coverage: share of a service's hours that should have requests.
    """
    for week in weekly.services:
        name = week.service.name
        for promise in week.promises:
            found = {
                MISS: _miss(week, promise),
                BURN: _burn(promise),
                REGRESSION: worsened(promise.change),
            }
            for condition, (holds, says) in found.items():
                if condition in conditions:
                    yield Check(condition, name, promise.name, holds, says)
        if COVERAGE in conditions:
            yield Check(COVERAGE, name, None, *_coverage(week, least_coverage))


_Judged = tuple[bool | None, str]


def _miss(week: ServiceWeek, promise: Promise) -> _Judged:
    """A promise to everybody that fits none of the requests there were is not kept."""
    kept, goal = promise.kept, promise.goal
    if not kept.applies:
        none = "no request that it applies to"
        if not week.offered or goal.only:
            return None, none
        return True, f"{none}, of {format_count(week.offered)} offered: nothing was judged"
    wanted = math.ceil(kept.applies * Fraction(goal.target))
    met = f"{format_count(kept.met)} of {format_count(kept.applies)} requests {_met(promise)}"
    target = f"its target of {percent(goal.target)}"
    if promise.is_kept:
        return False, f"{met}, enough for {target}"
    unknown = f"; {format_count(kept.unknown)} could not be judged" if kept.unknown else ""
    return True, f"{met}, {format_count(wanted - kept.met)} too few for {target}{unknown}"


def _met(promise: Promise) -> str:
    limit_ns = promise.goal.limit_ns
    return "were good" if limit_ns is None else f"met {format_duration(limit_ns)}"


def _burn(promise: Promise) -> _Judged:
    rates = [rule for rule in promise.burn if rule.worst is not None]
    left = promise.budget.left_share
    if not rates and left is None:
        return None, "no request of which a budget could be spent"
    over = [rule for rule in rates if rule.hours_over]
    spent = left is not None and left <= 0
    holds = spent or bool(over)
    says = [_rate(rule) for rule in (over if holds else rates)]
    if spent or not (holds or left is None):
        says.append(_spent(promise.budget))
    return holds, "; ".join(says)


def _rate(rule: Burn) -> str:
    """One miss in a quiet hour is a high rate, and nothing beyond chance."""
    when = f"in {counted(rule.hours_over, 'hour')}" if rule.hours_over else "never"
    return (
        f"at most {rule.worst:.2f} times its budget's pace over {counted(rule.hours, 'hour')}, "
        f"{when} over {rule.threshold:g} beyond chance"
    )


def _spent(budget: Budget) -> str:
    return (
        f"{format_count(budget.spent)} misses since {budget.first}, where "
        f"{format_count(math.floor(budget.allowed))} were allowed"
    )


def worsened(change: Change) -> tuple[bool | None, str]:
    """Whether a change is for the worse, None if nothing can be compared; and why."""
    holds = None if change.verdict == NOT_COMPARABLE else change.verdict == WORSE
    told = {"share kept": share_change(change), "values": value_change(change)}
    numbers = "; ".join(f"{what} {by}" for what, by in told.items() if by is not None)
    return holds, f"{change.says} ({numbers})" if numbers else change.says


def share_change(change: Change) -> str | None:
    """By how many points more or less keep the promise, with the interval; None if not known."""
    if change.matched is None or change.low is None or change.high is None:
        return None
    sides = (change.matched, change.low, change.high)
    by, low, high = (f"{round(side * 100, 6):+.3g}" for side in sides)
    return f"{by} points, {low} to {high}"


def value_change(change: Change) -> str | None:
    """How many times as large values are, with the interval; None if not known."""
    value = change.value
    if value is None or value.matched is None or value.low is None or value.high is None:
        return None
    return f"times {value.matched:.3f}, {value.low:.3f} to {value.high:.3f}"


def _coverage(week: ServiceWeek, least: float) -> _Judged:
    coverage = week.coverage
    if coverage.share is None:
        return True, "no hour is left to judge: all of the week is excluded"
    if not coverage.hours_seen:
        return True, f"no request in any of {counted(coverage.hours_due, 'hour')}"
    seen = (
        f"{format_count(coverage.hours_seen)} of {counted(coverage.hours_due, 'hour')} have "
        f"requests ({format_share(coverage.share)})"
    )
    if coverage.share >= least:
        return False, seen
    holes = [f"; none from {_at(start)} to {_at(end)} UTC" for start, end in coverage.holes[:1]]
    return True, "".join([seen, f", less than {percent(Decimal(str(least)))}", *holes])


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
