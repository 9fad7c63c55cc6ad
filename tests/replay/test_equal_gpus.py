"""Four GPUs, one set of fits, the same requests: what chunks do, and what a handoff costs.

OPT-13B on the TP2 fits of vLLM, the Azure conversation trace at 2.667 requests in a second.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.replay.reference_runs import azure
from tokengap.replay import Chunked, Latency, Pool, Pools, Transport, parity, replay
from tokengap.replay.service import Mixed

MS = 1e6
LAYERS = 40
LINK = Transport(819_200, 25e9)
PAIR = Pool(1, tp=2)
ARMS = {
    "prefill first": Pools.colocated(2, tp=2),
    "chunked 512": Pools.colocated(2, tp=2, scheduler=Chunked(512)),
    "chunked 256": Pools.colocated(2, tp=2, scheduler=Chunked(256)),
    "no link time": Pools.split(PAIR, PAIR),
    "25 GB/s": Pools.split(PAIR, PAIR, LINK),
    "25 GB/s, overlapped": Pools.split(PAIR, PAIR, replace(LINK, overlap_layers=LAYERS)),
    "2.5 GB/s": Pools.split(PAIR, PAIR, replace(LINK, bandwidth_bytes_per_s=2.5e9)),
}


@cache
def latency(arm: str, mixed: Mixed = "max") -> Latency:
    requests = azure("2.0").at_rate(azure("2.0").rate_per_s * 4 / 3)
    longer = replace(requests, output_tokens=requests.output_tokens + 1)
    model = replace(parity.model("vllm-tp2", "vllm-tp2"), mixed=mixed)
    outcome = replay(longer, ARMS[arm], model)
    assert outcome.is_stable
    assert ARMS[arm].gpus == 4
    return outcome.latency


def within(gaps_ns: np.ndarray, limit_ms: float) -> float:
    return float(np.mean(gaps_ns <= limit_ms * MS))


@pytest.mark.parametrize("arm", [arm for arm in ARMS if arm != "2.5 GB/s"])
def test_no_average_shows_a_stall(arm: str) -> None:
    assert within(latency(arm).tpot_ns, 100) == 1


def test_prefill_first_stalls_nearly_everybody_and_chunks_nobody() -> None:
    assert within(latency("prefill first").worst_gap_ns, 100) < 0.1
    assert within(latency("chunked 512").worst_gap_ns, 100) == 1
    assert within(latency("chunked 256").worst_gap_ns, 75) == 1


def test_chunks_are_paid_for_before_the_first_token() -> None:
    whole, large, small = (
        np.median(latency(arm).ttft_ns) for arm in ("prefill first", "chunked 512", "chunked 256")
    )
    assert whole * 1.3 < large < small


def test_chunks_of_512_stand_or_fall_with_the_cost_of_a_mixed_step() -> None:
    assert within(latency("chunked 512", "sum").worst_gap_ns, 100) < 0.1
    assert within(latency("chunked 256", "sum").worst_gap_ns, 100) == 1


def test_a_handoff_costs_the_first_gap_and_no_later_one() -> None:
    assert within(latency("no link time").worst_gap_ns, 100) == 1
    for arm in ("25 GB/s", "2.5 GB/s"):
        assert within(latency(arm).first_gap_ns, 100) < 0.7
        assert within(latency(arm).worst_later_gap_ns, 100) == 1
    assert within(latency("2.5 GB/s").tpot_ns, 100) < 1


def test_overlap_by_layer_gives_it_back() -> None:
    assert within(latency("25 GB/s, overlapped").worst_gap_ns, 100) == 1


def test_rankings_by_average_and_by_worst_gap_differ() -> None:
    arms = ("prefill first", "25 GB/s")
    averages = [np.median(latency(arm).tpot_ns) for arm in arms]
    worst = [np.median(latency(arm).worst_gap_ns) for arm in arms]
    assert averages[0] < averages[1]
    assert worst[0] > worst[1]
