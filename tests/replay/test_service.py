"""What steps cost, and how a table stands in for a fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.plain import plain_times_ms
from tests.replay.test_faults import times_ms
from tokengap.replay import (
    Chunked,
    DecodeFit,
    DecodeTable,
    Pools,
    PrefillFit,
    PrefillTable,
    ServiceModel,
    Workload,
    replay,
)

FIT = ServiceModel(PrefillFit(9.731, 0.1013), DecodeFit(7.193, 0.0317, 0.4111))


def held_ms(model: ServiceModel, batch: int, held: int) -> float:
    line = model.line(batch, held)
    assert line.from_tokens <= held < line.below_tokens
    return line.fixed_ms + line.token_ms * held


@given(st.integers(1, 60), st.integers(0, 9000))
def test_a_table_of_a_fit_says_what_the_fit_says(batch: int, held: int) -> None:
    batches, tokens = [1, 8, 64], [0, 100, 1000]
    rows = [[held_ms(FIT, b, t) for t in tokens] for b in batches]
    table = ServiceModel(
        PrefillTable([10, 500], [FIT.prefill_ms(n, 0) for n in (10, 500)]),
        DecodeTable(batches, tokens, rows),
    )
    assert held_ms(table, batch, held) == pytest.approx(held_ms(FIT, batch, held))
    assert table.prefill_ms(held, 0) == pytest.approx(FIT.prefill_ms(held, 0))
    assert table.mixed_ms(5, 25, batch, held) == pytest.approx(FIT.mixed_ms(5, 25, batch, held))


def test_steps_bend_where_the_table_does() -> None:
    # One request of 8 tokens: 10 ms below 10 tokens held, from there 10 ms more per token.
    table = DecodeTable([1, 2], [0, 10, 20], [[10, 10, 110], [10, 10, 110]])
    model = ServiceModel(PrefillFit(1, 0), table)
    one = Workload(np.zeros(1), np.array([8]), np.array([6]))
    # Held before each step: 8, 9, 10, 11, 12.
    assert np.diff(times_ms(replay(one, Pools.colocated(), model))).tolist() == [10, 10, 10, 20, 30]


def test_a_bent_table_agrees_with_the_plain_loop() -> None:
    table = DecodeTable([1, 4, 9], [0, 90, 400], [[7, 9, 30], [8, 13, 39], [13, 20, 77]])
    model = ServiceModel(PrefillFit(3.3, 0.07), table)
    rng = np.random.default_rng(3)
    workload = Workload(
        np.cumsum(rng.exponential(40, 60)), rng.integers(1, 90, 60), rng.integers(1, 40, 60)
    )
    for pools in (Pools.colocated(), Pools.split(), Pools.colocated(2, scheduler=Chunked(16))):
        outcome = replay(workload, pools, model)
        expected = plain_times_ms(workload, pools, model)
        for place in range(len(workload)):
            np.testing.assert_allclose(times_ms(outcome, place), expected[place], atol=1e-5)


@pytest.mark.parametrize(("mixed", "expected_ms"), [("max", 10 + 5 + 6), ("sum", 18 + 5 + 6)])
def test_a_mixed_step_pays_one_fixed_term_or_both(mixed: str, expected_ms: float) -> None:
    model = ServiceModel(PrefillFit(10, 1), DecodeFit(8, 0, 2), mixed=mixed)  # type: ignore[arg-type]
    assert model.mixed_ms(5, 25, batch=3, held=0) == expected_ms


def test_chunks_of_a_prompt_cost_its_square_once() -> None:
    model = ServiceModel(PrefillFit(0, 0, 1), DecodeFit(1, 0, 0))
    one = Workload(np.zeros(1), np.array([10]), np.array([1]))
    outcome = replay(one, Pools.colocated(scheduler=Chunked(3)), model)
    assert outcome.ttft_ns.tolist() == [100e6]
