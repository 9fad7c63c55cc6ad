"""Clients that leave, queues that are full, users that wait for their answer."""

from dataclasses import replace

import numpy as np
import pytest

from tests.replay.test_faults import LINK, PLAIN, one, times_ms
from tokengap.replay import Pool, Pools, PrefillFirst, Workload, replay

# A prefill takes 1 ms a token, a decode step 10 ms; moving a token takes 10 ms.


def leaving(*after_ms: float, prompt: int = 10, answer: int = 6) -> Workload:
    size = len(after_ms)
    return Workload(
        np.zeros(size), np.full(size, prompt), np.full(size, answer), np.array(after_ms)
    )


@pytest.mark.parametrize(
    ("leave_ms", "expected_ms"),
    [(5, []), (10, [10]), (29, [10, 20]), (30, [10, 20, 30]), (999, [10, 20, 30, 40, 50, 60])],
)
def test_a_client_gets_the_tokens_until_it_leaves(
    leave_ms: float, expected_ms: list[float]
) -> None:
    outcome = replay(leaving(leave_ms), Pools.colocated(), PLAIN)
    assert (times_ms(outcome) if expected_ms else outcome.tokens.tolist()) == (expected_ms or [0])
    assert outcome.statuses == ["completed" if len(expected_ms) == 6 else "cancelled"]


def test_a_place_in_the_batch_is_free_from_the_next_step_on() -> None:
    pools = Pools.colocated(max_running=1)
    outcome = replay(leaving(25, np.inf, answer=4), pools, PLAIN)
    # The first leaves during the step that ends at 30; then the second is prefilled.
    assert times_ms(outcome, 0) == [10, 20]
    assert times_ms(outcome, 1) == [40, 50, 60, 70]
    assert outcome.wasted.decode_tokens == 2
    assert outcome.wasted.prefill_tokens == 10


@pytest.mark.parametrize(
    ("leave_ms", "sent_bytes"), [(60, 5000), (10, 0), (110, 10_000), (5, 0), (115, 10_000)]
)
def test_bytes_in_flight_for_a_client_that_left_are_wasted(
    leave_ms: float, sent_bytes: float
) -> None:
    outcome = replay(leaving(leave_ms), Pools.split(1, 1, LINK), PLAIN)
    assert outcome.statuses == ["cancelled"]
    assert outcome.wasted.kv_bytes == outcome.transfer_bytes == sent_bytes


def test_whoever_waits_for_room_may_leave_too() -> None:
    decode = Pool(kv_capacity_tokens=16)
    outcome = replay(leaving(np.inf, 35, np.inf), Pools.split(1, decode), PLAIN)
    # Prefills of all three take 30 ms. The first decodes from 30 to 80; the second leaves at 35.
    assert outcome.statuses == ["completed", "cancelled", "completed"]
    assert outcome.requests[2].arrived_ms == 80


def test_deadlines_count_from_the_arrival() -> None:
    pools = Pools.colocated()
    hurried = replace(pools, deadline_ms=30), replace(pools, first_token_deadline_ms=9)
    for layout, tokens, ended_ms in zip(hurried, (3, 0), (30, 9), strict=True):
        outcome = replay(one(), layout, PLAIN)
        assert outcome.statuses == ["timed_out"]
        assert outcome.tokens.tolist() == [tokens]
        assert outcome.requests[0].ended_ms == ended_ms
    assert replay(one(), replace(pools, deadline_ms=60), PLAIN).statuses == ["completed"]
    punctual = replace(pools, first_token_deadline_ms=10)
    assert replay(one(), punctual, PLAIN).statuses == ["completed"]


def test_a_full_queue_rejects() -> None:
    workload = Workload(np.array([0.0, 1, 2, 3, 24]), np.full(5, 10), np.full(5, 1))
    pools = Pools.colocated(scheduler=PrefillFirst(max_prompts=1), max_queue=2)
    outcome = replay(workload, pools, PLAIN)
    # One is prefilled, two wait, the fourth finds the queue full; at 24 one waits.
    assert outcome.statuses == ["completed", "completed", "completed", "rejected", "completed"]
    assert outcome.requests[3].error == "queue_full"
    assert outcome.wasted.prefill_tokens == 0


def test_a_full_queue_before_the_decode_pool_rejects_at_the_door() -> None:
    workload = Workload(np.array([0.0, 1, 2, 45]), np.full(4, 10), np.full(4, 6))
    decode = Pool(kv_capacity_tokens=16, max_queue=1)
    outcome = replay(workload, Pools.split(1, decode), PLAIN)
    assert outcome.statuses == ["completed", "completed", "completed", "rejected"]


def test_users_send_again_after_their_answer_and_a_thought() -> None:
    think_ms = np.array([0.0, 7, 5, 3])
    workload = Workload(think_ms, np.full(4, 10), np.array([3, 1, 1, 1]), users=2)
    outcome = replay(workload, Pools.colocated(), PLAIN)
    # Two users think 0 and 7 ms. The first is served from 0 to 10; the second from 10 to 20, then
    # user two thinks 5 ms: 25. The step of the first ends at 30, that of its end, so a prompt of 25
    # goes first: 30 to 40, the last step until 50. User two, done at 40, thinks 3 ms: 43, 50 to 60.
    assert outcome.times_ms("arrival_ms").tolist() == [0, 7, 25, 43]
    assert times_ms(outcome, 0) == [10, 30, 50]
    assert [times_ms(outcome, at)[0] for at in (1, 2, 3)] == [20, 40, 60]


def test_a_closed_loop_never_has_more_requests_than_users() -> None:
    rng = np.random.default_rng(5)
    drawn = Workload(np.zeros(300), rng.integers(1, 50, 300), rng.integers(1, 50, 300))
    for pools in (Pools.colocated(2), Pools.split(1, 2, LINK)):
        outcome = replay(drawn.closed_loop(7, think_ms=20, seed=2), pools, PLAIN)
        stays = zip(outcome.times_ms("arrival_ms"), outcome.times_ms("ended_ms"), strict=True)
        changes = sorted([change for a, e in stays for change in ((a, 1), (e, -1))])
        assert np.cumsum([change for _, change in changes]).max() == 7
        assert set(outcome.statuses) == {"completed"}
