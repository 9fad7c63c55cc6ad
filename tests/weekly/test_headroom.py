from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from tokengap.slo.model import Goal
from tokengap.weekly.cells import Counts
from tokengap.weekly.headroom import headroom
from tokengap.weekly.model import Headroom

LOADS = [10 * step for step in range(1, 31)]
"""Thirty hours, from 10 to 300 requests."""


def goal(statistic: str = "worst_gap", target: str = "0.9") -> Goal:
    return Goal(statistic, 400, Decimal(target), date(2026, 1, 1))


def found_of(
    loads: Sequence[int], *missed: Sequence[int], goals: Sequence[Goal] = ()
) -> Headroom | None:
    """missed: by promise."""
    offered = np.array(loads, dtype=np.int64)
    goals = goals or [goal()] * len(missed)
    promises: list[tuple[Goal, Counts, Counts]] = [
        (each, offered - np.array(misses, dtype=np.int64), offered)
        for each, misses in zip(goals, missed, strict=True)
    ]
    return headroom(offered, promises)


def over(limit: int, share: float, loads: Sequence[int] = LOADS) -> list[int]:
    """In fuller hours this share misses."""
    return [round(load * share) if load > limit else 0 for load in loads]


def test_kept_in_the_fullest_hours_it_has_headroom_beyond() -> None:
    found = found_of(LOADS, over(0, 0.1))
    # The median of thirty hours lies between 150 and 160.
    assert found == Headroom("worst_gap", 300, 155.0, 300, False)


@pytest.mark.parametrize(
    ("limit", "share", "kept"),
    [
        (280, 0.15, 280),  # 88 of 590 in the fullest tenth; of the next, none
        (240, 0.15, 250),  # 159 of 1,060 from 260 to 280; from 230 to 250, only 38 of 720
        (240, 0.5, 220),  # of 230 to 250, 125 of 720; of 200 to 220, none
        (240, 1.0, 220),
    ],
)
def test_it_breaks_beyond_a_load(limit: int, share: float, kept: int) -> None:
    """The tenths of thirty hours end at 280, 250, 220 and so on, for 0.9 · 29 is over 26.

    However badly the fullest hours miss it, that says nothing of those that are less full.
    """
    found = found_of(LOADS, over(limit, share))
    assert found is not None
    assert (found.kept_up_to_per_h, found.breaks) == (kept, True)


def test_what_the_usual_load_breaks_is_not_load() -> None:
    found = found_of(LOADS, over(0, 0.2))
    assert found is not None
    assert (found.kept_up_to_per_h, found.breaks) == (None, True)


def test_the_promise_that_gives_way_first_is_named() -> None:
    goals = [goal("ttft"), goal("worst_gap"), goal("e2e")]
    found = found_of(LOADS, over(0, 0.0), over(280, 0.15), over(0, 0.05), goals=goals)
    assert found is not None
    assert (found.statistic, found.kept_up_to_per_h) == ("worst_gap", 280)
    broken = found_of(LOADS, over(0, 0.0), over(280, 0.15), over(0, 0.5), goals=goals)
    assert broken is not None
    assert (broken.statistic, broken.kept_up_to_per_h) == ("e2e", None)


def test_hours_without_requests_are_not_looked_at() -> None:
    loads = [0] * 100 + LOADS
    found = found_of(loads, over(280, 0.15, loads))
    assert found == Headroom("worst_gap", 300, 155.0, 280, True)


@pytest.mark.parametrize(
    "loads", [[], [0] * 168, [5] * 23 + [0] * 145], ids=["none", "silent", "23 hours"]
)
def test_too_little_is_not_measurable(loads: list[int]) -> None:
    assert found_of(loads, [0] * len(loads)) is None
    assert found_of(LOADS) is None


def test_an_even_load_has_no_fuller_hours() -> None:
    assert found_of([7] * 24, [0] * 24) == Headroom("worst_gap", 7, 7.0, 7, False)
    broken = found_of([7] * 24, [1] * 24)
    assert broken is not None
    assert (broken.kept_up_to_per_h, broken.breaks) == (None, True)


def test_the_target_is_compared_exactly() -> None:
    """7 % of 2,400 are 168, in doubles a bit more."""
    found = found_of([100] * 24, [93] * 24, goals=[goal(target="0.07")])
    assert found == Headroom("worst_gap", 100, 100.0, 100, False)


def test_a_promise_that_applies_to_nothing_is_not_broken() -> None:
    offered = np.array(LOADS, dtype=np.int64)
    nothing = np.zeros_like(offered)
    found = headroom(offered, [(goal(), nothing, nothing)])
    assert found == Headroom("worst_gap", 300, 155.0, 300, False)
