from fractions import Fraction
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.handoff.parameters import PARAMETERS
from tokengap.handoff.region import BANDWIDTHS, SIZES, Axis
from tokengap.report.handoff.scales import Scaled

MIB: Final = 2**20


def test_cells_end_half_way_between_values_on_their_own_scale() -> None:
    sizes = Scaled(SIZES)  # doubling: half-way is the square root of two
    assert sizes.is_log
    expected = [2 ** (power - 0.5) * MIB for power in range(8)]
    assert sizes.ends == pytest.approx(expected)
    even = Scaled(Axis(PARAMETERS["overhead"], [0, 10, 30]))
    assert not even.is_log
    assert even.ends == [-5.0, 5.0, 20.0, 40.0]


@given(st.sampled_from(["cache", "transfers", "overhead"]), st.sets(st.integers(1, 10**6)))
def test_every_value_lies_in_its_own_cell(name: str, values: set[int]) -> None:
    if not values:
        return
    scaled = Scaled(Axis(PARAMETERS[name], sorted(values)))
    assert len(scaled.ends) == len(values) + 1
    for value, low, high in zip(sorted(values), scaled.ends, scaled.ends[1:], strict=False):
        assert low <= value <= high


def test_a_line_of_whole_numbers_has_whole_numbers() -> None:
    fine = Scaled(Axis(PARAMETERS["transfers"], [1, 2, 4])).fine(81)
    assert fine == sorted(set(fine))
    assert all(value == int(value) >= 1 for value in fine)


def test_ticks_name_each_value_with_its_unit() -> None:
    axis = Scaled(BANDWIDTHS).channel("x")["axis"]
    assert axis.values == [float(value) for value in BANDWIDTHS.values]
    assert f"datum.value == {2.0**28!r} ? '0.25 GiB/s'" in axis.labelExpr


def test_many_values_get_round_ticks() -> None:
    sizes = [Fraction(MIB) + 1000 * step for step in range(10_000)]
    axis = Scaled(Axis(PARAMETERS["cache"], sizes)).channel("x")["axis"]
    assert axis.values == [MIB, 2 * MIB, 4 * MIB, 8 * MIB]
