"""Error budgets: what a target allows to miss, what of it is spent, and how fast.

A budget counts requests, as in the SRE workbook (Google, 2018, chapters 2 and 5): 1 - target of
those of the window, each day's by the target of that day. Burn rates are by the same book's windows
of an hour, six hours and three days.
"""

from datetime import date, timedelta
from fractions import Fraction
from typing import Final

import numpy as np

from tokengap.intervals import normal_quantile
from tokengap.slo.model import Goal, Window
from tokengap.weekly.calendar import HOUR_NS, HOURS, Week, day_start_ns, hour_start
from tokengap.weekly.cells import Counts, Numbers
from tokengap.weekly.model import Budget, Burn
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
    counted = [(day, series.kept(day, day + timedelta(1))) for day in days if day in goals]
    allowed = sum(
        (Fraction(1 - goals[day].target) * kept.applies for day, kept in counted), Fraction()
    )
    spent = sum(kept.bad for _, kept in counted)
    this_week = sum(kept.bad for day, kept in counted if day >= week.first)
    return Budget(
        first=first,
        after=after,
        allowed=allowed,
        spent=spent,
        spent_this_week=this_week,
        days_seen=sum(kept.applies > 0 for _, kept in counted),
        days=len(days),
        exhausted_in_days=_exhausted(
            allowed, spent, this_week, sum(day >= week.first for day, _ in counted)
        ),
    )


def _exhausted(allowed: Fraction, spent: int, this_week: int, days: int) -> float | None:
    """Days until it is gone if every day misses as many requests as the week's days that count."""
    if allowed and spent >= allowed:
        return 0.0
    return float((allowed - spent) * days / this_week) if this_week else None


def burns(series: Series, week: Week) -> list[Burn]:
    """The rates over each rule's hours, at every full hour of the week."""
    return [_burn(series, week, hours, threshold) for hours, threshold in BURN_RULES]


def _burn(series: Series, week: Week, hours: int, threshold: float) -> Burn:
    start = day_start_ns(week.first) // HOUR_NS - series.first
    ends = np.arange(start + 1, start + HOURS + 1)
    bad, allowed, applies = (
        _trailing(values, ends, hours)
        for values in (series.bad, series.budget * series.applies, series.applies)
    )
    counted = allowed > 0
    rate = np.divide(bad, allowed, out=np.zeros(len(ends)), where=counted)
    over = counted & (_least(bad, applies) * applies >= threshold * allowed)
    worst = int(rate.argmax())
    seen = np.flatnonzero(series.applies[start : start + HOURS])
    return Burn(
        hours=hours,
        threshold=threshold,
        worst=float(rate[worst]) if counted.any() else None,
        worst_until=hour_start(series.first + int(ends[worst])) if rate[worst] else None,
        at_end=float(rate[seen[-1]]) if len(seen) and counted[seen[-1]] else None,
        hours_over=int(over.sum()),
    )


def _trailing(values: Counts | Numbers, ends: Counts, hours: int) -> Numbers:
    """Sum of the hours before each end, as far as the series goes."""
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    last = len(values)
    trailing: Numbers = sums[np.clip(ends, 0, last)] - sums[np.clip(ends - hours, 0, last)]
    return trailing


def _least(bad: Numbers, applies: Numbers) -> Numbers:
    """Low end of the share's interval (Wilson), as in `intervals`."""
    z2 = normal_quantile() ** 2
    of = np.maximum(applies, 1)
    half = np.sqrt(z2 * (bad * (of - bad) / of + z2 / 4))
    low: Numbers = np.maximum((bad + z2 / 2 - half) / (of + z2), 0)
    return low
