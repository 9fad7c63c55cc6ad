"""Error budgets: what a target allows to miss, what of it is spent, and how fast.

A budget counts requests, as in the SRE workbook (Google, 2018, chapters 2 and 5): 1 - target of
those of the window, each day's by the target of that day. Burn rates are by the same book's windows
of an hour, six hours and three days.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import Final

import numpy as np

from tokengap.intervals import wilson
from tokengap.slo.model import ROLLING, Goal, Window
from tokengap.utc import hour_start
from tokengap.weekly.calendar import HOURS, Week
from tokengap.weekly.cells import Counts, Numbers
from tokengap.weekly.model import Budget, Burn, Kept
from tokengap.weekly.series import Series

BURN_RULES: Final = ((1, 14.4), (6, 6.0), (72, 1.0))
"""(hours, threshold): 2 % and 5 % of a budget of 30 days gone, and 10 % at an even pace."""
LONGEST_BURN_DAYS: Final = 3


def budget(series: Series, goals: dict[date, Goal], window: Window, week: Week) -> Budget:
    """The budget of the window that holds the week's last day.

    goals: what was in force on each day of it on which the promise held.
    """
    first, after = window.span(week.last)
    days = [first + timedelta(step) for step in range((min(after, week.after) - first).days)]
    counted = [
        (day, goals[day], series.kept(day, day + timedelta(1))) for day in days if day in goals
    ]
    of_week = [each for each in counted if each[0] >= week.first]
    allowed, spent = _allowed(counted), _spent(counted)
    lost = _spent(of_week) - (0 if window.kind == ROLLING else _allowed(of_week))
    return Budget(
        first=first,
        after=after,
        allowed=allowed,
        spent=spent,
        spent_this_week=_spent(of_week),
        days_seen=sum(kept.applies > 0 for *_, kept in counted),
        days=len(days),
        exhausted_in_days=0.0
        if 0 < allowed <= spent
        # a rolling window holds as many days tomorrow; a calendar's grows, and so does its budget
        else float((allowed - spent) * len(of_week) / lost)
        if lost > 0
        else None,
    )


_Days = Sequence[tuple[date, Goal, Kept]]


def _allowed(days: _Days) -> Fraction:
    return sum((Fraction(1 - goal.target) * kept.applies for _, goal, kept in days), Fraction())


def _spent(days: _Days) -> int:
    return sum(kept.bad for *_, kept in days)


def burns(series: Series, week: Week) -> list[Burn]:
    """The rates over each rule's hours, at every full hour of the week."""
    return [_burn(series, week, hours, threshold) for hours, threshold in BURN_RULES]


def _burn(series: Series, week: Week, hours: int, threshold: float) -> Burn:
    start = week.first_hour - series.first
    ends = np.arange(start + 1, start + HOURS + 1)
    bad, allowed, applies = (
        _trailing(values, ends, hours)
        for values in (series.bad, series.budget * series.applies, series.applies)
    )
    counted = allowed > 0
    rate = np.divide(bad, allowed, out=np.zeros(len(ends)), where=counted)
    over = [
        at
        for at in np.flatnonzero(counted & (rate >= threshold))
        if _least_share(bad[at], applies[at]) * applies[at] >= threshold * allowed[at]
    ]
    worst = int(rate.argmax())
    seen = np.flatnonzero(series.applies[start : start + HOURS])
    return Burn(
        hours=hours,
        threshold=threshold,
        worst=float(rate[worst]) if counted.any() else None,
        worst_until=hour_start(series.first + int(ends[worst])) if rate[worst] else None,
        at_end=float(rate[seen[-1]]) if len(seen) and counted[seen[-1]] else None,
        hours_over=len(over),
    )


def _trailing(values: Counts | Numbers, ends: Counts, hours: int) -> Numbers:
    """Sum of the hours before each end, as far as the series goes."""
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    last = len(values)
    trailing: Numbers = sums[np.clip(ends, 0, last)] - sums[np.clip(ends - hours, 0, last)]
    return trailing


def _least_share(bad: float, applies: float) -> float:
    """Low end of the interval of the share that is bad."""
    low, _ = wilson(int(bad), int(applies)) or (0.0, 0.0)
    return low
