"""Who gets a request."""

import numpy as np
import pytest

from tests.replay.test_faults import LINK, PLAIN
from tokengap.replay import (
    JoinShortest,
    LeastLoaded,
    Pool,
    Pools,
    PrefillFirst,
    RoundRobin,
    Workload,
    replay,
)

# A long prompt, and short ones; a prefill takes 1 ms a token.
PROMPTS = [40, 10, 10, 10, 10]


@pytest.mark.parametrize(
    ("router", "workers"),
    [
        # 40 tokens to the first worker; then the second has fewer until it has 40, too.
        (LeastLoaded, [0, 1, 1, 1, 1]),
        (JoinShortest, [0, 1, 0, 1, 0]),
        (RoundRobin, [0, 1, 0, 1, 0]),
    ],
)
def test_routers_differ_in_what_they_look_at(router: type, workers: list[int]) -> None:
    workload = Workload(np.arange(5) / 10, np.array(PROMPTS), np.ones(5, np.int64))
    pools = Pools.colocated(2, router=router, scheduler=PrefillFirst(max_prompts=1))
    outcome = replay(workload, pools, PLAIN)
    assert [request.prefiller for request in outcome.requests] == workers


@pytest.mark.parametrize("router", [LeastLoaded, JoinShortest, RoundRobin])
def test_caches_on_their_way_count(router: type) -> None:
    # Prefills end at 10, 20, 30 and 40; none has arrived until 110.
    workload = Workload(np.zeros(4), np.full(4, 10), np.full(4, 9))
    prefill = Pool(scheduler=PrefillFirst(max_prompts=1))
    outcome = replay(workload, Pools.split(prefill, Pool(2, router=router), LINK), PLAIN)
    assert [request.decoder for request in outcome.requests] == [1, 2, 1, 2]


def test_a_router_sees_what_has_ended_by_now() -> None:
    # The first worker is free again at 40, when the second still prefills until 50.
    workload = Workload(np.array([0.0, 10, 45]), np.array([40, 40, 10]), np.ones(3, np.int64))
    outcome = replay(workload, Pools.colocated(2, router=JoinShortest), PLAIN)
    assert [request.prefiller for request in outcome.requests] == [0, 1, 0]
