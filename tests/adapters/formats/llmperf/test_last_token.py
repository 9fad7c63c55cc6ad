"""Totals are made up on a clock's grid, so that the divisor to be found is known."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.formats.llmperf.last_token import LEAST_DURATIONS, Means, totals_s
from tokengap.adapters.shared.parallel_arrays import Floats

STEP_BITS = 41
STEP = 2.0**-STEP_BITS
PRIMES = (7, 11, 13, 17, 19, 23)


def durations(step: float = STEP, n: int = LEAST_DURATIONS) -> Floats:
    """Odd multiples of a step, so that the step is the largest one that all of them show."""
    return np.array([(2 * i + 1_000_001) * step for i in range(n)])


def totals(found: list[tuple[float, float, float]], given_s: Floats) -> list[float | None]:
    mean_s, least_s, most_s = (np.array(column) for column in zip(*found, strict=True))
    values = totals_s(Means(mean_s, least_s, most_s), given_s).tolist()
    return [None if np.isnan(value) else value for value in values]


@pytest.mark.parametrize("events", PRIMES)
def test_the_only_divisor_on_the_grid_is_found(events: int) -> None:
    # 200 ms and some steps; an odd prime n never gives a mean on the grid, but for multiples of n.
    steps = round(0.2 / STEP) // events * events + 1
    total = steps * STEP
    (found,) = totals([(total / events, total / 3, total + 0.001)], durations())
    assert found == pytest.approx(total, rel=1e-15)


def test_a_mean_that_is_on_the_grid_itself_fits_any_divisor() -> None:
    mean = round(0.01 / STEP) * STEP
    assert totals([(mean, 0.04, 0.2)], durations()) == [None]


def test_a_single_whole_number_in_the_bounds_needs_no_grid() -> None:
    # Undivided: twice as much would be past the end.
    total = round(5.0 / STEP) * STEP
    assert totals([(total, 0.6, 5.1)], durations()) == [total]


def test_a_mean_without_any_fitting_divisor_refutes_the_whole_file() -> None:
    good = (5.0, 0.6, 5.1)
    bad = ((round(0.2 / STEP) + 0.5) * STEP / 7, 0.19, 0.201)
    assert totals([good], durations()) == [5.0]
    assert totals([good, bad], durations()) == [None, None]


def test_a_few_durations_do_not_show_the_step() -> None:
    assert totals([(5.0, 0.6, 5.1)], durations(n=LEAST_DURATIONS - 1)) == [None]


def test_too_many_divisors_are_not_tried_and_refute_nothing() -> None:
    assert totals([(1e-9, 0.1, 1.0), (5.0, 0.6, 5.1)], durations()) == [None, 5.0]


@given(
    steps=st.lists(st.integers(10**9, 10**12), min_size=1, max_size=20),
    events=st.integers(1, 400),
    bits=st.integers(29, 44),
)
def test_a_total_is_right_or_not_told(steps: list[int], events: int, bits: int) -> None:
    step = 2.0**-bits
    exact = [count * step for count in steps]
    found = totals([(total / events, total / 2, total * 1.01) for total in exact], durations(step))
    for total, value in zip(exact, found, strict=True):
        divisors = [
            n
            for n in range(1, 2 * events + 1)
            if total / 2 * (1 - 1e-12) <= n * (total / events) <= total * 1.01 * (1 + 1e-12)
            and fits(total / events, n, bits)
        ]
        assert events in divisors
        assert value == (pytest.approx(total, rel=1e-15) if divisors == [events] else None)


def fits(mean: float, n: int, bits: int) -> bool:
    """Whether some multiple of the step, divided by n, rounds to this mean: exactly."""
    nearest = round(Fraction(mean) * n * 2**bits)
    off = abs(Fraction(nearest, 2**bits) - Fraction(mean) * n)
    return off <= Fraction(np.spacing(mean)) * n / 2
