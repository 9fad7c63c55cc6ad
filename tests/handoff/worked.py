"""The worked case, and budgets drawn at random; times and sizes are exact rationals."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from tokengap.handoff.budget import Handoff, Limits
from tokengap.handoff.links import Exact, FixedOverlap, LayerOverlap, Link, Overlap

MS = 10**6
MIB, GIB = 2**20, 2**30
LIMITS = Limits(ttft_ns=80 * MS, worst_gap_ns=20 * MS)
SIZES_MIB = (1, 2, 4, 8, 16, 32, 64)
BANDWIDTHS_GIB = tuple(Fraction(text) for text in ("0.25", "0.5", "1", "2", "4", "8"))


def worked(cache_mib: Exact = 16, bandwidth_gib: Exact = 1) -> Handoff:
    """Prefill 40 ms, step 10 ms, nothing fixed and nothing hidden."""
    return Handoff(40 * MS, 10 * MS, cache_mib * MIB, Link(bandwidth_gib * GIB))


def withheld(handoff: Handoff) -> Handoff:
    return replace(handoff, withheld=True)


times_ns = st.fractions(0, 100 * MS, max_denominator=1000)
some = st.fractions(Fraction(1, 7), 10**7, max_denominator=1000)


@st.composite
def handoffs(draw: st.DrawFn) -> Handoff:
    prefill_ns = draw(times_ns)
    overlap: Overlap = (
        LayerOverlap(draw(st.integers(1, 100)), prefill_ns)
        if draw(st.booleans())
        else FixedOverlap(draw(times_ns))
    )
    share = Fraction(draw(st.integers(1, 16)), 8)
    link = Link(draw(some) * 1000, draw(st.integers(1, 9)), share)
    return Handoff(
        prefill_ns=prefill_ns,
        step_ns=draw(times_ns),
        cache_bytes=draw(some),
        link=link,
        overhead_ns=draw(times_ns),
        overlap=overlap,
        withheld=draw(st.booleans()),
    )


limits = st.builds(Limits, *[st.none() | times_ns.map(lambda ns: ns * 3)] * 3)
