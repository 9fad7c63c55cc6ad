"""Names, shares and times of a week, for all its forms."""

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final

from tokengap.report.words import NAMES, plain, shortened
from tokengap.slo.model import GOOD, Goal, Service, Window
from tokengap.units import format_count, format_duration
from tokengap.weekly.model import (
    BETTER,
    CANNOT_TELL,
    NOT_COMPARABLE,
    WORSE,
    Budget,
    Burn,
    Change,
    Kept,
    Promise,
    ValueChange,
)

VERDICTS: Final = {
    BETTER: "better",
    WORSE: "worse",
    CANNOT_TELL: "cannot tell",
    NOT_COMPARABLE: "not comparable",
}
KEPT: Final = {True: "● kept", False: "◆ missed", None: "○ no requests"}
_MOST_DIGITS: Final = 8
_ONCE: Final = 1.05
_FEW: Final = 9.95
_SHOWN_AT_ONCE: Final = 3


def log_text(text: str | None) -> str:
    """Text of a log, short, and without what a terminal or a browser would obey."""
    return "not logged" if text is None else shortened(plain(text))


def promise_name(service: Service, goal: Goal, *, limit: bool = True) -> str:
    """A promise with its limit, and to whom it is made if not to all."""
    only = (f" for {column.removeprefix('slo_')} {plain(g)}" for column, g in goal.only.items())
    within = f" ≤ {format_duration(goal.limit_ns)}" if limit and goal.limit_ns else ""
    return f"{statistic_name(service, goal.statistic)}{within}{''.join(only)}"


def statistic_name(service: Service, statistic: str) -> str:
    """What a promise is about; a handoff never stands without its boundary."""
    if statistic == GOOD:
        return "all limits"
    boundary = f" ({plain(service.handoff)})" if statistic == "handoff_gap" else ""
    return NAMES[statistic] + boundary


def kept_share(kept: Kept, target: Decimal) -> str:
    """The share that was kept, to one digit more than the target has.

    More where fewer would put it on the wrong side of the target, or make it all or none.
    """
    if not kept.applies:
        return "-"
    share = Fraction(kept.met, kept.applies)
    if share in (0, 1):
        return f"{int(share * 100)} %"
    marks = (Fraction(0), Fraction(target), Fraction(1))
    for digits in range(_digits(target), _MOST_DIGITS):
        shown = Fraction(round(share * 100, digits)) / 100
        if all((shown > m, shown == m) == (share > m, share == m) for m in marks):
            break
    return f"{float(share * 100):.{digits}f} %"


def _digits(target: Decimal) -> int:
    exponent = (target * 100).normalize().as_tuple().exponent
    return 1 + max(0, -int(exponent))


def span_share(low: float | None, high: float | None, target: Decimal) -> str:
    """An interval of shares, to the digits of its middle."""
    if low is None or high is None:
        return "-"
    digits = _digits(target)
    return f"{low * 100:.{digits}f} to {high * 100:.{digits}f} %"


def points(difference: float | None) -> str:
    """A difference of shares in percentage points."""
    return "-" if difference is None else f"{difference * 100:+.2f}"


def points_span(low: float | None, high: float | None) -> str:
    """An interval of such differences."""
    return "-" if low is None or high is None else f"{points(low)} to {points(high)}"


def budget_left(budget: Budget) -> str:
    """What is left of a budget, or how often it was spent."""
    left = budget.left_share
    if left is None:
        return "-"
    return f"{left * 100:.0f} %" if left > 0 else spent_words(1 - left)


def spent_words(spent_share: float) -> str:
    """A budget that is gone: spent, spent 1.8 times, spent 22 times."""
    if spent_share < _ONCE:
        return "spent"
    digits = 1 if spent_share < _FEW else 0
    return f"spent {spent_share:.{digits}f} times"


def window_name(window: Window) -> str:
    """Over what a budget counts: 28 days, month."""
    return f"{window.days} days" if window.days else window.kind


def fired(promise: Promise) -> list[Burn]:
    """The burn rules that were over their threshold for an hour or more."""
    return [burn for burn in promise.burn if burn.hours_over]


def burn_words(promise: Promise) -> str:
    """For how many hours a rule was over its threshold; calm if for none."""
    if over := fired(promise):
        return f"over {format_count(max(burn.hours_over for burn in over))} h"
    return "calm" if any(burn.worst is not None for burn in promise.burn) else "-"


def span_hours(hours: int) -> str:
    """Hours as people say them: 6 h, 3 days."""
    return f"{hours // 24} days" if hours % 24 == 0 and hours > 24 else f"{hours} h"  # noqa: PLR2004


def change_words(change: Change) -> str:
    """The verdict, and what it rests on: points of the kept share at equal mix, or the values."""
    said = VERDICTS[change.verdict]
    if change.value_tells is not None:
        return f"{said}, {longer(change.value_tells)}"
    tells = change.verdict in (BETTER, WORSE)
    return f"{said}, {points(change.matched)}" if tells else said


def longer(value: ValueChange) -> str:
    """By how much values are longer at equal mix, or shorter: values +12 %."""
    return "values" if value.matched is None else f"values {(value.matched - 1) * 100:+.0f} %"


def moment(instant: datetime | None) -> str:
    """A time of the week: Tue 24 Nov 14:00."""
    return "-" if instant is None else f"{instant:%a} {instant.day} {instant:%b %H:%M}"


def day_name(day: date) -> str:
    """A day: Tue 24 Nov."""
    return f"{day:%a} {day.day} {day:%b}"


def listed(names: Iterable[str], between: str = ", ") -> str:
    """Some names, and how many more there are."""
    told = list(names)
    shown, more = told[:_SHOWN_AT_ONCE], len(told) - _SHOWN_AT_ONCE
    if more > 0:
        return f"{between.join(shown)} and {more} more"
    return " and ".join(filter(None, [between.join(shown[:-1]), *shown[-1:]]))
