from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.handoff.worked import (
    BANDWIDTHS_GIB,
    GIB,
    LIMITS,
    MIB,
    MS,
    SIZES_MIB,
    handoffs,
    limits,
    worked,
)
from tokengap.errors import UsageError
from tokengap.handoff.budget import Handoff, Limits, judge
from tokengap.handoff.kv import BYTES_PER_VALUE, gqa
from tokengap.handoff.links import LayerOverlap, Link
from tokengap.handoff.parameters import PARAMETERS, Case, prompt_parameter
from tokengap.handoff.region import BANDWIDTHS, SIZES, Axis, edges, passes, sweep

CASE: Final = Case(worked(0), output_tokens=3)
VARIED: Final = [name for name in PARAMETERS if name != "overlap"]
VALUES: Final = {
    "bytes": st.integers(1, 10**9),
    "bytes_per_s": st.integers(1, 10**11),
    "ns": st.integers(0, 10**9),
    "tokens": st.integers(1, 1000),
    "transfers": st.integers(1, 64),
}


def axis(name: str, *values: int | Fraction) -> Axis:
    return Axis(PARAMETERS[name], values)


def test_the_default_sweep_is_the_table_of_42_points() -> None:
    """A MiB at a GiB/s takes 1000 / 1024 ms; 10 ms of 20 are left for it."""
    swept = sweep(CASE, LIMITS, BANDWIDTHS, SIZES)
    assert swept.first_gap_ns.shape == (len(SIZES_MIB), len(BANDWIDTHS_GIB)) == (7, 6)
    for row, size in enumerate(SIZES_MIB):
        for column, rate in enumerate(BANDWIDTHS_GIB):
            transfer_ms = size / rate * Fraction(1000, 1024)
            assert swept.first_gap_ns[row, column] == (10 + transfer_ms) * MS
            assert swept.met[row, column] == (size <= Fraction("10.24") * rate)
    assert swept.first_gap_ns[2, 2] == 13_906_250  # 4 MiB at 1 GiB/s
    assert swept.first_gap_ns[4, 2] == 25_625_000  # 16 MiB at 1 GiB/s
    assert (swept.ttft_ns == 40 * MS).all()
    assert swept.tpot_ns[4, 2] == 17_812_500


@st.composite
def two_axes(draw: st.DrawFn) -> tuple[Axis, Axis]:
    names = draw(st.lists(st.sampled_from(VARIED), min_size=2, max_size=2, unique=True))
    return tuple(  # type: ignore[return-value]
        Axis(
            PARAMETERS[name],
            sorted(draw(st.sets(VALUES[PARAMETERS[name].unit], min_size=1, max_size=3))),
        )
        for name in names
    )


@given(handoffs(), limits, st.integers(1, 50), two_axes())
@settings(deadline=None, max_examples=60)
def test_every_point_is_what_the_budget_says_of_it(
    handoff: Handoff, promised: Limits, tokens: int, axes: tuple[Axis, Axis]
) -> None:
    x, y = axes
    case = Case(handoff, tokens)
    swept = sweep(case, promised, x, y)
    for row, up in enumerate(y.values):
        for column, across in enumerate(x.values):
            at = y.parameter.put(x.parameter.put(case, across), up)
            found = judge(at.handoff, promised, at.output_tokens)
            seen = (swept.ttft_ns, swept.first_gap_ns, swept.tpot_ns)
            for promise, values in zip(found.values(), seen, strict=True):
                if promise.value_ns is None:
                    assert np.isnan(values[row, column])
                else:
                    # What an overlap leaves of a long transfer is as exact as the transfer is.
                    within = 1e-12 * float(max(at.handoff.transfer_ns, promise.value_ns))
                    assert abs(values[row, column] - float(promise.value_ns)) <= within
            assert swept.met[row, column] == passes(at, promised)


