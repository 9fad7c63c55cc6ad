import numpy as np
import pytest

from tests.replay.sweep.given import MACHINE, PREFILL_MS, evenly, limit
from tokengap.errors import UsageError
from tokengap.replay.sweep import Case, colocated, largest_rate
from tokengap.replay.sweep.capacity import STEP

ARM = colocated(1, MACHINE)


def rate_of(
    ttft_ms: float, every_ms: float = 250.0, target: float = 1.0, requests: int = 400
) -> float | None:
    case = Case(evenly(requests, every_ms), [limit("ttft", ttft_ms)])
    return largest_rate(ARM, case, target, [1]).rate_per_s


@pytest.mark.parametrize("every_ms", [30.0, 250.0, 3000.0])
def test_a_prefill_of_100_ms_serves_ten_requests_a_second(every_ms: float) -> None:
    """Even arrivals wait for nobody up to 1 / 0.1 s, from wherever the search begins."""
    found = rate_of(PREFILL_MS, every_ms)
    assert found is not None
    assert 10 / STEP <= found <= 10 * (1 + 1e-9)


def test_a_limit_below_the_service_time_is_kept_at_no_rate() -> None:
    assert rate_of(PREFILL_MS / 2) is None


def test_a_queue_that_grows_is_no_capacity() -> None:
    """A limit of a day is met by every request however late, but they pile up beyond 10/s."""
    found = rate_of(1e8, requests=4000)
    assert found is not None
    assert found <= 10 * 1.06  # a queue may keep 5 % of what arrives before it is seen


def test_a_rate_needs_arrivals_in_an_open_loop() -> None:
    closed = Case(evenly(10, 1.0).closed_loop(2, 5.0, seed=1), [limit("ttft", 1)])
    with pytest.raises(UsageError, match="open loop"):
        largest_rate(ARM, closed, 0.9, [1])
    at_once = Case(evenly(3, 0.0), [limit("ttft", 1)])
    with pytest.raises(UsageError, match="a span"):
        largest_rate(ARM, at_once, 0.9, [1])


@pytest.mark.parametrize("target", [0.0, 1.1, np.nan])
def test_a_target_is_a_share(target: float) -> None:
    with pytest.raises(UsageError, match="no share"):
        rate_of(PREFILL_MS, target=target)
