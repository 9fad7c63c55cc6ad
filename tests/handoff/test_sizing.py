import pytest

from tokengap.errors import UsageError
from tokengap.handoff.sizing import Replicas, replicas


def test_enough_workers_for_a_rate() -> None:
    # 2.5 requests/s at 1/s each need three; a request alone is on its limit
    assert replicas(5, 2, alone_ttft_ns=7, limit_ns=7) == Replicas(3, feasible=True, reason=None)


def test_a_worker_that_serves_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="more than 0"):
        replicas(1, 0, alone_ttft_ns=1, limit_ns=1)
