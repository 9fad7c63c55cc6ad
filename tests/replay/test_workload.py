"""Arrivals and lengths: kept, scaled, drawn anew, or from distributions."""

import numpy as np
import pyarrow as pa
import pytest

from tests.replay.reference_runs import azure
from tokengap.errors import InputError, UsageError
from tokengap.replay import (
    Client,
    Workload,
    gamma_ms,
    of_clients,
    of_streams,
    on_off_ms,
    poisson_ms,
)
from tokengap.schema import STREAMS


def some() -> Workload:
    return Workload(np.array([0.0, 100, 400]), np.array([5, 6, 7]), np.array([1, 2, 3]))


def cv_of(arrival_ms: np.ndarray) -> float:
    intervals = np.diff(arrival_ms)
    return float(intervals.std() / intervals.mean())


def test_a_rate_stretches_arrivals_and_keeps_their_pattern() -> None:
    scaled = some().at_rate(15)
    # 3 requests in 400 ms are 7.5 in a second; twice the rate is half the time.
    assert scaled.arrival_ms.tolist() == [0, 50, 200]
    assert scaled.rate_per_s == 15
    assert scaled.prompt_tokens.tolist() == [5, 6, 7]


def test_a_bootstrap_draws_prompt_and_answer_together() -> None:
    drawn = some().bootstrap(200, seed=1)
    pairs = zip(drawn.prompt_tokens.tolist(), drawn.output_tokens.tolist(), strict=True)
    assert set(pairs) == {(5, 1), (6, 2), (7, 3)}
    assert set(np.diff(drawn.arrival_ms).tolist()) <= {0.0, 100.0, 300.0}
    again, other = some().bootstrap(200, seed=1), some().bootstrap(200, seed=2)
    assert (drawn.arrival_ms == again.arrival_ms).all()
    assert (drawn.prompt_tokens != other.prompt_tokens).any()


def test_resampled_arrivals_keep_lengths_rate_and_bursts() -> None:
    bursty = azure("2.0").arriving(gamma_ms(1000, 2, cv=4, seed=1))
    drawn = bursty.resampled(seed=3)
    assert (drawn.prompt_tokens == bursty.prompt_tokens).all()
    assert drawn.rate_per_s == pytest.approx(bursty.rate_per_s)
    assert cv_of(drawn.arrival_ms) > 2
    assert (drawn.arrival_ms != bursty.arrival_ms).mean() > 0.9


@pytest.mark.parametrize("cv", [0.5, 1, 3])
def test_gamma_intervals_have_their_rate_and_their_cv(cv: float) -> None:
    arrival_ms = gamma_ms(40_000, 5, cv, seed=1)
    # The mean of n intervals has a standard error of cv / sqrt(n): 0.5 % or less at 0.5 and 1.
    assert 40_000 / arrival_ms[-1] * 1000 == pytest.approx(5, rel=0.05)
    assert cv_of(arrival_ms) == pytest.approx(cv, rel=0.05)
    assert (poisson_ms(9, 5, seed=1) == gamma_ms(9, 5, 1.0, seed=1)).all()


def test_on_and_off_times_keep_the_rate_and_make_bursts() -> None:
    arrival_ms = on_off_ms(20_000, 10, on_s=5, off_s=15, seed=1)
    assert 20_000 / arrival_ms[-1] * 1000 == pytest.approx(10, rel=0.15)
    # In on-times the rate is 40 a second; intervals of a second and more are off-times.
    pauses = np.diff(arrival_ms)
    assert np.median(pauses) == pytest.approx(np.log(2) * 25, rel=0.1)
    assert (pauses > 1000).sum() == pytest.approx(20_000 / 10 / 20, rel=0.3)
    steady = on_off_ms(2000, 10, on_s=5, off_s=0, seed=1)
    assert cv_of(steady) == pytest.approx(1, rel=0.1)


def test_clients_send_together() -> None:
    quick = Client(20, 1, np.array([5]), np.array([1]))
    bursty = Client(5, 4, np.array([80, 90]), np.array([8, 9]))
    workload = of_clients([quick, bursty], duration_s=400, seed=1)
    assert (np.diff(workload.arrival_ms) >= 0).all()
    assert workload.span_ms < 400_000
    is_quick = workload.prompt_tokens == 5
    assert is_quick.sum() == pytest.approx(8000, rel=0.05)
    assert (~is_quick).sum() == pytest.approx(2000, rel=0.3)
    pairs = zip(workload.prompt_tokens.tolist(), workload.output_tokens.tolist(), strict=True)
    assert set(pairs) == {(5, 1), (80, 8), (90, 9)}


def test_users_of_a_closed_loop_think() -> None:
    looped = some().bootstrap(20_000, seed=1).closed_loop(3, think_ms=50, seed=2)
    assert looped.users == 3
    assert looped.arrival_ms.mean() == pytest.approx(50, rel=0.05)


def test_clients_leave_at_a_rate() -> None:
    leaving = some().bootstrap(20_000, seed=1).leaving(rate_per_s=4, seed=2)
    assert leaving.leave_after_ms is not None
    assert leaving.leave_after_ms.mean() == pytest.approx(250, rel=0.05)
    assert some().leaving(0, seed=2).leave_after_ms is None


def test_streams_are_a_workload() -> None:
    rows = [
        {"request_id": "c", "arrival_ns": 9_000_000, "prompt_tokens": 4, "output_tokens": 2,
         "requested_output_tokens": 50, "status": "cancelled", "stream_close_ns": 11_000_000},
        {"request_id": "a", "sent_ns": 4_000_000, "arrival_ns": 5_000_000, "prompt_tokens": 7,
         "output_tokens": 3, "requested_output_tokens": 64, "status": "completed"},
        {"request_id": "no origin", "prompt_tokens": 7, "output_tokens": 3, "status": "completed"},
        {"request_id": "no answer", "sent_ns": 1, "prompt_tokens": 7, "status": "failed"},
    ]  # fmt: skip
    workload = of_streams(pa.Table.from_pylist(rows, STREAMS))
    assert workload.names == ["a", "c"]
    assert workload.arrival_ms.tolist() == [0, 5]
    assert workload.prompt_tokens.tolist() == [7, 4]
    assert workload.output_tokens.tolist() == [3, 50]
    assert workload.leave_after_ms is not None
    assert workload.leave_after_ms.tolist() == [np.inf, 2]
    with pytest.raises(InputError, match="nothing to replay"):
        of_streams(pa.Table.from_pylist(rows[2:], STREAMS))


@pytest.mark.parametrize(
    ("arrival_ms", "prompt", "output", "words"),
    [
        ([0.0, 1.0], [1], [1], "differ in length"),
        ([1.0, 0.0], [1, 1], [1, 1], "arrivals fall"),
        ([0.0, np.nan], [1, 1], [1, 1], "finite"),
        ([-1.0, 0.0], [1, 1], [1, 1], "0 ms or more"),
        ([0.0], [1.5], [1], "tokens are whole numbers"),
        ([0.0], [0], [1], "1 prompt token and 1 output token"),
        ([0.0], [1], [0], "1 prompt token and 1 output token"),
    ],
)
def test_no_workload_is_refused(
    arrival_ms: list[float], prompt: list[float], output: list[int], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        Workload(np.array(arrival_ms), np.array(prompt), np.array(output))
