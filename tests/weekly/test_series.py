from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.queries.oracle_requests import wilson
from tests.weekly.hourly import MONDAY, WEEK, series
from tokengap.weekly.model import Kept
from tokengap.weekly.series import Series

DAY = timedelta(1)


def test_a_span_adds_up_its_hours() -> None:
    found = series([1] * 24 + [2] * 24 + [4] * 24, missed=[0] * 47 + [3] + [0] * 24, unknown=1)
    kept = found.kept(MONDAY, MONDAY + 2 * DAY)
    assert (kept.met, kept.missed, kept.unknown) == (24 + 48, 3, 48)
    assert (kept.applies, kept.bad) == (123, 51)
    assert kept.attainment == 72 / 123
    assert (kept.low, kept.high) == pytest.approx(wilson(72, 123))
    last = found.kept(MONDAY + 2 * DAY, MONDAY + 3 * DAY)
    assert (last.met, last.applies) == (96, 120)


def test_the_interval_of_hours_by_hand() -> None:
    """9 of 10 and 6 of 10, so 0.75 in all: residuals 1.5 and -1.5 of expected 7.5.

    √((1.5² + 1.5²) · 2 / (2 - 1)) / 20 = 0.15; 0.75 ± 1.96 · 0.15.
    """
    kept = series([9, 6], missed=[1, 4]).kept(MONDAY, MONDAY + DAY)
    assert kept.block_low == pytest.approx(0.75 - 1.959964 * 0.15)
    assert kept.block_high == 1.0  # 1.044
    few = series([1, 0], missed=[9, 10]).kept(MONDAY, MONDAY + DAY)
    assert few.block_low == 0.0


@pytest.mark.parametrize("met", [[5], [0, 0, 5, 0], [5, 0]])
def test_one_hour_has_no_spread(met: list[int]) -> None:
    kept = series(met).kept(MONDAY, MONDAY + DAY)
    assert (kept.block_low, kept.block_high) == (None, None)
    assert kept.low == pytest.approx(wilson(5, 5)[0])


@pytest.mark.parametrize("found", [series([]), series([0] * 200), series([3])])
def test_nothing_is_not_measurable(found: Series) -> None:
    nothing = Kept(0, 0, 0, None, None)
    assert found.kept(MONDAY + 3 * DAY, MONDAY + 4 * DAY) == nothing
    assert nothing.attainment is None


def test_days_before_and_after_the_series_have_nothing() -> None:
    found = series([1] * 48)
    assert found.kept(MONDAY - 9 * DAY, MONDAY - 8 * DAY).applies == 0
    assert found.kept(MONDAY - 9 * DAY, MONDAY + DAY).applies == 24
    assert found.kept(MONDAY + DAY, MONDAY + 900 * DAY).applies == 24
    assert found.kept(MONDAY, MONDAY).applies == 0


def test_days_without_requests_are_left_out() -> None:
    found = series([1] * 24 + [0] * 48 + [2] * 24)
    assert [(day, kept.met) for day, kept in found.days(WEEK)] == [
        (MONDAY, 24), (MONDAY + 3 * DAY, 48),
    ]  # fmt: skip
    assert list(found.days(WEEK.back(1))) == []


COUNTS: Any = st.lists(st.integers(0, 9), min_size=72, max_size=72)


@given(COUNTS, COUNTS, COUNTS)
def test_days_add_up(met: list[int], missed: list[int], unknown: list[int]) -> None:
    found = series(met, missed, unknown)
    assert found.applies.tolist() == [sum(hour) for hour in zip(met, missed, unknown, strict=True)]
    assert (found.bad + found.met == found.applies).all()
    days = [found.kept(MONDAY + at * DAY, MONDAY + (at + 1) * DAY) for at in range(3)]
    whole = found.kept(MONDAY, date(2100, 1, 1))
    assert whole.met == sum(day.met for day in days) == sum(met)
    assert whole.bad == sum(day.bad for day in days)
    if whole.block_low is not None and whole.block_high is not None:
        assert whole.block_low - 1e-12 <= (whole.attainment or 0) <= whole.block_high + 1e-12


def test_requests_of_one_hour_that_fail_together_are_no_independent_trials() -> None:
    """Half of the requests miss, all in the same hours: the interval is wider than Wilson's."""
    at_once = series([20, 0] * 12, missed=[0, 20] * 12).kept(MONDAY, MONDAY + DAY)
    apart = series([10, 10] * 12, missed=[10, 10] * 12).kept(MONDAY, MONDAY + DAY)
    assert (at_once.low, at_once.high) == (apart.low, apart.high)
    assert np.array([apart.block_low, apart.block_high]) == pytest.approx(0.5)
    assert at_once.block_low is not None
    assert at_once.block_low < (at_once.low or 0)
