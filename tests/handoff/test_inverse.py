from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.handoff.worked import BANDWIDTHS_GIB, GIB, LIMITS, MIB, MS, handoffs, limits, worked
from tokengap.handoff.budget import Handoff, Limits, judge
from tokengap.handoff.inverse import invert
from tokengap.handoff.links import FixedOverlap


@pytest.mark.parametrize("bandwidth", BANDWIDTHS_GIB)
def test_boundary_of_the_worked_case(bandwidth: Fraction) -> None:
    # 10 ms are left for the transfer: 10.24 MiB per GiB/s (2.56 at 0.25, 81.92 at 8)
    found = invert(worked(4, bandwidth), LIMITS, output_tokens=3)
    assert found.max_cache_bytes.value == Fraction("10.24") * bandwidth * MIB


def test_least_bandwidth_and_most_overhead_of_the_worked_case() -> None:
    # 16 MiB in 10 ms are 1600 MiB/s; 4 MiB at 1 GiB/s leave 10 - 3.90625 ms
    assert invert(worked(16), LIMITS, 3).min_bandwidth_bytes_per_s.value == 1600 * MIB
    assert invert(worked(4), LIMITS, 3).max_overhead_ns.value == Fraction("6.09375") * MS


@given(handoffs(), limits, st.integers(1, 50))
@settings(deadline=None, max_examples=300)
def test_each_answer_put_back_lies_exactly_on_a_limit(
    handoff: Handoff, promised: Limits, tokens: int
) -> None:
    found = invert(handoff, promised, tokens)
    put_back = {}
    if found.max_overhead_ns.value is not None:
        put_back["overhead"] = replace(handoff, overhead_ns=found.max_overhead_ns.value)
    if found.max_cache_bytes.value:
        put_back["cache"] = replace(handoff, cache_bytes=found.max_cache_bytes.value)
    if found.min_bandwidth_bytes_per_s.value is not None:
        bandwidth = found.min_bandwidth_bytes_per_s.value
        link = replace(handoff.link, bandwidth_bytes_per_s=bandwidth)
        put_back["bandwidth"] = replace(handoff, link=link)
    for case in put_back.values():
        promises = judge(case, promised, tokens).values()
        assert "missed" not in {promise.verdict for promise in promises}
        free = case.overlap_ns == case.transfer_ns  # all hidden: what bounds is the overlap
        assert free or min(p.headroom_ns for p in promises if p.headroom_ns is not None) == 0
    if not put_back:
        assert found.max_overhead_ns.reason is not None or found.max_cache_bytes.value == 0


@given(handoffs(), limits, st.integers(2, 50), st.fractions(Fraction(1, 100), 1))
@settings(deadline=None)
def test_a_little_past_an_answer_is_a_miss(
    handoff: Handoff, promised: Limits, tokens: int, more: Fraction
) -> None:
    found = invert(handoff, promised, tokens)
    over = []
    if (most_ns := found.max_overhead_ns.value) is not None:
        over.append(replace(handoff, overhead_ns=most_ns + more))
    if (largest := found.max_cache_bytes.value) is not None:
        over.append(replace(handoff, cache_bytes=largest + more))
    if (least := found.min_bandwidth_bytes_per_s.value) is not None:
        link = replace(handoff.link, bandwidth_bytes_per_s=least / (1 + more))
        over.append(replace(handoff, link=link))
    for case in over:
        promises = judge(case, promised, tokens).values()
        assert "missed" in {promise.verdict for promise in promises}


@given(handoffs(), limits, st.integers(1, 50))
@settings(deadline=None)
def test_the_verdict_and_the_answers_agree(handoff: Handoff, promised: Limits, tokens: int) -> None:
    missed = "missed" in {p.verdict for p in judge(handoff, promised, tokens).values()}
    found = invert(handoff, promised, tokens)
    most_ns, largest = found.max_overhead_ns, found.max_cache_bytes
    if most_ns.value is not None:
        assert missed == (most_ns.value < handoff.overhead_ns)
    if largest.value is not None:
        assert missed == (largest.value < handoff.cache_bytes)


@pytest.mark.parametrize(
    ("case", "promised", "reason"),
    [
        (worked(), Limits(), "no promise depends"),
        (worked(), Limits(ttft_ns=80 * MS), "no promise depends"),
        (worked(), Limits(ttft_ns=39 * MS, worst_gap_ns=MS), "ttft is missed even if"),
        (worked(), Limits(worst_gap_ns=9 * MS), "worst_gap is missed even if"),
        (replace(worked(), overhead_ns=11 * MS), LIMITS, "overhead alone"),
        (replace(worked(), overhead_ns=10 * MS), LIMITS, "no time is left"),
        (worked(cache_mib=0), LIMITS, "no cache to move"),
    ],
)
def test_why_there_is_no_least_bandwidth(case: Handoff, promised: Limits, reason: str) -> None:
    found = invert(case, promised, output_tokens=3).min_bandwidth_bytes_per_s
    assert found.value is None
    assert found.reason is not None
    assert reason in found.reason


def test_a_transfer_too_long_leaves_no_overhead() -> None:
    found = invert(worked(16), LIMITS, output_tokens=3).max_overhead_ns
    assert (found.value, found.reason) == (
        None,
        "the transfer alone takes longer than the pause may be",
    )


def test_what_is_hidden_need_not_be_fast() -> None:
    # 10 ms may be waited for and 5 ms are hidden: 16 MiB in 15 ms
    case = replace(worked(16), overlap=FixedOverlap(5 * MS))
    least = invert(case, LIMITS, output_tokens=3).min_bandwidth_bytes_per_s.value
    assert least == Fraction(16 * GIB, 15) / 1024 * 1000
