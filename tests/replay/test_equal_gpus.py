"""Four GPUs, one set of fits, the same requests: what chunks do, and what a handoff costs."""

import numpy as np
import pytest

from tests.replay.equal_gpus import ARMS, latency, within

WHOLE = "2 colocated, prefill first"
LARGE = "2 colocated, chunks of 512"
SMALL = "2 colocated, chunks of 256"


@pytest.mark.parametrize("arm", [arm for arm in ARMS if arm != "1P+1D, 2.5 GB/s"])
def test_no_average_shows_a_stall(arm: str) -> None:
    assert within(latency(arm).tpot_ns, 100) == 1


def test_prefill_first_stalls_nearly_everybody_and_chunks_nobody() -> None:
    assert within(latency(WHOLE).worst_gap_ns, 100) < 0.1
    assert within(latency(LARGE).worst_gap_ns, 100) == 1
    assert within(latency(SMALL).worst_gap_ns, 75) == 1


def test_chunks_are_paid_for_before_the_first_token() -> None:
    whole, large, small = (np.median(latency(arm).ttft_ns) for arm in (WHOLE, LARGE, SMALL))
    assert whole * 1.3 < large < small


def test_chunks_of_512_stand_or_fall_with_the_cost_of_a_mixed_step() -> None:
    assert within(latency(LARGE, "sum").worst_gap_ns, 100) < 0.1
    assert within(latency(SMALL, "sum").worst_gap_ns, 100) == 1


def test_a_handoff_costs_the_first_gap_and_no_later_one() -> None:
    assert within(latency("1P+1D, no link time").worst_gap_ns, 100) == 1
    for arm in ("1P+1D, 25 GB/s", "1P+1D, 2.5 GB/s"):
        assert within(latency(arm).first_gap_ns, 100) < 0.7
        assert within(latency(arm).worst_later_gap_ns, 100) == 1
    assert within(latency("1P+1D, 2.5 GB/s").tpot_ns, 100) < 1


def test_overlap_by_layer_gives_it_back() -> None:
    assert within(latency("1P+1D, 25 GB/s, by layer").worst_gap_ns, 100) == 1


def test_rankings_by_average_and_by_worst_gap_differ() -> None:
    arms = (WHOLE, "1P+1D, 25 GB/s")
    averages = [np.median(latency(arm).tpot_ns) for arm in arms]
    worst = [np.median(latency(arm).worst_gap_ns) for arm in arms]
    assert averages[0] < averages[1]
    assert worst[0] > worst[1]
