"""Lines without negative coefficients."""

from itertools import product

import numpy as np
import pytest

from tokengap.baseline.chance import Numbers
from tokengap.baseline.lines import LEAST_ROWS, fit_line


def quadratic(
    rows: int, noise: float, line: tuple[float, float, float], seed: int = 5
) -> tuple[Numbers, Numbers]:
    """Prompts of 50 to 5,000 tokens, and their times with relative noise."""
    rng = np.random.default_rng(seed)
    tokens = rng.uniform(50, 5000, rows)
    design = np.column_stack([np.ones(rows), tokens, tokens**2])
    return design, design @ np.array(line) * (1 + noise * rng.standard_normal(rows))


def test_an_exact_line_is_found_exactly() -> None:
    found = fit_line(*quadratic(200, 0.0, (20e6, 1e5, 80)))
    assert [each.value for each in found.coefficients] == pytest.approx([20e6, 1e5, 80], rel=1e-6)
    assert [each.unidentified for each in found.coefficients] == [None] * 3
    assert found.error_share == pytest.approx(0, abs=1e-9)


def test_noise_that_grows_with_the_value_leaves_the_fixed_part_in_sight() -> None:
    """10 % of noise is 100 ms on the longest prompts, five times the fixed 20 ms."""
    found = fit_line(*quadratic(2000, 0.1, (20e6, 1e5, 80)))
    for each, true in zip(found.coefficients, (20e6, 1e5, 80), strict=True):
        assert each.value == pytest.approx(true, rel=0.15)
        assert each.unidentified is None
    # Half of a normal's deviations are within 0.67 of its standard deviation.
    assert found.error_share == pytest.approx(0.067, rel=0.1)


def test_a_few_wild_values_do_not_move_it() -> None:
    design, values = quadratic(300, 0.05, (20e6, 1e5, 80))
    wild = values.copy()
    wild[::20] *= 8
    clean, moved = fit_line(design, values), fit_line(design, wild)
    for one, other in zip(clean.coefficients, moved.coefficients, strict=True):
        assert other.value == pytest.approx(one.value, rel=0.15)


def test_no_coefficient_is_negative_and_zero_is_not_identified() -> None:
    """Times fall with the tokens held: least squares would give a negative slope."""
    held = np.linspace(0, 1000, 100)
    design = np.column_stack([np.ones(100), held])
    fixed, slope = fit_line(design, 10 - 0.002 * held).coefficients
    assert fixed.value == pytest.approx(9, rel=0.01)  # relative errors: a little below the mean
    assert slope.value == 0
    assert slope.unidentified == "zero: the data shows none of it"


def test_what_half_of_the_data_contradicts_is_not_identified() -> None:
    """Every other row takes twice as long."""
    design = np.column_stack([np.ones(60), np.arange(60.0)])
    values = (design @ np.array([10.0, 1.0])) * np.where(np.arange(60) % 2, 2, 1)
    for each in fit_line(design, values).coefficients:
        assert each.unidentified is not None
        assert "between halves" in each.unidentified


def test_equal_columns_share_nothing() -> None:
    """All prompts of one length: what is fixed and what is per token cannot be told apart."""
    design = np.column_stack([np.ones(50), np.full(50, 100.0)])
    found = fit_line(design, np.full(50, 30.0))
    assert sum(each.value > 0 for each in found.coefficients) == 1
    assert design[0] @ [each.value for each in found.coefficients] == pytest.approx(30)


def test_few_rows_tell_nothing() -> None:
    design, values = quadratic(LEAST_ROWS - 1, 0.0, (1, 1, 1))
    found = fit_line(design, values)
    assert found.error_share is None
    for each in found.coefficients:
        assert each.estimate.value is None
        assert each.unidentified == "11 samples; 12 are needed"


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Of 60 fits, 95 % is 57; under 48 would be one in 100,000."""
    held = 0
    for seed in range(60):
        design, values = quadratic(120, 0.1, (20e6, 1e5, 80), seed)
        estimate = fit_line(design, values).coefficients[1].estimate
        assert estimate.low is not None
        assert estimate.high is not None
        held += estimate.low <= 1e5 <= estimate.high
    assert held >= 48


def test_the_best_line_is_no_worse_than_any_other() -> None:
    """Against a grid of lines, by the measure it is the best of: relative squares."""
    tokens = np.linspace(1, 10, 40)
    design = np.column_stack([np.ones(40), tokens])
    values = 3 + 2 * tokens + np.random.default_rng(6).uniform(-0.1, 0.1, 40)
    found = np.array([each.value for each in fit_line(design, values).coefficients])

    def error(line: Numbers) -> float:
        return float(np.square((values - design @ line) / (design @ found)).sum())

    grid = product(np.linspace(2.5, 3.5, 21), np.linspace(1.8, 2.2, 21))
    assert error(found) <= min(error(np.array(line)) for line in grid) * 1.05
