import numpy as np
import pytest

from tests.replay.sweep.given import evenly
from tokengap.errors import UsageError
from tokengap.replay import Workload
from tokengap.replay.load import Load

LOG = evenly(1000, 100.0, output_tokens=3)


def test_a_load_as_it_stands_is_the_log() -> None:
    assert Load().of(LOG) is LOG


def test_fewer_faster_and_shorter_requests() -> None:
    found = Load(requests=10, rate_per_s=20.0, longest_prompt_tokens=7).of(LOG)
    assert len(found) == 10
    assert found.rate_per_s == pytest.approx(20)
    assert (found.prompt_tokens == 7).all()


@pytest.mark.parametrize("kind", ["poisson", "gamma=3", "on-off=2s,5s"])
def test_other_arrivals_keep_the_rate_and_are_seeded(kind: str) -> None:
    one, again, other = (Load(arrivals=kind, seed=seed).of(LOG) for seed in (1, 1, 2))
    assert (one.arrival_ms == again.arrival_ms).all()
    assert (one.arrival_ms != other.arrival_ms).any()
    assert one.rate_per_s == pytest.approx(LOG.rate_per_s, rel=0.35)
    assert (one.prompt_tokens == LOG.prompt_tokens).all()


def test_a_closed_loop_has_users_who_think() -> None:
    found = Load(arrivals="closed=8,2s").of(LOG)
    assert found.users == 8
    assert found.arrival_ms.mean() == pytest.approx(2000, rel=0.2)


def test_requests_are_drawn_prompt_and_answer_together() -> None:
    mixed = Workload(np.arange(4.0), np.array([1, 2, 3, 4]), np.array([10, 20, 30, 40]))
    found = Load(drawn=50).of(mixed)
    assert len(found) == 50
    assert (found.output_tokens == 10 * found.prompt_tokens).all()


def test_clients_that_leave() -> None:
    found = Load(leave_per_s=0.5).of(LOG)
    assert found.leave_after_ms is not None
    assert found.leave_after_ms.mean() == pytest.approx(2000, rel=0.2)


@pytest.mark.parametrize(
    "kind", ["", "gamma", "gamma=x", "gamma=1,2", "poisson=1", "closed=8", "weibull=1", "on-off=1s"]
)
def test_arrivals_that_cannot_be_made_are_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="arrivals"):
        Load(arrivals=kind).of(LOG)