def test_a_limit_that_a_double_cannot_hold_is_judged_exactly() -> None:
    """1/3 ns over three links is exactly 1/9 ns; a nanosecond's billionth less is a miss."""
    case = Case(Handoff(0, 0, 0, Link(3 * 10**9)), output_tokens=2)
    rates = axis("bandwidth", 9 * 10**9)
    ninth, less = Fraction(1, 9), Fraction(1, 9) - Fraction(1, 10**30)
    sizes = axis("cache", 1)
    assert float(ninth) == float(less)
    assert sweep(case, Limits(worst_gap_ns=ninth), rates, sizes).met.all()
    assert not sweep(case, Limits(worst_gap_ns=less), rates, sizes).met.any()


@pytest.mark.parametrize("rate", BANDWIDTHS_GIB)
def test_the_boundary_of_the_worked_case(rate: Fraction) -> None:
    """10.24 MiB for each GiB/s: 2.56 at 0.25, 81.92 at 8."""
    (edge,) = edges(
        Case(worked(0, rate), 3), LIMITS, PARAMETERS["cache"], [MIB, 16 * MIB, 100 * MIB]
    )
    assert edge.passes_below
    assert float(edge.value / MIB) == pytest.approx(10.24 * float(rate), rel=1e-12)
    assert passes(PARAMETERS["cache"].put(Case(worked(0, rate), 3), edge.value), LIMITS)


def test_a_boundary_in_whole_numbers_is_the_last_that_passes() -> None:
    """4 MiB at 1 GiB/s alone are 3.90625 ms: two transfers fit into 10 ms, three do not."""
    found = edges(Case(worked(4), 3), LIMITS, PARAMETERS["transfers"], [1, 100])
    assert [edge.value for edge in found] == [2]


def test_an_overlap_by_layer_can_make_two_boundaries() -> None:
    """A short prefill hides too little of the transfer, a long one takes all of TTFT."""
    handoff = replace(worked(16), overlap=LayerOverlap(32, 40 * MS))
    stops = [Fraction(ms) * MS for ms in (0, 5, 40, 100)]
    found = edges(Case(handoff, 3), LIMITS, PARAMETERS["prefill"], stops)
    # 31/32 of the prefill is hidden: 10 = 15.625 - 31/32 * p; TTFT is the prefill itself
    expected = [float(Fraction("5.625") * Fraction(32, 31)), 80.0]
    assert [float(edge.value / MS) for edge in found] == pytest.approx(expected, rel=1e-12)
    assert [edge.passes_below for edge in found] == [False, True]


def test_prompt_tokens_of_a_model_are_an_axis() -> None:
    """Llama-3-8B: 131,072 B a token, so 128 tokens are 16 MiB."""
    prompt = prompt_parameter(gqa(32, 8, 128, BYTES_PER_VALUE["bf16"]), block_tokens=64)
    swept = sweep(CASE, LIMITS, BANDWIDTHS, Axis(prompt, [65, 128]))
    assert swept.first_gap_ns[0, 2] == swept.first_gap_ns[1, 2] == 25_625_000  # 65 fill two blocks
    assert prompt.key == "prompt_tokens"


def test_axes_that_set_the_same_are_refused() -> None:
    prompt = prompt_parameter(gqa(1, 1, 1, Fraction(1)), block_tokens=1)
    with pytest.raises(UsageError, match="prompt and cache both set cache_bytes"):
        sweep(CASE, LIMITS, Axis(prompt, [1]), SIZES)
    with pytest.raises(UsageError, match="bandwidth and bandwidth both set"):
        sweep(CASE, LIMITS, BANDWIDTHS, BANDWIDTHS)


def test_an_overlap_by_layer_is_no_axis() -> None:
    case = Case(replace(worked(), overlap=LayerOverlap(4, 40 * MS)), 3)
    with pytest.raises(UsageError, match="follows from the prefill"):
        sweep(case, LIMITS, BANDWIDTHS, axis("overlap", 1, 2))


@pytest.mark.parametrize("values", [(), (2, 1), (1, 1)])
def test_an_axis_rises(values: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="cache"):
        axis("cache", *values)


def test_the_default_axes() -> None:
    assert [size // MIB for size in map(int, SIZES.values)] == list(SIZES_MIB)
    assert [Fraction(int(rate), GIB) for rate in BANDWIDTHS.values] == list(BANDWIDTHS_GIB)
