"""A week with one promise of each kind, made by hand, and builders for what tests vary."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from tokengap.slo.model import GOOD, Goal, Service
from tokengap.weekly.calendar import Week
from tokengap.weekly.model import (
    BETTER,
    CANNOT_TELL,
    NOT_COMPARABLE,
    WORSE,
    Budget,
    Burn,
    Change,
    Coverage,
    HiddenStalls,
    Kept,
    Promise,
    ServiceWeek,
    Trend,
    Weekly,
)

WEEK: Final = Week(date(2026, 11, 23))
START: Final = date(2026, 1, 1)
HOLE: Final = (datetime(2026, 11, 24, 3, tzinfo=UTC), datetime(2026, 11, 24, 15, tzinfo=UTC))


def kept(met: int, missed: int = 0, unknown: int = 0) -> Kept:
    """Counts; its interval is a token one."""
    applies = met + missed + unknown
    bounds = (met / applies / 2, 1.0) if applies else (None, None)
    return Kept(met, missed, unknown, *bounds)


def budget(allowed: Fraction | int, spent: int, this_week: int = 0) -> Budget:
    """Of a window of 28 days that ends with the week."""
    first, after = date(2026, 11, 2), date(2026, 11, 30)
    return Budget(first, after, Fraction(allowed), spent, this_week, 28, 28, None)


def burn(hours: int, threshold: float, worst: float | None, hours_over: int = 0) -> Burn:
    """A rule whose last rate is half of its worst."""
    half = None if worst is None else worst / 2
    return Burn(hours, threshold, worst, HOLE[0], half, hours_over)


def promise(
    statistic: str = "worst_gap",
    limit_ns: int | None = 400_000_000,
    target: str = "0.99",
    only: Mapping[str, str] | None = None,
    **more: Any,
) -> Promise:
    """Kept by 995 of 1,000, half of its budget left, nothing burnt, no telling whether changed."""
    goal = Goal(statistic, limit_ns, Decimal(target), START, only=only or {})
    usual: dict[str, Any] = {
        "kept": kept(995, 5),
        "budget": budget(40, 20, 5),
        "burn": [burn(1, 14.4, 2.5), burn(6, 6, 1.25), burn(72, 1, 0.5)],
        "change": Change(CANNOT_TELL, "no more than chance at equal mix"),
    }
    return Promise(goal, None, history=[], **(usual | more))


def service(name: str = "chat", promises: Sequence[Promise] = (), **more: Any) -> ServiceWeek:
    """A service of 1,000 requests, of which 950 were good, in all hours of the week."""
    goals = tuple(each.goal for each in promises)
    week = ServiceWeek(
        service=Service(name, goals),
        vantage="client",
        origins=["sent"],
        offered=1000,
        not_offered=7,
        coverage=Coverage(168, 168, []),
        promises=promises,
        whole=kept(950, 40, 10),
        stalls=HiddenStalls(12, 1, 980, 10, 970),
        contributors=[],
        worst=[],
        trend=[Trend(WEEK, 1000, 950, 168, 16.0, 1900.0, "EUR", None)],
        headroom=None,
        excluded=[],
        late=[],
        daily=[],
        notes=[],
    )
    return replace(week, **more)


def weekly(*services: ServiceWeek) -> Weekly:
    """The report of these services."""
    return Weekly(WEEK, 41, ended=True, services=services, unmatched=0, comparisons=4)


def example() -> Weekly:
    """`chat` breaks each condition once, `batch` keeps all and has one that cannot be judged."""
    worse = Change(WORSE, "kept by 2 points less at equal mix", -0.01, -0.02, -0.029, -0.011)
    better = Change(BETTER, "kept by 1 point more at equal mix", 0.01)
    other = Change(NOT_COMPARABLE, "until 2026-11-22, times were stamped at the gateway")
    chat = [
        promise(kept=kept(980, 15, 5), change=worse),
        promise("ttft", 10**9, burn=[burn(1, 14.4, 20.0, 3)], change=better),
        promise(GOOD, None, "0.95", kept=kept(950, 40, 10), budget=budget(Fraction(399, 2), 200)),
        promise("worst_gap", 250_000_000, "0.9", {"tenant": 'a"\\<b>\n*'}, kept=kept(9)),
    ]
    batch = [promise("e2e", 600 * 10**9, change=other)]
    return weekly(
        service("chat", chat, coverage=Coverage(168, 140, [HOLE])),
        service("batch", batch, stalls=None, trend=[]),
    )
