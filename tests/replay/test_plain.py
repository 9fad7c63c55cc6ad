"""The replay against a loop with an event per step: every token of small workloads, any options."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replay.plain import plain_times_ms
from tokengap.replay import (
    Chunked,
    DecodeFit,
    Pool,
    Pools,
    PrefillFirst,
    PrefillFit,
    ServiceModel,
    Transport,
    Workload,
    replay,
)

# No two sums of these are equal by chance: at one time, one thing happens.
SERVICE = ServiceModel(
    PrefillFit(9.731, 0.1013, 1.37e-4),
    DecodeFit(7.193, 0.00317, 0.4111),
    DecodeFit(5.387, 0.00291, 0.9173),
    large_from=5,
)
LARGEST = 90  # tokens of prompt and answer


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    size = draw(st.integers(1, 25))
    seed = draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    spread_ms = draw(st.sampled_from((1.0, 30.0, 300.0)))
    return Workload(
        np.cumsum(rng.exponential(spread_ms, size)),
        rng.integers(1, 60, size),
        rng.integers(1, LARGEST - 60, size),
    )


schedulers = st.one_of(
    st.builds(PrefillFirst, st.sampled_from((LARGEST, 2 * LARGEST, 10_000))),
    st.builds(Chunked, st.sampled_from((1, 7, 32, 500))),
)
pools = st.builds(
    Pool,
    workers=st.integers(1, 3),
    scheduler=schedulers,
    kv_capacity_tokens=st.sampled_from((None, LARGEST, LARGEST + 9, 3 * LARGEST)),
    max_running=st.sampled_from((None, 1, 3)),
)
transports = st.builds(
    Transport,
    kv_bytes_per_token=st.just(1000.0),
    bandwidth_bytes_per_s=st.sampled_from((None, 1.1e6, 2.3e7)),
    overhead_ms=st.sampled_from((0.0, 3.1415)),
    withheld=st.booleans(),
    stay_below_tokens=st.sampled_from((0, 20)),
)
layouts = st.one_of(
    st.builds(Pools, pools),
    st.builds(Pools, pools, pools, transports),
)


@given(workloads(), layouts)
@settings(max_examples=150)
def test_every_token_comes_when_the_plain_loop_says(workload: Workload, layout: Pools) -> None:
    outcome = replay(workload, layout, SERVICE)
    assert set(outcome.statuses) == {"completed"}
    (chunk,) = outcome.chunks()
    for place, expected_ms in enumerate(plain_times_ms(workload, layout, SERVICE)):
        found_ns = chunk.first_token_ns[place] + np.cumsum([0, *chunk.gaps_of(place)])
        assert len(found_ns) == workload.output_tokens[place]
        np.testing.assert_allclose(found_ns / 1e6, expected_ms, rtol=0, atol=1e-5)
