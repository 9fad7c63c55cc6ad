"""Budgets and burn rates by the SRE workbook (Google, 2018, chapter 5) and by hand."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.oracle_requests import wilson
from tests.weekly.hourly import MONDAY, WEEK, series
from tokengap.slo.model import Goal, Window
from tokengap.weekly.budget import BURN_RULES, budget, burns
from tokengap.weekly.calendar import HOURS, Week
from tokengap.weekly.model import Burn
from tokengap.weekly.series import Series

DAY = timedelta(1)
FOUR_WEEKS = Window("rolling", 28)
FIRST = MONDAY - 21 * DAY
"""Of the four weeks."""


def goal(target: str = "0.99", start: date = date(2026, 1, 1)) -> Goal:
    return Goal("worst_gap", 400, Decimal(target), start)


def held(first: date, after: date, target: str = "0.99") -> dict[date, Goal]:
    return {first + step * DAY: goal(target) for step in range((after - first).days)}


def daily(first: date, met: Sequence[int], missed: Sequence[int], unknown: int = 0) -> Series:
    """Everything of a day in its hour from noon."""

    def at_noon(days: Sequence[int]) -> list[int]:
        return [count * (hour == 12) for count in days for hour in range(24)]

    return series(at_noon(met), at_noon(missed), at_noon([unknown] * len(met)), first=first)


def test_a_budget_is_what_the_target_lets_miss() -> None:
    """28 days of 1,000 requests at 99 %: 280 may miss. 10 a day did, 20 a day this week."""
    missed = [10] * 21 + [20] * 7
    found = budget(
        daily(FIRST, [1000 - each for each in missed], missed),
        held(FIRST, WEEK.after),
        FOUR_WEEKS,
        WEEK,
    )
    assert (found.first, found.after) == (FIRST, WEEK.after)
    assert found.allowed == 280
    assert (found.spent, found.spent_this_week) == (350, 140)
    assert (found.days, found.days_seen) == (28, 28)
    assert found.spent_share == 0.5
    assert found.left_share == -0.25
    assert found.exhausted_in_days == 0


def test_what_is_not_known_spends() -> None:
    found = budget(daily(FIRST, [90] * 28, [0] * 28, unknown=10), held(FIRST, WEEK.after),
                   FOUR_WEEKS, WEEK)  # fmt: skip
    assert found.allowed == 28
    assert found.spent == 280


def test_a_target_that_changes_counts_from_its_day() -> None:
    """10 days of 1,000 at 99 % allow 100 misses, 4 at 99.9 % another 4, 14 with nothing none."""
    goals = held(FIRST, FIRST + 10 * DAY) | held(FIRST + 10 * DAY, FIRST + 14 * DAY, "0.999")
    found = budget(daily(FIRST, [999] * 28, [1] * 28), goals, FOUR_WEEKS, WEEK)
    assert found.allowed == 104
    assert (found.spent, found.spent_this_week) == (14, 0)
    assert found.days_seen == 14
    assert found.exhausted_in_days is None


def test_the_budget_is_exact() -> None:
    """In doubles, 1 - 0.9 times 10 requests is not 1."""
    found = budget(daily(MONDAY, [9], [1]), held(MONDAY, WEEK.after, "0.9"), FOUR_WEEKS, WEEK)
    assert found.allowed == 1
    assert found.left_share == 0
    assert found.exhausted_in_days == 0
    third = budget(daily(MONDAY, [7], [0]), held(MONDAY, WEEK.after, "0.999"), FOUR_WEEKS, WEEK)
    assert third.allowed == Fraction(7, 1000)


def test_exhaustion_goes_on_as_this_week() -> None:
    """280 may miss, 42 did, 14 of them this week: 238 are left at 2 a day."""
    missed = [1] * 21 + [3] * 7
    of = [1000 - each for each in missed]
    found = budget(daily(FIRST, of, missed), held(FIRST, WEEK.after), FOUR_WEEKS, WEEK)
    assert (found.spent, found.spent_this_week) == (42, 21)
    assert found.exhausted_in_days == pytest.approx((280 - 42) / 3)


def test_a_month_is_counted_from_its_first_day() -> None:
    """Week 49 ends on Sunday 6 December: six days are in the month, its Monday is not.

    600 of 100 a day allow 6, of which 5 were spent: less a day than a day adds to it.
    """
    week = Week(date(2026, 11, 30))
    found = budget(
        daily(week.first, [90] + [99] * 4 + [100, 99], [10] + [1] * 4 + [0, 1]),
        held(week.first, week.after),
        Window("month"),
        week,
    )
    assert (found.first, found.after) == (date(2026, 12, 1), date(2027, 1, 1))
    assert (found.days, found.days_seen) == (6, 6)
    assert found.allowed == 6
    assert (found.spent, found.spent_this_week) == (5, 5)
    assert found.exhausted_in_days is None


def test_a_months_budget_grows_while_it_is_spent() -> None:
    """13 days of 100 allow 13; 1 was spent in the first six, 10 in the seven after.

    Of the 2 that are left, a week takes 10 and adds 7: they last 2 · 7 / 3 days.
    """
    week = Week(date(2026, 12, 7))
    found = budget(
        daily(week.back(1).first, [100] * 6 + [99] + [90] + [100] * 6, [0] * 6 + [1, 10] + [0] * 6),
        held(week.back(1).first, week.after),
        Window("month"),
        week,
    )
    assert found.allowed == 13
    assert found.spent == 11
    assert found.exhausted_in_days == pytest.approx(14 / 3)


def test_a_calendar_week_is_the_week() -> None:
    found = budget(
        daily(MONDAY - 7 * DAY, [0] * 7 + [99] * 7, [100] * 7 + [1] * 7),
        held(MONDAY - 7 * DAY, WEEK.after),
        Window("week"),
        WEEK,
    )
    assert (found.first, found.after, found.days) == (MONDAY, WEEK.after, 7)
    assert found.allowed == 7
    assert found.spent == 7


@pytest.mark.parametrize(
    ("counted", "goals"),
    [
        (series([]), held(FIRST, WEEK.after)),
        (series([0] * HOURS), held(FIRST, WEEK.after)),
        (series([5] * HOURS), {}),
        (series([5] * 24, first=FIRST - DAY), held(FIRST, WEEK.after)),
    ],
)
def test_without_requests_there_is_no_budget(counted: Series, goals: dict[date, Goal]) -> None:
    found = budget(counted, goals, FOUR_WEEKS, WEEK)
    assert found.allowed == 0
    assert (found.spent, found.days_seen) == (0, 0)
    assert (found.spent_share, found.left_share, found.exhausted_in_days) == (None, None, None)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=28, max_size=28),
    st.lists(st.sampled_from(["0.9", "0.99", "0.995", None]), min_size=28, max_size=28),
)
@settings(max_examples=30)
def test_days_add_up(counts: list[tuple[int, int]], targets: list[str | None]) -> None:
    goals = {FIRST + at * DAY: goal(target) for at, target in enumerate(targets) if target}
    met, missed = zip(*counts, strict=True)
    found = budget(daily(FIRST, met, missed), goals, FOUR_WEEKS, WEEK)
    rows = [(at, m, b, t) for at, ((m, b), t) in enumerate(zip(counts, targets, strict=True)) if t]
    assert found.allowed == sum(((m + b) * (1 - Fraction(t)) for _, m, b, t in rows), Fraction())
    assert found.spent == sum(b for _, _, b, _ in rows)
    assert found.spent_this_week == sum(b for at, _, b, _ in rows if at >= 21)


def test_the_rules_are_the_workbooks() -> None:
    """14.4 for 1 h and 6 for 6 h spend 2 % and 5 % of 30 days; 1 for 3 days spends 10 %."""
    assert [hours * rate / (30 * 24) for hours, rate in BURN_RULES] == pytest.approx(
        [0.02, 0.05, 0.1]
    )
    assert [hours for hours, _ in BURN_RULES] == [1, 6, 72]


def only(hours: dict[int, int], size: int = HOURS) -> list[int]:
    return [hours.get(hour, 0) for hour in range(size)]


def by_hours(found: list[Burn]) -> dict[int, Burn]:
    return {burn.hours: burn for burn in found}


def burnt(missed: Sequence[int], of: int, budget_share: float, **more: Any) -> dict[int, Burn]:
    counted = series([of - each for each in missed], missed, budget=budget_share, **more)
    return by_hours(burns(counted, WEEK))


def test_a_rate_is_misses_over_what_the_hours_allow() -> None:
    """99.9 % of 100,000 an hour: 100 may miss. On Tuesday at 02 1,600 did, and nothing else.

    16 over the hour; 16 / 6 over six hours, 16 / 26 over the hours since Monday, later 16 / 72.
    """
    found = burnt(only({26: 1600}), 100_000, 0.001)
    assert found[1].worst == pytest.approx(16)
    assert found[1].worst_until == datetime(2026, 11, 24, 3, tzinfo=UTC)
    assert found[6].worst == pytest.approx(16 / 6)
    assert found[72].worst == pytest.approx(16 / 27)  # the hours from Monday to 03 on Tuesday
    assert found[72].worst_until == datetime(2026, 11, 24, 3, tzinfo=UTC)
    assert [found[hours].at_end for hours in (1, 6, 72)] == [0, 0, 0]
    # Wilson: at least 1,524 of 100,000, over 1,440. 72 hours are not over 1 by 16 / 27.
    assert [found[hours].hours_over for hours in (1, 6, 72)] == [1, 0, 0]


def test_a_rate_just_over_its_threshold_may_be_chance() -> None:
    """1,440 of 100,000 is exactly 14.4; the low end of 1,500 is 1,426, that of 1,520 is 1,446."""
    for missed, over in ((1440, 0), (1500, 0), (1520, 1)):
        low, _ = wilson(missed, 100_000)
        assert ((low or 0) >= 0.0144) == bool(over)
        assert burnt(only({5: missed}), 100_000, 0.001)[1].hours_over == over


def test_one_miss_in_a_quiet_hour_is_a_high_rate_and_nothing_more() -> None:
    """1 of 2 at 99 % is a rate of 50; its share is at least 0.095, a rate of 9.5."""
    found = burnt(only({100: 1}), 2, 0.01)
    assert found[1].worst == pytest.approx(50)
    assert found[1].hours_over == 0
    assert burnt(only({100: 2}), 2, 0.01)[1].hours_over == 1  # at least 0.342


def test_hours_roll_over_the_weeks_start() -> None:
    """All of Sunday's 24 hours miss: Monday's first full hour still looks back on five of them."""
    found = burnt([10] * 24 + [0] * HOURS, 10, 0.1, first=MONDAY - DAY)
    assert found[1].worst == 0
    assert found[1].worst_until is None
    assert found[6].worst == pytest.approx(5 / 6 * 10)
    assert found[6].worst_until == datetime(2026, 11, 23, 1, tzinfo=UTC)
    assert found[72].worst == pytest.approx(24 / 25 * 10)
    # At 63 hours, 9 of Sunday's are left: 90 of 720, which is over 10 %; 80 may be by chance.
    assert [(wilson(bad, 720)[0] or 0) >= 0.1 for bad in (90, 80)] == [True, False]
    assert found[72].hours_over == 63


def test_the_end_is_that_of_the_last_hour_with_data() -> None:
    """The log ends on Wednesday at 10, in an hour that missed 2 of 10."""
    missed = only({57: 2}, size=58)
    found = burnt(missed, 10, 0.1)
    assert [found[hours].at_end for hours in (1, 6, 72)] == pytest.approx([2, 2 / 6, 2 / 58])
    silent = series([8] * 1 + [0] * 30, [2] * 1 + [0] * 30, budget=0.1)
    assert by_hours(burns(silent, WEEK))[1].at_end == pytest.approx(2)


def test_hours_without_a_promise_count_for_nothing() -> None:
    """A promise from Thursday on: 1 of 100 at 99 %, in each of 96 hours that count."""
    shares = [0.0 if hour < 72 else 0.01 for hour in range(HOURS)]
    found = by_hours(burns(series([99] * HOURS, 1, budget=shares), WEEK))
    assert found[1].worst == pytest.approx(1)
    assert found[72].at_end == pytest.approx(1)


@pytest.mark.parametrize(
    "counted",
    [
        series([]),
        series([0]),
        series([0] * HOURS),
        series([9] * HOURS, 1, budget=0.0),
        series([9] * 24, first=MONDAY - 9 * DAY),
    ],
)
def test_nothing_burns_without_a_request(counted: Series) -> None:
    for burn in burns(counted, WEEK):
        assert (burn.worst, burn.worst_until, burn.at_end, burn.hours_over) == (None, None, None, 0)


def test_one_hour_is_enough() -> None:
    found = by_hours(burns(series([50], [50], budget=0.01), WEEK))
    assert [found[hours].worst for hours in (1, 6, 72)] == pytest.approx([50] * 3)
    assert [found[hours].hours_over for hours in (1, 6, 72)] == [1, 6, 72]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), min_size=240, max_size=240))
@settings(max_examples=15)
def test_every_rate_is_that_of_its_hours(counts: list[tuple[int, int]]) -> None:
    """Three days before the week as well; by adding up each span anew."""
    met, missed = zip(*counts, strict=True)
    counted = series(met, missed, budget=0.05, first=MONDAY - 3 * DAY)
    for burn in burns(counted, WEEK):
        spans = [slice(end - burn.hours, end) for end in range(73, 241)]
        sums = [(sum(missed[span]), sum(met[span]) + sum(missed[span])) for span in spans]
        rates = [bad / (0.05 * of) for bad, of in sums if of]
        over = sum((wilson(bad, of)[0] or 0) >= 0.05 * burn.threshold for bad, of in sums if of)
        assert burn.worst == (pytest.approx(max(rates)) if rates else None)
        assert burn.hours_over == over
