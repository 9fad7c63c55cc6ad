"""The difference at equal mix, by hand and by its identities."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.weekly.matched import Matched, matched, numbered

Row = tuple[bool, int, int, float, float]
"""(later period, block, stratum, count, total)"""


def found_of(rows: list[Row]) -> Matched | None:
    now, block, stratum, count, total = zip(*rows, strict=True) if rows else ((),) * 5
    return matched(
        np.array(now, dtype=bool),
        np.array(block, dtype=np.int64),
        np.array(stratum, dtype=np.int64),
        np.array(count, dtype=float),
        np.array(total, dtype=float),
        max(block, default=0) + 1,
    )


def certain(rows: list[Row]) -> Matched:
    found = found_of(rows)
    assert found is not None
    return found


ROWS: Any = st.lists(
    st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 3), st.integers(1, 50)).flatmap(
        lambda cell: st.integers(0, cell[3]).map(lambda total: (*cell, total))
    ),
    min_size=1,
    max_size=16,
)


def by_fractions(rows: list[Row]) -> tuple[Fraction, Fraction] | None:
    """Difference and share as the formula has them, in exact numbers."""
    sums: dict[int, list[list[Fraction]]] = {}
    for now, _, stratum, count, total in rows:
        side = sums.setdefault(stratum, [[Fraction(0)] * 2, [Fraction(0)] * 2])[now]
        side[0] += Fraction(count)
        side[1] += Fraction(total)
    shared = [pair for pair in sums.values() if pair[0][0] and pair[1][0]]
    if not shared:
        return None
    weights = [then[0] * now[0] / (then[0] + now[0]) for then, now in shared]
    apart = [now[1] / now[0] - then[1] / then[0] for then, now in shared]
    requests = sum(then[0] + now[0] for then, now in sums.values())
    return (
        sum((w * d for w, d in zip(weights, apart, strict=True)), Fraction()) / sum(weights),
        sum((then[0] + now[0] for then, now in shared), Fraction()) / requests,
    )


def test_two_strata_by_hand() -> None:
    """Weights 100·300/400 = 75 and 200·200/400 = 100; differences 0.8 - 0.9 and 0.6 - 0.5.

    (75 · -0.1 + 100 · 0.1) / 175 = 2.5 / 175 = 1/70.
    """
    rows: list[Row] = [
        (False, 0, 0, 100, 90), (True, 0, 0, 300, 240),
        (False, 1, 1, 200, 100), (True, 1, 1, 200, 120),
    ]  # fmt: skip
    found = certain(rows)
    assert found.difference == pytest.approx(1 / 70, rel=1e-12)
    assert found.share == 1


def test_pushes_by_hand() -> None:
    """One stratum of 2 and 2, of which 3 of 4 keep it: the mean is 3/4, the correction √(4/3).

    Each cell pushes (total - count · 3/4) / 2, the later one up and the earlier ones down.
    """
    rows: list[Row] = [(False, 0, 0, 1, 1), (False, 1, 0, 1, 0), (True, 1, 0, 2, 2)]
    mean = 3 / 4
    pushes = [-(1 - mean) / 2, -(0 - mean) / 2 + (2 - 2 * mean) / 2]
    found = certain(rows)
    assert found.difference == pytest.approx(2 / 2 - 1 / 2)
    assert found.pushes == pytest.approx([push * (4 / 3) ** 0.5 for push in pushes])
    # Before, each of the two should keep 1/2; now, all: 1/2 and -1/2 beyond, of two requests.
    assert found.beyond == pytest.approx([-0.25 * (4 / 3) ** 0.5, 0.25 * (4 / 3) ** 0.5])


def test_a_difference_that_is_the_same_everywhere_pushes_nothing_beyond() -> None:
    """0.2 less in each of two strata, which are not alike otherwise: 9 to 7, and 5 to 3 of 10."""
    rows: list[Row] = [
        (now, block, stratum, 10 * size, (kept - 2 * now) * size)
        for now, size in ((False, 1), (True, 3)) for block in range(4)
        for stratum, kept in ((0, 9), (1, 5))
    ]  # fmt: skip
    found = certain(rows)
    assert found.difference == pytest.approx(-0.2)
    assert found.beyond == pytest.approx([0] * 4, abs=1e-15)
    assert found.pushes == pytest.approx([-0.05] * 4, rel=0.01)


@given(ROWS)
def test_the_formula_is_kept(rows: list[Row]) -> None:
    expected, found = by_fractions(rows), found_of(rows)
    if expected is None or found is None:
        assert (expected, found) == (None, None)
        return
    assert found.difference == pytest.approx(float(expected[0]), abs=1e-12)
    assert found.share == pytest.approx(float(expected[1]), abs=1e-12)


@given(ROWS)
def test_without_the_correction_pushes_add_up_to_the_difference(rows: list[Row]) -> None:
    """Of a single stratum, all have the same factor √(n / (n - 1))."""
    one = [(now, block, 0, count, total) for now, block, _, count, total in rows]
    found, n = found_of(one), sum(row[3] for row in rows)
    if found is not None:
        correction = (n / (n - 1)) ** 0.5
        assert found.pushes.sum() / correction == pytest.approx(found.difference, abs=1e-12)
        assert found.beyond.sum() == pytest.approx(0, abs=1e-12)


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_no_matter(rows: list[Row], dice: Any) -> None:
    mixed = dice.sample(rows, len(rows))
    one, other = found_of(rows), found_of(mixed)
    if one is None or other is None:
        assert one is other is None
        return
    assert one.difference == pytest.approx(other.difference, abs=1e-12)
    assert one.pushes == pytest.approx(other.pushes, abs=1e-12)
    assert one.beyond == pytest.approx(other.beyond, abs=1e-12)


@given(ROWS)
def test_the_other_way_round_is_the_opposite(rows: list[Row]) -> None:
    one = found_of(rows)
    other = found_of([(not now, *rest) for now, *rest in rows])  # type: ignore[misc]
    if one is None or other is None:
        assert one is other is None
        return
    assert one.difference == pytest.approx(-other.difference, abs=1e-12)
    assert one.pushes == pytest.approx(-other.pushes, abs=1e-12)
    assert one.beyond == pytest.approx(-other.beyond, abs=1e-12)


@pytest.mark.parametrize("then", [(100, 900), (900, 100), (1, 999)])
def test_a_shift_of_the_mix_alone_is_exactly_nothing(then: tuple[int, int]) -> None:
    """Short ones keep 3/4 and long ones 1/4, before and now: the raw share moves, this does not."""
    short, long = (4 * count for count in then)
    rows: list[Row] = [
        (False, 0, 0, short, short * 0.75), (False, 1, 1, long, long * 0.25),
        (True, 0, 0, 2000, 1500), (True, 1, 1, 2000, 500),
    ]  # fmt: skip
    found = certain(rows)
    assert found.difference == 0
    assert found.pushes.tolist() == [0, 0]


def test_what_only_one_period_has_counts_nothing() -> None:
    shared: list[Row] = [(False, 0, 0, 10, 9), (True, 0, 0, 10, 5)]
    alone: list[Row] = [(False, 1, 1, 70, 0), (True, 1, 2, 10, 10)]
    found, expected = certain(shared + alone), certain(shared)
    assert found.difference == expected.difference == pytest.approx(-0.4)
    assert found.pushes.tolist() == [*expected.pushes.tolist(), 0]
    assert found.share == pytest.approx(20 / 100)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(True, 0, 0, 5, 5)],
        [(False, 0, 0, 5, 5), (True, 0, 1, 5, 5)],
        [(False, 0, 0, 0, 0), (True, 0, 0, 5, 5)],
    ],
)
def test_nothing_in_common_is_no_difference(rows: list[Row]) -> None:
    assert found_of(rows) is None


def test_the_spread_is_that_of_independent_requests() -> None:
    """A block a request, shares 0.5 in both: the variance of a difference of sample means.

    s² = p(1 - p) n / (n - 1) of 80 requests; 2 s² / 40.
    """
    rows: list[Row] = [(side >= 40, side, 0, 1, side % 2) for side in range(80)]
    found = certain(rows)
    assert found.difference == 0
    assert (found.beyond**2).sum() == pytest.approx(0.25 * 80 / 79 * 2 / 40)


def test_keys_are_numbered_from_nothing() -> None:
    found = numbered(np.array([70_000, -5, 70_000, 3]))
    assert found.tolist() == [2, 0, 2, 1]
    assert numbered(np.array([], dtype=np.int64)).tolist() == []
