"""A run beside earlier ones: their own noise by hand, and what must and must not alarm."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weekly.cells import cells, some_cells
from tokengap.intervals import t_quantile
from tokengap.weekly.cells import Cells
from tokengap.weekly.model import CANNOT_TELL, WORSE, Change
from tokengap.weekly.runs import against_runs


def run(met: int = 10, value_ns: float = 2**20, blocks: int = 10, of: int = 10) -> Cells:
    """As many requests in each block, and all of one value."""
    row = {"applies": of, "met": met, "valued": of, "log_sum": of * math.log(value_ns)}
    return cells(*(row | {"block": block} for block in range(blocks)))


def half_of(change: Change) -> float:
    assert change.low is not None
    assert change.high is not None
    return (change.high - change.low) / 2


def ratio_half_of(change: Change) -> float:
    assert change.value is not None
    assert change.value.low is not None
    assert change.value.high is not None
    return math.log(change.value.high / change.value.low) / 2


def test_the_spread_of_three_runs_by_hand() -> None:
    """Runs that keep 9, 8 and 7 of 10, ten times each: their variance is 0.01.

    Each beside the two others: 0.15 apart, of which the others push ±0.5 / 200 beyond, in ten
    blocks each; for the second, ±1 / 200. The mean of these squares, less the part of the others
    (2/3), is what their requests explain.
    """
    kept = [9, 8, 7]
    of_first, of_second = 20 * (0.5 / 200) ** 2, 20 / 200**2
    explained = (2 * of_first + of_second) / 3 * (300 / 299) * (2 / 3)
    # What is assumed, 0.02, counts as half a run beside the two degrees of freedom of three.
    between = (0.5 * 0.02**2 + 2 * (0.01 - explained)) / 2.5 * (1 + 1 / 3)
    # The new run keeps 8, too: before, 20 blocks of 40 push 1 / 300, of 400 requests in all.
    own = 20 / 300**2 * (400 / 399) * (20 / 19)
    whole = own + between
    freedom = whole**2 / (own**2 / 19 + between**2 / (2 + 6))
    change = against_runs(run(8), [run(met) for met in kept], comparisons=1)
    assert change.matched == pytest.approx(0, abs=1e-12)
    assert half_of(change) == pytest.approx(t_quantile(freedom) * math.sqrt(whole), rel=1e-9)
    assert change.verdict == CANNOT_TELL


def test_the_spread_of_values_by_hand() -> None:
    """Logarithms of -0.3, 0 and 0.3, as above: their variance is 0.09.

    Of logarithms, rounding decides which blocks push nothing at all: hence a part in a thousand.
    """
    runs = [run(value_ns=2**20 * math.exp(by)) for by in (-0.3, 0, 0.3)]
    of_first, of_second = 20 * (1.5 / 200) ** 2, 20 * (3 / 200) ** 2
    explained = (2 * of_first + of_second) / 3 * (300 / 299) * (2 / 3)
    between = (0.5 * 0.1**2 + 2 * (0.09 - explained)) / 2.5 * (1 + 1 / 3)
    own = 20 * 0.01**2 * (400 / 399) * (20 / 19)
    whole = own + between
    freedom = whole**2 / (own**2 / 19 + between**2 / (2 + 6))
    change = against_runs(run(), runs, comparisons=1)
    assert ratio_half_of(change) == pytest.approx(t_quantile(freedom) * math.sqrt(whole), rel=1e-3)


@pytest.mark.parametrize(
    ("count", "assumed", "sides"), [(1, 1, 2), (2, 1 / 3, 1.5), (3, 1 / 5, 4 / 3)]
)
def test_runs_that_are_alike_are_still_taken_to_differ(
    count: int, assumed: float, sides: float
) -> None:
    """What is assumed counts 0.5 of 0.5 runs, then of 1.5 and of 2.5; on two sides of a difference.

    Nothing else spreads, so that the degrees of freedom are those of the runs, and six assumed.
    """
    change = against_runs(run(), [run()] * count, comparisons=1)
    quantile = t_quantile(count - 1 + 6)
    assert half_of(change) == pytest.approx(quantile * 0.02 * math.sqrt(assumed * sides), rel=1e-6)
    ratio = quantile * 0.1 * math.sqrt(assumed * sides)
    assert ratio_half_of(change) == pytest.approx(ratio, rel=1e-6)


@given(st.lists(some_cells(most=30), min_size=1, max_size=1), st.integers(1, 4))
@settings(max_examples=40)
def test_identical_runs_never_alarm(rows: list[list[dict[str, Any]]], before: int) -> None:
    same = cells(*rows[0])
    assert against_runs(same, [same] * before, comparisons=1).verdict == CANNOT_TELL


@pytest.mark.parametrize("before", [1, 2, 3, 4])
@pytest.mark.parametrize("comparisons", [1, 8])
def test_doubled_values_alarm(before: int, comparisons: int) -> None:
    """The logarithm of 2 is 0.69; one run is taken to differ by 0.14 from another, 0.56 at most."""
    change = against_runs(run(value_ns=2**21), [run()] * before, comparisons)
    assert change.verdict == WORSE
    assert change.value is not None
    assert change.value.matched == pytest.approx(2)


def test_what_runs_differ_by_anyway_is_no_regression() -> None:
    """A sixth more is no news beside one run, nor beside three that are a tenth apart."""
    more = run(value_ns=2**20 * 7 / 6)
    assert against_runs(more, [run()], comparisons=1).verdict == CANNOT_TELL
    noisy = [run(value_ns=2**20 * factor) for factor in (0.9, 1.0, 1.1)]
    assert against_runs(more, noisy, comparisons=1).verdict == CANNOT_TELL
    assert against_runs(more, [run()] * 3, comparisons=1).verdict == WORSE


def test_a_share_that_falls_alarms() -> None:
    assert against_runs(run(met=5), [run()], comparisons=1).verdict == WORSE
    assert against_runs(run(met=5), [run()] * 3, comparisons=1).verdict == WORSE
    assert against_runs(run(met=10), [run(met=5)] * 3, comparisons=1).verdict != WORSE


def test_a_change_of_a_hundredth_is_none() -> None:
    """1 of 200 less in every block, beside so many runs that little is left of what is assumed."""
    before = [run(met=200, of=200)] * 40
    assert against_runs(run(met=199, of=200), before, comparisons=1).verdict == CANNOT_TELL
    assert against_runs(run(met=197, of=200), before, comparisons=1).verdict == WORSE


def test_runs_of_other_lengths_have_nothing_in_common() -> None:
    row = {"applies": 100, "met": 100, "prompt": 9}
    other = cells(*({**row, "block": block} for block in range(10)))
    for before in (1, 3):
        change = against_runs(run(), [other] * before, comparisons=1)
        assert change.verdict == CANNOT_TELL
        assert change.matched is None
    strangers = [cells(*({**row, "prompt": at, "block": b} for b in range(9))) for at in (1, 2, 3)]
    assert against_runs(run(), strangers, comparisons=1).matched is None


def test_a_run_of_which_nothing_has_the_statistic_cannot_tell() -> None:
    for before in ([cells()], [cells()] * 3, [run(), cells(), run()]):
        assert against_runs(cells(), before, comparisons=1).verdict == CANNOT_TELL
    assert against_runs(run(), [cells()] * 3, comparisons=1).verdict == CANNOT_TELL
    change = against_runs(run(), [run(), cells(), run()], comparisons=1)
    assert (change.verdict, change.matched) == (CANNOT_TELL, 0)
