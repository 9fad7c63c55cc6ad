"""What is wrong with a promise, fact by fact."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tokengap.report.weekly.promised import Promised
from tokengap.report.weekly.words import fired, longer, moment, span_hours, spent_words
from tokengap.slo.model import Window
from tokengap.units import counted, format_count
from tokengap.weekly.model import WORSE, Change

SOON_DAYS: Final = 7
"""A budget that this week's rate exhausts before the next report is worth a word."""
MISSED, SPENT, SOON, BURN, REGRESSION = "missed", "spent", "soon", "burn", "worse"
"""Kinds of troubles."""


@dataclass(frozen=True)
class Trouble:
    """One fact against a promise: its kind, in a few words, and in half a sentence."""

    kind: str
    brief: str
    says: str


def troubles(each: Promised) -> list[Trouble]:
    """All that is wrong with a promise; nothing if so."""
    return [*_missed(each), *_budget(each), *_burn(each), *_regression(each)]


def _missed(each: Promised) -> Iterator[Trouble]:
    kept = each.promise.kept
    if each.promise.is_kept is False:
        bad, of = format_count(kept.bad), counted(kept.applies, "request")
        yield Trouble(MISSED, "missed", f"missed, {bad} of {of} bad")


def _budget(each: Promised) -> Iterator[Trouble]:
    budget, name = each.promise.budget, budget_name(each.of.service.window)
    days, left = budget.exhausted_in_days, budget.left_share
    if left is not None and left <= 0:
        yield Trouble(SPENT, "budget spent", f"its {name} is {spent_words(1 - left)}")
    elif days is not None and days <= SOON_DAYS:
        more = days_more(days)
        says = f"its {name} lasts {more} more at this week's rate"
        yield Trouble(SOON, f"budget lasts {more}", says)


def budget_name(window: Window) -> str:
    """A budget by its window."""
    return f"{window.days}-day budget" if window.days else f"budget of the {window.kind}"


def days_more(days: float) -> str:
    """How long a budget lasts."""
    return "under a day" if days < 1 else f"{days:.1f} days"


def _burn(each: Promised) -> Iterator[Trouble]:
    for first in fired(each.promise)[:1]:
        over = f"burn rate of {span_hours(first.hours)} above {first.threshold:g} for "
        worst = f"at most {first.worst or 0:.3g}, until {moment(first.worst_until)}"
        yield Trouble(BURN, "burn", f"{over}{counted(first.hours_over, 'hour')}, {worst}")


def _regression(each: Promised) -> Iterator[Trouble]:
    change = each.promise.change
    if change.verdict == WORSE:
        yield Trouble(REGRESSION, "worse", f"worse than the week before{_by(change)}")


def _by(change: Change) -> str:
    """How much lower a share is than the week before, or longer the values, at equal mix."""
    value = change.value_tells
    if value is not None and value.low is not None and value.high is not None:
        least, most = (f"{(each - 1) * 100:+.0f}" for each in (value.low, value.high))
        return f", {longer(value)} ({least} to {most})"
    if change.matched is None or change.low is None or change.high is None:
        return ""
    by, least, most = (f"{-100 * each:.2f}" for each in (change.matched, change.high, change.low))
    return f" by {by} points ({least} to {most})"
