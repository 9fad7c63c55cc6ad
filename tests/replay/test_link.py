"""A link against the exact budget: what it shares, and what overlap hides."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.test_faults import PLAIN, times_ms
from tokengap.handoff import Handoff, LayerOverlap, fair_share_ns
from tokengap.handoff import Link as ExactLink
from tokengap.replay import Pool, Pools, Transport, Workload, replay
from tokengap.replay.link import Link, exposed_bytes
from tokengap.replay.request import Request

sizes = st.lists(st.integers(1, 10**9), min_size=1, max_size=8)


@given(sizes, st.integers(1, 10**9))
def test_transfers_that_start_together_end_as_the_budget_says(
    sizes_bytes: list[int], per_ms: int
) -> None:
    link = Link(float(per_ms))
    requests = [Request(at, 0.0, 1, 1) for at in range(len(sizes_bytes))]
    for request, size in zip(requests, sizes_bytes, strict=True):
        link.start(request, size, 5.0)
    ended_ms = [0.0] * len(sizes_bytes)
    while link.active:
        now_ms = link.next_ms()
        for request in link.take(now_ms):
            ended_ms[request.index] = now_ms - 5.0
    exact_ms = [float(ns / 10**6) for ns in fair_share_ns(sizes_bytes, per_ms * 1000)]
    assert ended_ms == pytest.approx(exact_ms, rel=1e-9)


@given(sizes, st.data())
def test_a_link_that_is_never_idle_carries_all_bytes_at_its_bandwidth(
    sizes_bytes: list[int], data: st.DataObject
) -> None:
    link, now_ms, broken_off = Link(1000.0), 0.0, 0.0
    for at, size in enumerate(sizes_bytes):
        request = Request(at, 0.0, 1, 1)
        end_bytes = link.start(request, size, now_ms)
        now_ms += data.draw(st.floats(0, 1)) * (link.next_ms() - now_ms)
        if data.draw(st.booleans()) and link.active > 1:
            broken_off += link.stop(request, end_bytes, now_ms)
    while link.active:
        now_ms = link.next_ms()
        link.take(now_ms)
    assert now_ms == pytest.approx((sum(sizes_bytes) - broken_off) / 1000, rel=1e-9)


@given(st.integers(1, 80), st.integers(0, 10**9), st.integers(1, 10**12), st.integers(1, 10**9))
def test_overlap_hides_what_the_budget_says(
    layers: int, prefill_ns: int, size_bytes: int, per_s: int
) -> None:
    transfer_ns = ExactLink(per_s).transfer_ns(size_bytes)
    exposed_ns = transfer_ns - LayerOverlap(layers, prefill_ns).hidden_ns(transfer_ns)
    left = exposed_bytes(float(size_bytes), prefill_ns / 1e6, layers, per_s / 1000)
    assert left / per_s * 1e9 == pytest.approx(float(exposed_ns), rel=1e-9)


@pytest.mark.parametrize("layers", [1, 4])
@pytest.mark.parametrize("withheld", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_lone_request_takes_as_long_as_its_budget(
    layers: int, withheld: bool, share: float
) -> None:
    transport = Transport(
        1000.0, 1e5, overhead_ms=7, overlap_layers=layers, withheld=withheld, busiest_share=share
    )
    one = Workload(np.zeros(1), np.array([10]), np.array([3]))
    outcome = replay(one, Pools.split(1, 1, transport), PLAIN)
    budget = Handoff(
        10 * 10**6, 10 * 10**6, 10_000, ExactLink(10**5, busiest_share=Fraction(share)),
        overhead_ns=7 * 10**6, overlap=LayerOverlap(layers, 10 * 10**6), withheld=withheld,
    )  # fmt: skip
    first_ms = 10 + float(budget.pause_ns) / 1e6 * withheld
    second_ms = first_ms + float(budget.first_gap_ns) / 1e6
    assert times_ms(outcome) == pytest.approx([first_ms, second_ms, second_ms + 10], abs=1e-6)
    assert outcome.transfer_bytes == 10_000


def test_prefill_workers_have_a_link_each_unless_they_share_one() -> None:
    two = Workload(np.zeros(2), np.array([10, 10]), np.array([2, 2]))
    for shared, transfer_ms in ((False, 100), (True, 200)):
        pools = Pools.split(2, 1, Transport(1000.0, 1e5, shared=shared))
        outcome = replay(two, pools, PLAIN)
        assert times_ms(outcome, 0) == times_ms(outcome, 1) == [10, 10 + transfer_ms + 10]


def test_a_cache_waits_at_its_source_until_there_is_room() -> None:
    two = Workload(np.zeros(2), np.array([10, 10]), np.array([6, 6]))
    pools = Pools.split(1, Pool(kv_capacity_tokens=16))
    outcome = replay(two, pools, PLAIN)
    # Both are prefilled until 20; the first decodes until 70, and then there is room.
    assert [request.arrived_ms for request in outcome.requests] == [20, 70]
    assert times_ms(outcome, 1) == [20, 80, 90, 100, 110, 120]


def test_a_source_that_is_full_of_held_caches_prefills_no_more() -> None:

    three = Workload(np.zeros(3), np.array([10, 10, 10]), np.array([6, 6, 6]))
    pools = Pools.split(Pool(1, kv_capacity_tokens=12), Pool(1, kv_capacity_tokens=16))
    outcome = replay(three, pools, PLAIN)
    # 10: the first is handed over and decodes until 60. 20: the second is done, and held until 60;
    # only then the third is prefilled.
    assert [request.held_ms for request in outcome.requests] == [10, 20, 70]


def test_short_prompts_stay_with_the_decode_worker() -> None:
    two = Workload(np.array([0.0, 0.0]), np.array([4, 10]), np.array([2, 2]))
    pools = Pools.split(1, 1, Transport(1000.0, 1e5, stay_below_tokens=5))
    outcome = replay(two, pools, PLAIN)
    assert times_ms(outcome, 0) == [4, 14]
    assert outcome.requests[0].prefiller == outcome.requests[0].decoder
    assert outcome.transfer_bytes == 10_000


def test_a_withheld_token_takes_the_whole_transfer_into_ttft_as_in_dynosim() -> None:
    """8,192 tokens of 131,072 bytes at 25 and at 0.25 GB/s, as Dynamo's simulator was run."""
    one = Workload(np.zeros(1), np.array([8192]), np.array([50]))
    fast, slow = (
        replay(one, Pools.split(1, 1, Transport(131_072, rate, withheld=True)), PLAIN)
        for rate in (25e9, 0.25e9)
    )
    # There, the mean TTFT went from 218.247 to 4,470.265 ms, and the largest gap stayed.
    longer_ms = float(slow.ttft_ns[0] - fast.ttft_ns[0]) / 1e6
    assert longer_ms == pytest.approx(4470.265 - 218.247, abs=1e-3)
    assert slow.latency.worst_gap_ns == fast.latency.worst_gap_ns
