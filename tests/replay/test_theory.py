"""What must hold whatever the numbers: queueing theory, conservation, causality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replay.reference_runs import azure, queue_rows
from tests.replay.test_plain import SERVICE, layouts, workloads
from tokengap.replay import (
    Chunked,
    DecodeFit,
    Outcome,
    Pool,
    Pools,
    PrefillFirst,
    PrefillFit,
    ServiceModel,
    Transport,
    Workload,
    parity,
    replay,
)

ONE_BY_ONE = PrefillFirst(max_prompts=1)


def prefills(row: dict[str, float]) -> Outcome:
    """Prompts of 512 tokens and answers of one, one at a time, of OPT-13B, as in the table."""
    rate_per_s, stages, arrivals = (row[name] for name in ("rate_per_s", "stages", "arrivals"))
    # The simulator's arrivals: one at 0, then intervals of NumPy's frozen generator.
    chance = np.random.RandomState(int(row["seed"]))
    intervals_ms = chance.exponential(1 / rate_per_s, int(arrivals) - 1) * 1000
    ones = np.ones(int(arrivals), np.int64)
    workload = Workload(np.concatenate(([0.0], np.cumsum(intervals_ms))), 512 * ones, ones)
    models = {"staged": parity.model("distserve-tp1", "distserve-tp1", int(stages)), "": SERVICE}
    return replay(workload, Pools.split(Pool(hardware="staged", scheduler=ONE_BY_ONE)), models)


@pytest.mark.parametrize("row", queue_rows())
def test_mean_ttft_is_that_of_an_m_d_1_queue(row: dict[str, float]) -> None:
    mean_ms = np.mean(prefills(row).ttft_ns) / 1e6
    assert mean_ms == pytest.approx(row["theory_mean_ttft_ms"], rel=0.01)
    assert mean_ms == pytest.approx(row["simdistserve_mean_ttft_ms"], rel=1e-8)


@pytest.mark.parametrize("row", queue_rows())
def test_every_prefill_ends_where_the_recursion_says(row: dict[str, float]) -> None:
    stages = parity.prefill_stages("distserve-tp1", int(row["stages"]))
    took_ms = [stage.ms(512, 512**2) for stage in stages]
    assert sum(took_ms) == pytest.approx(row["service_ms"])
    free_ms = [0.0] * len(stages)
    for request in prefills(row).requests:
        at_ms = request.arrival_ms
        for stage, ms in enumerate(took_ms):
            at_ms = free_ms[stage] = max(free_ms[stage], at_ms) + ms
        assert request.held_ms == at_ms


@given(workloads(), layouts)
@settings(max_examples=60)
def test_requests_in_the_system_are_arrivals_times_their_stay(
    workload: Workload, layout: Pools
) -> None:
    """Little's law: the area under the number of requests is the sum of the times they stay."""
    outcome = replay(workload, layout, SERVICE)
    ended_ms = outcome.times_ms("ended_ms")
    events = sorted([(ms, 1) for ms in workload.arrival_ms] + [(ms, -1) for ms in ended_ms])
    area, inside, last_ms = 0.0, 0, 0.0
    for ms, change in events:
        area += inside * (ms - last_ms)
        inside, last_ms = inside + change, ms
    assert area == pytest.approx(np.sum(ended_ms - workload.arrival_ms))


@given(workloads(), layouts)
@settings(max_examples=60)
def test_tokens_and_memory_are_conserved(workload: Workload, layout: Pools) -> None:
    outcome = replay(workload, layout, SERVICE)
    assert (outcome.tokens == workload.output_tokens).all()
    for worker in outcome.workers:
        assert worker.batch.contexts == worker.parked == worker.reserved == worker.wanted == 0
        assert worker.requests == 0
        assert 0 <= worker.busy_ms <= outcome.end_ms + 1e-6
        assert (np.diff(np.array(worker.batch.ends)) > 0).all()
    moved = sum(request.kv_bytes for request in outcome.requests)
    assert outcome.transfer_bytes == pytest.approx(moved + outcome.wasted.kv_bytes)


def test_a_worker_that_has_work_works() -> None:
    """Work conservation: equal work in any order keeps one worker as busy, and as long."""
    ends, busy = [], []
    for max_prompts in (1, 3):
        pool = Pool(scheduler=PrefillFirst(max_prompts=max_prompts))
        workload = Workload(np.arange(50.0), np.full(50, 30), np.ones(50, np.int64))
        outcome = replay(workload, Pools(pool), ServiceModel(PrefillFit(0, 1), DecodeFit(1, 0, 1)))
        ends.append(outcome.end_ms)
        busy.append(outcome.workers[0].busy_ms)
    assert ends == busy == [50 * 30, 50 * 30]


@given(workloads(), st.sampled_from((None, 1.1e6, 2.3e7)), st.sampled_from((0.0, 3.1415)))
@settings(max_examples=60)
def test_a_withheld_first_token_moves_time_and_removes_none(
    workload: Workload, bandwidth: float | None, overhead_ms: float
) -> None:
    now, later = (
        replay(
            workload,
            Pools.split(1, 2, Transport(1000.0, bandwidth, overhead_ms=overhead_ms, withheld=held)),
            SERVICE,
        )
        for held in (False, True)
    )
    assert (now.times_ms("ended_ms") == later.times_ms("ended_ms")).all()
    several = workload.output_tokens > 1
    second_ns = [(o.ttft_ns + o.latency.first_gap_ns)[several] for o in (now, later)]
    np.testing.assert_allclose(second_ns[0], second_ns[1], atol=1, rtol=0)
    assert (later.ttft_ns >= now.ttft_ns).all()


@given(workloads(), layouts)
@settings(max_examples=60)
def test_nothing_happens_before_its_cause(workload: Workload, layout: Pools) -> None:
    outcome = replay(workload, layout, SERVICE)
    steps = {worker.number: worker.batch.ends for worker in outcome.workers}
    for r in outcome.requests:
        came = [r.arrival_ms, r.queued_ms, r.began_ms, r.held_ms]
        if r.arrived_ms == r.arrived_ms:  # it was moved
            came += [r.moving_ms, r.arrived_ms, r.admitted_ms, steps[r.decoder][r.first_step]]
        assert came == sorted(came)
        assert came[-1] <= r.ended_ms


@pytest.mark.parametrize("scheduler", [PrefillFirst(), Chunked(512)])
def test_a_split_of_equal_gpus_against_its_own_limits(scheduler: PrefillFirst | Chunked) -> None:
    """A decode worker that only decodes never makes a stream wait for a prompt."""
    workload = azure("2.0").first(300)
    model = parity.model("vllm-tp2", "vllm-tp2")
    colocated = replay(workload, Pools(Pool(2, scheduler=scheduler)), model)
    split = replay(workload, Pools.split(), model)
    step_ms = model.line(40, 60_000).fixed_ms + model.line(40, 60_000).token_ms * 60_000
    assert np.nanmax(split.latency.worst_later_gap_ns) < step_ms * 1e6
    assert np.nanmax(colocated.latency.worst_later_gap_ns) > step_ms * 1e6
