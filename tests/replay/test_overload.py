"""Too much work: a verdict early, an end in any case, and every step is worth something."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replay.reference_runs import azure
from tests.replay.test_faults import PLAIN
from tests.replay.test_plain import LARGEST, SERVICE, layouts, schedulers
from tokengap.replay import (
    Chunked,
    DecodeFit,
    Pool,
    Pools,
    PrefillFit,
    ServiceModel,
    Transport,
    Workload,
    gamma_ms,
    on_off_ms,
    parity,
    poisson_ms,
    replay,
)
from tokengap.replay.worker import Worker

OPT13B = parity.model("vllm-tp2", "vllm-tp2")


class Watched(Worker):
    """A worker whose every step gives a token, or prefills some."""

    def _start(self, until_ms: float) -> bool:
        tokens, clock_ms = len(self.batch.ends), self.clock_ms
        if not super()._start(until_ms):
            assert not self.batch.running
            return False
        prefilled = sum(stop - start for _, start, stop in self.pieces)
        assert self.clock_ms > clock_ms
        assert prefilled > 0 or len(self.batch.ends) > tokens
        assert self.held + self.reserved <= self.capacity
        return True


@given(layouts, st.integers(0, 1000))
@settings(max_examples=60)
def test_every_step_gives_tokens_or_prefills_some(layout: Pools, seed: int) -> None:
    rng = np.random.default_rng(seed)
    workload = Workload(
        np.sort(rng.uniform(0, 100, 30)), rng.integers(1, 60, 30), rng.integers(1, 30, 30)
    )
    outcome = replay(workload, layout, SERVICE, make_worker=Watched, to_the_end=True)
    assert set(outcome.statuses) == {"completed"}


@given(schedulers, schedulers, st.booleans(), st.integers(0, 1000))
@settings(max_examples=15)
def test_ten_times_the_sustainable_rate_with_tight_memory_ends(
    first: Chunked, second: Chunked, is_split: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    size = 120
    prompts, answers = rng.integers(1, 60, size), rng.integers(1, 30, size)
    alone_ms = sum(SERVICE.prefill_ms(n, n * n) for n in prompts.tolist()) + 7 * answers.sum()
    workload = Workload(np.linspace(0, alone_ms / 10, size), prompts, answers)
    tight = {"kv_capacity_tokens": LARGEST}
    decode = Pool(scheduler=first, **tight)  # type: ignore[arg-type]
    prefill = Pool(scheduler=second, **tight) if is_split else None  # type: ignore[arg-type]
    outcome = replay(workload, Pools(decode, prefill), SERVICE, to_the_end=True)
    assert set(outcome.statuses) == {"completed"}


@pytest.mark.parametrize(
    "pools",
    [
        Pools.colocated(2),
        Pools.colocated(2, scheduler=Chunked(512)),
        Pools.colocated(2, kv_capacity_tokens=20_000),
        Pools.split(),
        Pools.split(1, Pool(kv_capacity_tokens=20_000)),
        Pools.split(1, 1, Transport(819_200, 3e9)),
    ],
)
def test_a_rate_that_diverges_is_found_early(pools: Pools) -> None:
    workload = azure("2.0").bootstrap(8000, seed=1)
    outcome = replay(workload.at_rate(20.0), pools, OPT13B)
    assert not outcome.is_stable
    assert len(outcome) < 6000
    assert {"completed", "in_flight"} == set(outcome.statuses)
    growth = outcome.queues.growth_per_s()
    assert max(growth["prefill"] or 0, growth["decode"] or 0) > 1
    calm = replay(workload.first(2000).at_rate(1.5), pools, OPT13B)
    assert calm.is_stable
    assert set(calm.statuses) == {"completed"}


def test_tokens_of_requests_under_way_count_until_the_stop() -> None:
    workload = azure("2.0").bootstrap(8000, seed=1).at_rate(20.0)
    outcome = replay(workload, Pools.colocated(), OPT13B)
    stop_ms = outcome.queues.at_ms[-1]
    begun = [r for r in outcome.requests if r.status == "in_flight" and r.left < r.output_tokens]
    assert begun
    for chunk in outcome.chunks():
        assert (chunk.first_token_ns <= stop_ms * 1e6).all()
    tokens = outcome.tokens
    assert all(tokens[r.index] == r.output_tokens - r.left for r in begun)


def test_a_queue_of_the_wrong_phase_grows() -> None:
    """One prefill worker against one decode worker: the long prompts wait before the first."""
    size = 4000
    long = Workload(poisson_ms(size, 4, 1), np.full(size, 8000), np.full(size, 5))
    growth = replay(long, Pools.split(), OPT13B).queues.growth_per_s()
    assert (growth["prefill"] or 0) > 1
    assert (growth["decode"] or 0) < 0.1
    wordy = Workload(poisson_ms(size, 4, 1), np.full(size, 80), np.full(size, 2000))
    growth = replay(wordy, Pools.split(), OPT13B).queues.growth_per_s()
    assert (growth["decode"] or 0) > 1
    assert (growth["prefill"] or 0) < 0.1


@pytest.mark.parametrize("burst", [gamma_ms(3000, 20, 4, seed=2), on_off_ms(3000, 20, 2, 3, 2)])
def test_bursts_are_no_overload(burst: np.ndarray) -> None:
    # A prefill of 10 ms and 5 steps of 10 ms for a batch of any size: far from overload.
    workload = Workload(burst, np.full(3000, 10), np.full(3000, 6))
    assert replay(workload, Pools.colocated(), PLAIN).is_stable


@pytest.mark.parametrize(
    "pools", [Pools.colocated(2), Pools.split(), Pools.colocated(max_running=1)]
)
def test_steps_that_take_no_time_end_at_once(pools: Pools) -> None:
    free = ServiceModel(PrefillFit(0, 0), DecodeFit(0, 0, 0))
    outcome = replay(azure("2.0").first(100), pools, free)
    assert set(outcome.statuses) == {"completed"}
    assert outcome.ttft_ns.tolist() == [0] * 100
    assert np.nanmax(outcome.latency.worst_gap_ns) == 0
