from typing import Any

import numpy as np
import pytest

from tests.replay.sweep.given import MODEL, MS, PREFILL_MS, evenly
from tokengap.replay import Outcome, Pools, replay
from tokengap.replay.sweep.validate import Logged, validate


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """Ten requests that meet nobody: TTFT 100 ms, and two gaps of 10 ms."""
    return replay(evenly(10, 1000.0, output_tokens=3), Pools.colocated(), MODEL)


def log(ttft_ms: float, gap_ms: float = 10.0, attainment: float | None = None) -> Logged:
    values = {"ttft": ttft_ms, "tpot": gap_ms, "worst_gap": gap_ms}
    gaps = dict.fromkeys((50, 90, 99), gap_ms * MS)
    return Logged({name: np.full(7, ms * MS) for name, ms in values.items()}, gaps, attainment)


def by_name(*args: Any) -> dict[str, Any]:
    return {each.name: each for each in validate(*args).numbers}


def test_a_log_that_is_the_replay_is_reproduced(outcome: Outcome) -> None:
    found = validate(log(PREFILL_MS, attainment=1.0), outcome, 1.0)
    assert found.reproduced
    assert len(found.numbers) == 3 * 3 + 3 + 1
    assert all(each.error_share == 0 for each in found.numbers)


def test_errors_are_shares_of_what_was_logged(outcome: Outcome) -> None:
    """100 ms for 125: a fifth too low, just reproduced; for 126: no longer."""
    assert by_name(log(125), outcome, None)["ttft p50"].error_share == pytest.approx(-0.2)
    assert by_name(log(125), outcome, None)["ttft p50"].reproduced
    missed = validate(log(126), outcome, None)
    assert not missed.reproduced
    assert "ttft p50, ttft p90, ttft p99" in missed.says
    assert "not as numbers" in missed.says


def test_a_repeat_that_is_further_off_makes_allowance(outcome: Outcome) -> None:
    """Logged 200, repeated 300: half as much again is noise, and so is half as much."""
    found = by_name(log(200), outcome, None, log(300))["ttft p50"]
    assert (found.error_share, found.noise_share) == (-0.5, 0.5)
    assert found.reproduced
    assert not by_name(log(200), outcome, None, log(220))["ttft p50"].reproduced


def test_attainments_are_compared_in_points(outcome: Outcome) -> None:
    close = by_name(log(PREFILL_MS, attainment=0.9), outcome, 0.85)["attainment"]
    assert close.error_share == pytest.approx(-0.05)
    assert close.reproduced
    assert not by_name(log(PREFILL_MS, attainment=0.9), outcome, 0.8)["attainment"].reproduced


def test_nothing_known_is_nothing_reproduced(outcome: Outcome) -> None:
    found = validate(Logged({}, {}, None), outcome, None)
    assert not found.reproduced
    assert "Nothing could be compared" in found.says


def test_single_gaps_may_scatter_around_their_mean(outcome: Outcome) -> None:
    """20 gaps of 10 ms, every other one half as long again: the slowest tenth is 15 ms."""
    found = validate(log(PREFILL_MS), outcome, None, None, lambda n: np.tile([0.5, 1.5], n // 2))
    by = {each.name: each.replayed / MS for each in found.numbers}
    assert by["gap p90"] == 15
    assert by["worst_gap p90"] == 10  # of a request, as replayed
