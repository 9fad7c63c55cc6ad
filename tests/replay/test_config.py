"""What cannot work is refused before anything runs, in words that say what to do."""

import doctest
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest

import tokengap.replay
from tests.replay.test_faults import PLAIN, one
from tokengap.errors import UsageError
from tokengap.replay import (
    Chunked,
    DecodeFit,
    DecodeTable,
    LostWorker,
    Pool,
    Pools,
    PrefillFirst,
    PrefillFit,
    PrefillTable,
    ServiceModel,
    Transport,
    Workload,
    replay,
)
from tokengap.replay.config import Models

MODULES = [f"tokengap.replay.{module.name}" for module in iter_modules(tokengap.replay.__path__)]


def test_the_examples_in_the_docstrings_hold() -> None:
    results = [doctest.testmod(import_module(name)) for name in MODULES]
    assert sum(result.attempted for result in results) > 10
    assert not any(result.failed for result in results)


def test_what_is_offered_is_sorted_and_there() -> None:
    names = tokengap.replay.__all__
    assert sorted(names) == names
    assert all(hasattr(tokengap.replay, name) for name in names)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Pool(0), "a pool of 0 workers"),
        (lambda: Pool(1, tp=0), "of 0 ranks"),
        (lambda: Pool(10**9), "1 to 10,000 workers"),
        (lambda: Pool(kv_capacity_tokens=0), "kv_capacity_tokens=0: nothing could ever run"),
        (lambda: Pool(max_running=0), "max_running=0"),
        (lambda: Pool(max_queue=0), "max_queue=0"),
        (lambda: Pools(Pool(), deadline_ms=0), "every client would leave"),
        (lambda: Transport(bandwidth_bytes_per_s=0), "a bandwidth of 0 moves nothing"),
        (lambda: Transport(overhead_ms=-1), "0 or more"),
        (lambda: Transport(overhead_ms=float("inf")), "0 or more"),
        (lambda: Transport(bandwidth_bytes_per_s=1e9), "a bandwidth needs kv_bytes_per_token"),
        (lambda: Transport(slowdown=0.5), "slowdown=0.5: steps take 1 or more times as long"),
        (lambda: Transport(overlap_layers=0), "of 1 layer or more"),
        (lambda: Chunked(0), "a budget of 0 tokens prefills nothing"),
        (lambda: PrefillFirst(0), "1 token and 1 prompt or more"),
        (lambda: PrefillFit(-1, 0), "less than no time"),
        (lambda: DecodeFit(1, float("nan"), 0), "less than no time"),
        (lambda: PrefillTable([5], [1]), "two or more tokens"),
        (lambda: PrefillTable([5, 5], [1, 1]), "larger than the one before"),
        (lambda: PrefillTable([5, 6], [1]), "one time for each"),
        (lambda: DecodeTable([1, 2], [0, 9], [[1, 2]]), "a time for each batch and each tokens"),
    ],
)
def test_parts_that_cannot_work_are_refused(make: type, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()


@pytest.mark.parametrize(
    ("pools", "model", "words"),
    [
        (
            Pools.colocated(kv_capacity_tokens=15),
            PLAIN,
            "first is request 0: 16 tokens of prompt and answer in a KV cache of at most 15; raise",
        ),
        (
            Pools.split(Pool(kv_capacity_tokens=9)),
            PLAIN,
            "11 tokens of prompt in a KV cache of at most 9",
        ),
        (
            Pools.colocated(scheduler=PrefillFirst(9)),
            PLAIN,
            "10 tokens of prompt in a step of at most 9; raise max_tokens",
        ),
        (
            Pools(
                Pool(tp=2, kv_capacity_tokens=1000, memory_bytes=400_000),
                transport=Transport(1000.0),
            ),
            PLAIN,
            "a KV cache of 1,000 tokens is 1,000,000 bytes, and 2 x 400,000 bytes of memory",
        ),
        (
            Pools.colocated(hardware="h100"),
            {"a100": PLAIN},
            "no service model for the hardware 'h100'; given: 'a100'",
        ),
        (
            Pools.colocated(),
            ServiceModel(PrefillFit(0, 1), DecodeFit(1, 0, 0), later_stages=(PrefillFit(0, 1),)),
            "a pipeline of stages is for a prefill pool",
        ),
    ],
)
def test_what_could_never_be_served_is_refused(pools: Pools, model: Models, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        replay(one(), pools, model)


def test_a_prompt_that_would_be_too_long_after_a_loss_is_refused() -> None:
    pools = Pools.colocated(2, scheduler=PrefillFirst(12))
    assert replay(one(), pools, PLAIN).statuses == ["completed"]
    with pytest.raises(UsageError, match="16 tokens of prompt in a step of at most 12"):
        replay(one(), pools, PLAIN, faults=[LostWorker("worker-0", 5)])


def test_hardware_and_batch_policy_differ_between_pools() -> None:
    fast = ServiceModel(PrefillFit(0, 0.5), DecodeFit(99, 0, 0))
    prefill = Pool(1, tp=2, hardware="fast", scheduler=Chunked(4))
    pools = Pools.split(prefill, Pool(2, tp=1, hardware="slow"))
    outcome = replay(one(), pools, {"fast": fast, "slow": PLAIN})
    # Prefill: 4 + 4 + 2 tokens at 0.5 ms; then steps of 10 ms.
    assert outcome.ttft_ns.tolist() == [5e6]
    assert outcome.latency.worst_gap_ns.tolist() == [10e6]
    assert (pools.gpus, pools.name) == (4, "1P+2D")


def test_an_empty_workload_has_an_empty_outcome() -> None:
    nothing = Workload(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
    outcome = replay(nothing, Pools.split(), PLAIN)
    assert len(outcome) == 0
    assert outcome.ttft_ns.tolist() == []
    assert outcome.busy_shares() == {"prefill-0": 0.0, "decode-0": 0.0}
