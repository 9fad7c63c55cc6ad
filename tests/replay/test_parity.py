"""The replay under DistServe's rules against DistServe's own simulator, request by request."""

from functools import cache

import numpy as np
import pytest

from tests.replay.reference_runs import RUNS, azure, published
from tokengap.replay import Outcome, Pool, Pools, PrefillFirst, Workload, parity
from tokengap.replay.service import DecodeFit, PrefillFit, ServiceModel

NS_PER_MS = 1e6
OPT13B = parity.model("vllm-tp2", "vllm-tp2")


@cache
def run(arm: str, rate: str) -> Outcome:
    pools, models = parity.split() if arm == "split" else parity.colocated()
    return parity.simulated(azure(rate), pools, models)


@pytest.mark.parametrize(("arm", "rate"), RUNS)
def test_every_request_takes_as_long_as_there(arm: str, rate: str) -> None:
    outcome, there = run(arm, rate), published("latency", arm, rate)
    first_ms = outcome.times_ms("held_ms") - azure(rate).arrival_ms
    decoding_ms = outcome.times_ms("ended_ms") - outcome.times_ms("held_ms")
    assert set(outcome.statuses) == {"completed"}
    assert len(outcome) == len(there["tpot"]) == 1000
    assert np.abs(first_ms - there["first_token_latency"]).max() < 1e-6
    assert np.abs(decoding_ms - there["decoding_latency"]).max() < 1e-6


@pytest.mark.parametrize(("arm", "rate"), RUNS)
def test_gaps_are_those_of_its_event_log(arm: str, rate: str) -> None:
    outcome, there = run(arm, rate), published("gaps", arm, rate)
    # A gap is the difference of two stamps that are rounded to a ns each.
    np.testing.assert_allclose(
        outcome.latency.worst_gap_ns, there["worst_gap_ms"] * NS_PER_MS, rtol=0, atol=1.001
    )
    np.testing.assert_allclose(
        outcome.latency.first_gap_ns, there["first_gap_ms"] * NS_PER_MS, rtol=0, atol=1.001
    )
    assert (outcome.tokens == there["gaps"] + 1).all()


def test_published_counts_of_the_first_table_to_reproduce() -> None:
    worst_ms = run("split", "2.0").latency.worst_gap_ns / NS_PER_MS
    assert [(worst_ms > limit).sum() for limit in (100, 200, 500)] == [84, 0, 0]
    worst_ms = run("colocated", "1.33").latency.worst_gap_ns / NS_PER_MS
    assert [(worst_ms > limit).sum() for limit in (100, 200, 500)] == [935, 781, 265]


# What the published runs do not reach: steps of 1 ms per request and token, so that sums show.

ONE_MS = ServiceModel(PrefillFit(0, 1), DecodeFit(1000, 0, 0), DecodeFit(7, 0, 0), large_from=95)


def at_once(prompts: list[int], answers: list[int]) -> Workload:
    return Workload(np.zeros(len(prompts)), np.array(prompts), np.array(answers))


def test_the_fit_of_large_batches_holds_from_95_requests_on() -> None:
    pools = Pools(Pool(scheduler=PrefillFirst()))
    for size, step_ms in ((94, 1000), (95, 7)):
        outcome = parity.simulated(at_once([1] * size, [1] * size), pools, ONE_MS)
        # All prompts are prefilled in one step of `size` tokens; one decode step follows.
        assert set(outcome.times_ms("ended_ms")) == {size + step_ms}


def test_a_prefill_takes_prompts_in_order_up_to_its_cap() -> None:
    pools = Pools(Pool(scheduler=PrefillFirst(max_tokens=10)))
    outcome = parity.simulated(at_once([6, 4, 3, 8], [1] * 4), pools, ONE_MS)
    # 6 + 4 fill a prefill; 3 + 8 do not fit together, and 8 waits although 3 leaves 7.
    assert outcome.times_ms("held_ms").tolist() == [10, 10, 13, 21]


def test_a_step_takes_the_queue_in_order_up_to_its_cap_and_returns_behind_arrivals() -> None:
    pools = Pools(Pool(scheduler=PrefillFirst()))
    # Contexts and one token each: 30,001 + 19,999 = 50,000 fit; the third does not any more.
    outcome = parity.simulated(at_once([30_000, 19_998, 5], [2, 2, 2]), pools, ONE_MS)
    begin_ms = 50_003
    # Step 1: the first two. The queue is then 5, 30,000 + 1, 19,998 + 1: 50,007 are too many, so
    # step 2 takes two. Left is 19,999 and, behind it, the others, which have one step to go.
    assert outcome.times_ms("ended_ms").tolist() == [
        begin_ms + 2000,
        begin_ms + 3000,
        begin_ms + 3000,
    ]


def test_requests_go_to_the_shortest_queue_and_to_the_first_of_equal_ones() -> None:
    pools = Pools(Pool(2, scheduler=PrefillFirst(max_tokens=5), router=parity.ShortestQueue))
    outcome = parity.simulated(at_once([5, 3, 2, 1], [1] * 4), pools, ONE_MS)
    # 5 to the first, 3 to the second, 2 to the first, 1 to the second: with 3, as 4 tokens.
    assert outcome.times_ms("held_ms").tolist() == [5, 4, 7, 4]


def test_stages_of_a_pipeline_overlap() -> None:
    first, second = parity.prefill_stages("distserve-tp1", 2)
    a, b, c = parity.PREFILLS["distserve-tp1"]
    whole_ms = a + b * 512 + c * 512**2
    assert second.ms(512, 512**2) == pytest.approx(whole_ms / 2 + 2, rel=1e-14)
    assert first.ms(512, 512**2) == pytest.approx(whole_ms / 2 + 4 + 512e-4, rel=1e-14)
    model = ServiceModel(PrefillFit(0, 1), DecodeFit(1, 0, 0), later_stages=(PrefillFit(0, 2),))
    pools = Pools.split(Pool(hardware="staged", scheduler=PrefillFirst(max_prompts=1)))
    models = {"staged": model, "": ONE_MS}
    outcome = parity.simulated(at_once([10, 3], [1, 1]), pools, models)
    # Stage 1: 0-10, 10-13. Stage 2: 10-30, 30-36, for it is busy until 30.
    assert outcome.times_ms("held_ms").tolist() == [30, 36]
