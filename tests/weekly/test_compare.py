"""Better, worse or cannot tell: by hand, and by what holds of any cells."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weekly.cells import cells, some_cells, spread_over
from tokengap.intervals import t_quantile
from tokengap.weekly.cells import Cells
from tokengap.weekly.compare import (
    NO_SPREAD,
    Spread,
    compare,
    kept_difference,
    least_change,
    value_difference,
)
from tokengap.weekly.compare import tests_of as comparisons_of
from tokengap.weekly.model import BETTER, CANNOT_TELL, WORSE, Change

LEAST = 0.001
"""Of a target of 99 %."""


def periods(then: list[dict[str, Any]], now: list[dict[str, Any]]) -> Cells:
    return cells(*({**row, "now": False} for row in then), *({**row, "now": True} for row in now))


def steady(then: int, now: int, of: int = 10, hours: int = 168) -> Cells:
    """As many met of as many requests in every hour of either week."""
    return periods(
        spread_over(range(hours), applies=of, met=then),
        spread_over(range(hours), applies=of, met=now),
    )


def half_of(change: Change) -> float:
    assert change.low is not None
    assert change.high is not None
    assert change.matched is not None
    assert change.high - change.matched == pytest.approx(change.matched - change.low)
    return (change.high - change.low) / 2


def test_the_least_change_is_a_tenth_of_what_may_miss() -> None:
    assert least_change(Decimal("0.99")) == pytest.approx(0.001)
    assert least_change(Decimal("0.9")) == pytest.approx(0.01)


def test_values_are_a_comparison_of_their_own() -> None:
    assert comparisons_of(cells({"valued": 0}, {"valued": 0})) == 1
    assert comparisons_of(cells({"valued": 0}, {"valued": 1})) == 2
    assert comparisons_of(cells()) == 1


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"done": 80, "kept": 72, "undone_kept": 2}, 0.74 - 0.82),  # more fail
        ({"done": 90, "kept": 72, "undone_kept": 1}, 0.73 - 0.82),  # answers miss
        ({"done": 90, "kept": 81, "undone_kept": 5}, 0.86 - 0.82),  # failures keep it
    ],
)
def test_what_did_not_finish_counts_without_a_length(now: dict[str, int], expected: float) -> None:
    """A = f F + (1 - f) U: 0.9 · 0.9 + 0.1 · 0.1 = 0.82 before, and one of the three moves.

    0.8 · 0.9 + 0.2 · 0.1 = 0.74; 0.9 · 0.8 + 0.1 · 0.1 = 0.73; 0.9 · 0.9 + 0.1 · 0.5 = 0.86.
    Answers that finished are of two lengths, those that did not of none.
    """

    def week(done: int, kept: int, undone_kept: int) -> list[dict[str, Any]]:
        halves = [{"output": bin_, "applies": done / 2, "met": kept / 2} for bin_ in (5, 9)]
        undone = {"output": -2, "finished": False, "applies": 100 - done, "met": undone_kept}
        return [*halves, undone]

    found = kept_difference(periods(week(90, 81, 1), week(**now)))
    assert found is not None
    assert found.difference == pytest.approx(expected, abs=1e-12)


def test_growing_failures_are_a_regression() -> None:
    """1 % of the requests fail before, 4 % now; the answers that finish are as good as ever."""

    def week(failed: int) -> list[dict[str, Any]]:
        return [
            *spread_over(range(168), output=5, applies=100 - failed, met=100 - failed),
            *spread_over(range(168), output=-2, finished=False, applies=failed, met=0),
        ]

    change = compare(periods(week(1), week(4)), LEAST)
    assert change.verdict == WORSE
    assert change.raw == pytest.approx(-0.03)
    assert change.matched == pytest.approx(-0.03)


def test_an_interval_by_hand() -> None:
    """10 of 10 and 9 of 10 in turns: the mean is 0.95, each hour pushes ±1 / 1680.

    Six hours cancel out, so short blocks it is: 168 of them, 3,360 requests.
    """
    change = compare(
        periods(
            [{"block": hour, "applies": 10, "met": 10 - hour % 2} for hour in range(168)],
            [{"block": hour, "applies": 10, "met": 9 + hour % 2} for hour in range(168)],
        ),
        LEAST,
    )
    variance = 168 * 1680**-2 * (3360 / 3359) * (168 / 167)
    assert change.raw == change.matched == pytest.approx(0, abs=1e-12)
    assert half_of(change) == pytest.approx(t_quantile(167) * math.sqrt(variance), rel=1e-9)
    assert (change.verdict, change.requests_before, change.requests) == (CANNOT_TELL, 1680, 1680)
    assert change.matched_share == 1


def in_stretches(hours: int = 168) -> Cells:
    """As above, but in turns of six hours: each long block pushes ±6 / 1680."""
    then = [{"block": hour, "applies": 10, "met": 10 - hour // 6 % 2} for hour in range(hours)]
    now = [{"block": hour, "applies": 10, "met": 9 + hour // 6 % 2} for hour in range(hours)]
    return periods(then, now)


STRETCHES_VARIANCE = 28 * (6 / 1680) ** 2 * (3360 / 3359) * (28 / 27)


def test_hours_that_hang_together_are_few_events() -> None:
    """28 blocks, not 168."""
    change = compare(in_stretches(), LEAST)
    assert change.matched == pytest.approx(0, abs=1e-12)
    assert half_of(change) == pytest.approx(
        t_quantile(27) * math.sqrt(STRETCHES_VARIANCE), rel=1e-9
    )


@pytest.mark.parametrize("hours", [6, 24, 168])
def test_a_difference_that_is_the_same_in_every_hour_is_no_noise(hours: int) -> None:
    for then, now, verdict in ((10, 9, WORSE), (9, 10, BETTER), (10, 0, WORSE)):
        change = compare(steady(then, now, hours=hours), LEAST)
        assert change.verdict == verdict
        assert change.matched == pytest.approx((now - then) / 10)
        assert half_of(change) == pytest.approx(0, abs=1e-12)


def test_a_change_that_does_not_matter_is_none() -> None:
    """1 of 10,000 less, in every hour: beyond chance, but a tenth of a tenth of what may miss."""
    found = steady(9_900, 9_899, of=10_000)
    change = compare(found, LEAST)
    assert change.verdict == CANNOT_TELL
    assert change.high is not None
    assert change.high < 0
    assert compare(found, 0.000_1 * 0.99).verdict == WORSE


def test_more_comparisons_ask_for_more() -> None:
    """25 at once: each interval is the one of 1 - 0.05 / 25 = 99.8 %.

    10 of 10 before; now 9 and 7 in turns, which push ±1 / 60 beyond their part of the difference
    of 0.2: a standard error of 0.1 / √5, less than 1 % more. t of 5 degrees is 2.571 and 5.893.
    """
    now = [{"block": hour, "applies": 10, "met": 9 - 2 * (hour % 2)} for hour in range(6)]
    found = periods(spread_over(range(6), applies=10, met=10), now)
    one, many = (compare(found, LEAST, comparisons=count) for count in (1, 25))
    assert half_of(one) == pytest.approx(2.571 * 0.1 / 5**0.5, rel=0.01)
    assert half_of(many) == pytest.approx(5.893 * 0.1 / 5**0.5, rel=0.01)
    assert (one.raw, one.matched) == (many.raw, many.matched)
    assert (one.verdict, many.verdict) == (WORSE, CANNOT_TELL)


def valued(factor: float, kept_now: int = 10, **both: Any) -> Cells:
    """Values of 2^20 ns and of twice that, by length, and later so many times as much."""

    def week(times: float, met: int) -> list[dict[str, Any]]:
        return [
            {"block": hour, "output": output, "applies": 10, "met": met, "valued": 10,
             "log_sum": 10 * math.log(2**20 * times * (1 + output / 5)), **both}
            for hour in range(168) for output in (0, 5)
        ]  # fmt: skip

    return periods(week(1, 10), week(factor, kept_now))


@pytest.mark.parametrize(
    ("factor", "verdict", "said"),
    [
        (1.1, WORSE, "values 10.0"),
        (1.06, WORSE, "values 6.0"),
        (1.04, CANNOT_TELL, "too little to matter"),
        (1.0, CANNOT_TELL, "too little to matter"),
        (1 / 1.04, CANNOT_TELL, "too little to matter"),
        (0.9, BETTER, "values 10.0"),
    ],
)
def test_values_tell_before_many_are_over_the_limit(factor: float, verdict: str, said: str) -> None:
    change = compare(valued(factor), LEAST)
    assert change.verdict == verdict
    assert said in change.says
    assert change.value is not None
    assert change.value.raw == pytest.approx(factor)
    assert change.value.matched == pytest.approx(factor)
    assert change.matched == 0


def test_the_interval_of_a_ratio_by_hand() -> None:
    """e^(0.1 ± 0.05) times as long in turns: each hour pushes ±0.05 / 168 beyond its part."""
    hours = range(168)
    then = spread_over(hours, applies=10, met=10, valued=10, log_sum=140.0)
    now = [
        row | {"log_sum": 10 * (14.0 + 0.1 + 0.05 * (-1) ** hour)}
        for hour, row in zip(hours, then, strict=True)
    ]
    change = compare(periods(then, now), LEAST)
    half = t_quantile(167) * 0.05 * math.sqrt(168 / 168**2 * (168 / 167) * (3360 / 3359))
    assert change.value is not None
    assert change.value.matched == pytest.approx(math.exp(0.1))
    assert change.value.low == pytest.approx(math.exp(0.1 - half), rel=1e-9)
    assert change.value.high == pytest.approx(math.exp(0.1 + half), rel=1e-9)


def test_the_share_kept_goes_before_values() -> None:
    assert compare(valued(0.5, kept_now=9), LEAST).verdict == WORSE


def test_of_longer_answers_values_are_no_longer_at_equal_mix() -> None:
    """Answers of 2^20 and 2^21 ns: half and half before, and 1 to 3 now."""

    def week(short: int) -> list[dict[str, Any]]:
        return [
            {"block": hour, "output": output, "applies": count, "met": count, "valued": count,
             "log_sum": count * math.log(2**20 * (1 + output))}
            for hour in range(168) for output, count in ((0, short), (1, 20 - short))
        ]  # fmt: skip

    change = compare(periods(week(10), week(5)), LEAST)
    assert change.verdict == CANNOT_TELL
    assert change.value is not None
    assert change.value.raw == pytest.approx(2**0.25)  # a quarter of them twice as long
    assert change.value.matched == pytest.approx(1)


def test_a_shift_of_the_mix_is_no_regression_and_is_said() -> None:
    """Long prompts keep it in 5 of 10; they are half of the requests now, and were a tenth."""

    def week(long: int) -> list[dict[str, Any]]:
        return [
            {"block": hour, "prompt": bin_, "applies": count, "met": count * share}
            for hour in range(168) for bin_, count, share in ((8, 20 - long, 1.0), (40, long, 0.5))
        ]  # fmt: skip

    change = compare(periods(week(2), week(10)), LEAST)
    assert change.verdict == CANNOT_TELL
    assert change.raw == pytest.approx(-0.2)  # from 1 - 0.1 / 2 to 1 - 0.5 / 2
    assert change.matched == pytest.approx(0, abs=1e-12)
    assert change.says.startswith("the mix of lengths moved it by -20")
    assert change.says.endswith("at equal mix no more than chance, or too little to matter")


def test_too_few_requests_cannot_tell() -> None:
    change = compare(periods([{"applies": 49}], [{"applies": 900}]), LEAST)
    assert change == Change(
        CANNOT_TELL,
        "49 requests in one of the weeks, 50 are needed",
        requests_before=49,
        requests=900,
    )
    assert compare(cells(), LEAST).verdict == CANNOT_TELL


@pytest.mark.parametrize("hours", [1, 5])
def test_too_few_hours_cannot_tell(hours: int) -> None:
    change = compare(steady(100, 50, of=100, hours=hours), LEAST)
    assert change.verdict == CANNOT_TELL
    assert "hours with data are too few" in change.says
    assert (change.raw, change.matched) == (-0.5, None)
    assert compare(steady(100, 50, of=100, hours=6), LEAST).verdict == WORSE


@pytest.mark.parametrize(("shared", "verdict"), [(49, CANNOT_TELL), (50, WORSE)])
def test_too_little_in_common_cannot_tell(shared: int, verdict: str) -> None:
    def week(bin_: int, met: int) -> list[dict[str, Any]]:
        return [
            {"block": hour, "prompt": prompt, "applies": count, "met": met * count}
            for hour in range(168) for prompt, count in ((1, shared), (bin_, 100 - shared))
        ]  # fmt: skip

    assert compare(periods(week(2, 1), week(3, 0)), LEAST).verdict == verdict


def test_nothing_finished_cannot_tell() -> None:
    found = steady(10, 0)
    unfinished = Cells(**{**vars(found), "finished": np.zeros(len(found.now), dtype=bool)})
    assert compare(unfinished, LEAST).verdict == CANNOT_TELL
    assert kept_difference(unfinished) is None


def test_few_values_are_not_compared() -> None:
    few = {"block": 0, "applies": 400, "met": 400, "valued": 49, "log_sum": 49 * 14.0}
    assert compare(periods([few], [few]), LEAST).value is None
    apart = compare(
        periods(
            [{**few, "valued": 400}],
            [{**few, "valued": 0}, {**few, "prompt": 9, "valued": 400, "log_sum": 400 * 14.0}],
        ),
        LEAST,
    )
    assert apart.value is not None
    assert (apart.value.matched, apart.value.low, apart.value.high) == (None, None, None)


def test_what_runs_differ_by_anyway_widens_the_interval() -> None:
    """No push at all: the standard error is that of the runs, 0.02, of 4 degrees of freedom."""
    change = compare(steady(9, 9), LEAST, spread=Spread(kept=0.02**2, freedom=4))
    assert half_of(change) == pytest.approx(2.776 * 0.02, rel=1e-3)
    assert half_of(compare(steady(9, 9), LEAST, spread=NO_SPREAD)) == 0


def test_the_freedom_of_two_spreads_is_satterthwaites() -> None:
    """V² / (V1² / 27 + V2² / 2), where V1 is that of 28 stretches and V2 of three runs."""
    change = compare(in_stretches(), LEAST, spread=Spread(kept=0.01**2, freedom=2))
    own = STRETCHES_VARIANCE
    whole = own + 0.01**2
    freedom = whole**2 / (own**2 / 27 + 0.01**4 / 2)
    assert half_of(change) == pytest.approx(t_quantile(freedom) * math.sqrt(whole), rel=1e-9)


def _turned(found: Cells) -> Cells:
    return Cells(**{**vars(found), "now": ~found.now})


OPPOSITE = {BETTER: WORSE, WORSE: BETTER, CANNOT_TELL: CANNOT_TELL}


@given(some_cells(most=40), st.integers(1, 30))
@settings(max_examples=40)
def test_the_other_way_round_is_the_opposite(rows: list[dict[str, Any]], comparisons: int) -> None:
    found = cells(*rows)
    one, other = (compare(each, LEAST, comparisons) for each in (found, _turned(found)))
    assert other.verdict == OPPOSITE[one.verdict]
    assert (one.requests, one.requests_before) == (other.requests_before, other.requests)
    if one.matched is not None and one.low is not None:
        assert other.matched == pytest.approx(-one.matched, abs=1e-9)
        assert other.high == pytest.approx(-one.low, abs=1e-9)
        assert one.low <= one.matched
    assert (one.matched is None) == (other.matched is None)
    if one.value and one.value.matched and other.value:
        assert other.value.matched == pytest.approx(1 / one.value.matched)


@given(some_cells(most=40))
@settings(max_examples=30)
def test_a_week_beside_itself_is_no_change(rows: list[dict[str, Any]]) -> None:
    found = periods(rows, rows)
    change = compare(found, LEAST)
    assert change.verdict == CANNOT_TELL
    for matched in (kept_difference(found), value_difference(found)):
        assert matched is None or matched.difference == pytest.approx(0, abs=1e-9)
