from itertools import chain
from typing import Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.queries.given import Library
from tests.replay.sweep.given import MODEL, evenly, limit
from tokengap.replay import (
    Chunked,
    DecodeFit,
    LostWorker,
    Outcome,
    Pool,
    Pools,
    PrefillFit,
    ServiceModel,
    Transport,
    Workload,
    replay,
)
from tokengap.replay.streams import streams
from tokengap.replay.sweep import score
from tokengap.slo import Objective, sql_parameter
from tokengap.store.sql import literal

REAL: Final = ServiceModel(PrefillFit(5, 0.2), DecodeFit(8, 0.001, 0.5))
LIMITS: Final = [
    limit("ttft", 150),
    limit("tpot", 12),
    limit("gap_p50", 11),
    limit("gap_p90", 14),
    limit("gap_p99", 20),
    limit("worst_gap", 40),
    limit("handoff_gap", 30),
    limit("e2e", 900),
]
POOLS: Final = [
    Pools.colocated(2),
    Pools.colocated(1, scheduler=Chunked(64), max_queue=4),
    Pools.split(1, 1, Transport(kv_bytes_per_token=1e3, bandwidth_bytes_per_s=2e7)),
    Pools.split(Pool(1), Pool(2), Transport(stay_below_tokens=40)),
    Pools(Pool(1), Pool(1), first_token_deadline_ms=120.0, deadline_ms=800.0),
    Pools(Pool(2), on_loss="fail"),
]


@st.composite
def loads(draw: st.DrawFn) -> Workload:
    size = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    arrival_ms = np.cumsum(rng.exponential(draw(st.sampled_from([5.0, 30.0, 200.0])), size))
    prompts, answers = rng.integers(1, 300, size), rng.integers(1, 40, size)
    leave_ms = rng.exponential(400.0, size) if draw(st.booleans()) else None
    return Workload(arrival_ms, prompts, answers, leave_after_ms=leave_ms)


def audited(library: Library, outcome: Outcome, objectives: list[Objective]) -> dict[str, int]:
    batches = streams(outcome, "replay")
    library.bind(list(chain.from_iterable(batch.to_pylist() for batch in batches)))
    asked = literal(sql_parameter(objectives))
    whole = library.rows(f"slo_attainment({asked})")[0]
    assert whole["scope"] == "all"
    return {name: whole[name] for name in ("offered", "good")}


@given(loads(), st.sampled_from(POOLS), st.sets(st.sampled_from(range(len(LIMITS))), min_size=1))
@settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_score_is_the_audit_of_the_replay(
    library: Library, load: Workload, pools: Pools, chosen: set[int]
) -> None:
    objectives = [LIMITS[at] for at in sorted(chosen)]
    faults = [LostWorker("worker-1", 100.0, 300.0)] if pools is POOLS[-1] else []
    outcome = replay(load, pools, REAL, faults=faults)
    found = score(outcome, objectives)
    assert {"offered": found.offered, "good": found.good} == audited(library, outcome, objectives)


def test_verdicts_of_each_objective() -> None:
    """Every 100 ms a prompt of 100 ms, one worker: TTFT 100 ms, then steps wait for prompts."""
    outcome = replay(evenly(3, 1000.0, output_tokens=3), Pools.colocated(), MODEL)
    found = score(outcome, [limit("ttft", 100), limit("worst_gap", 9), limit("tpot", 10)])
    assert (found.offered, found.good, found.hidden) == (3, 0, 3)
    counts = {name: (each.met, each.missed) for name, each in found.objectives.items()}
    assert counts == {"ttft": (3, 0), "worst_gap": (0, 3), "tpot": (3, 0)}


def test_a_single_token_has_no_gap_to_miss() -> None:
    outcome = replay(evenly(2, 1000.0), Pools.colocated(), MODEL)
    found = score(outcome, [limit("worst_gap", 1)])
    assert (found.good, found.objectives["worst_gap"].not_applicable) == (2, 2)


@pytest.mark.parametrize("limit_ms", [99.9, 100])
def test_who_leaves_in_vain_has_missed(limit_ms: float) -> None:
    """Two prompts of 100 ms at once: the second client leaves after 100 ms without a token."""
    both = Workload(np.zeros(2), np.full(2, 100), np.ones(2, np.int64), np.array([np.inf, 100.0]))
    outcome = replay(both, Pools.colocated(scheduler=Chunked(100)), MODEL)
    found = score(outcome, [limit("ttft", limit_ms)])
    assert outcome.statuses == ["completed", "cancelled"]
    assert found.offered == (2 if limit_ms < 100 else 1)


@pytest.mark.parametrize("limit_ms", [49, 50])
def test_who_leaves_during_a_handoff_has_waited_for_it(limit_ms: float) -> None:
    """A token after 100 ms, and its cache would take 100 more: the client leaves at 150."""
    one = Workload(np.zeros(1), np.array([100]), np.array([5]), np.array([150.0]))
    way = Transport(kv_bytes_per_token=1, bandwidth_bytes_per_s=1e3)
    outcome = replay(one, Pools.split(1, 1, way), MODEL)
    assert outcome.statuses == ["cancelled"]
    assert score(outcome, [limit("handoff_gap", limit_ms)]).offered == (1 if limit_ms < 50 else 0)
