"""What breaks is counted, and nobody is lost without a word."""

from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replay.test_plain import SERVICE, layouts, workloads
from tokengap.errors import UsageError
from tokengap.replay import (
    DecodeFit,
    FailingTransfers,
    Fault,
    LostWorker,
    Outcome,
    Pools,
    PrefillFit,
    ServiceModel,
    SlowLink,
    SlowWorker,
    Transport,
    Workload,
    at_rate,
    replay,
)

# A prefill takes 1 ms a token, a decode step 10 ms; 1,000 bytes a token over 100 bytes a ms.
PLAIN = ServiceModel(PrefillFit(0, 1), DecodeFit(10, 0, 0))
LINK = Transport(1000.0, 1e5)


def one(prompt: int = 10, answer: int = 6) -> Workload:
    return Workload(np.zeros(1), np.array([prompt]), np.array([answer]))


def times_ms(outcome: Outcome, place: int = 0) -> list[float]:
    chunk = next(outcome.chunks())
    since_ns = np.cumsum([0, *chunk.gaps_of(place)])
    stamps_ms: list[float] = ((chunk.first_token_ns[place] + since_ns) / 1e6).tolist()
    return stamps_ms


def test_a_lost_decoder_loses_no_token_and_no_stream() -> None:
    pools = Pools.split(1, 2)
    outcome = replay(one(), pools, PLAIN, faults=[LostWorker("decode-0", 35)])
    # 10: prefilled. 20, 30: steps of decode-0. 35: lost with 10 + 2 tokens and one in the making;
    # 10 + 3 tokens are prefilled again until 48, which gives the next one; then decode-1 goes on.
    assert times_ms(outcome) == [10, 20, 30, 48, 58, 68]
    assert outcome.statuses == ["completed"]
    assert outcome.wasted.lost_streams == 1
    assert outcome.wasted.prefill_tokens == 10
    assert outcome.record.marks == [(0, "cache_lost", 35.0)]


def test_a_lost_stream_fails_where_that_is_the_rule() -> None:
    pools = replace(Pools.split(1, 2), on_loss="fail")
    outcome = replay(one(), pools, PLAIN, faults=[LostWorker("decode-0", 35)])
    assert outcome.statuses == ["failed"]
    assert outcome.requests[0].error == "cache_lost"
    assert times_ms(outcome) == [10, 20, 30]
    assert (outcome.wasted.decode_tokens, outcome.wasted.prefill_tokens) == (3, 10)


def test_a_lost_prefill_worker_begins_again_elsewhere() -> None:
    outcome = replay(one(), Pools.split(2, 1), PLAIN, faults=[LostWorker("prefill-0", 4)])
    assert times_ms(outcome)[0] == 14
    assert outcome.wasted.lost_streams == 1


def test_a_cache_that_is_lost_at_its_source_while_it_moves_is_made_again() -> None:
    # 10,000 bytes take 100 ms: from 10 to 110. At 60 half of it is over, and the source is lost.
    pools = Pools.split(2, 1, LINK)
    outcome = replay(one(answer=3), pools, PLAIN, faults=[LostWorker("prefill-0", 60)])
    assert outcome.wasted.kv_bytes == 5000
    # The second prefill has 11 tokens, until 71, and gives the second one; 110 ms to move them.
    assert times_ms(outcome) == [10, 71, 71 + 110 + 10]
    assert outcome.transfer_bytes == 5000 + 11_000


def test_a_cache_on_its_way_to_a_lost_decoder_turns_back() -> None:
    pools = Pools.split(1, 2, LINK)
    outcome = replay(one(answer=2), pools, PLAIN, faults=[LostWorker("decode-0", 60)])
    assert times_ms(outcome) == [10, 60 + 100 + 10]
    assert outcome.wasted.kv_bytes == 5000
    assert outcome.requests[0].decoder == outcome.workers[2].number


def test_nobody_is_left_to_serve() -> None:
    pools = Pools.colocated(1)
    two = Workload(np.array([0.0, 50.0]), np.array([10, 10]), np.array([9, 9]))
    outcome = replay(two, pools, PLAIN, faults=[LostWorker("worker-0", 35)])
    assert outcome.statuses == ["failed", "rejected"]
    assert [request.error for request in outcome.requests] == ["no_worker"] * 2


@pytest.mark.parametrize("arrival_ms", [50.0, 38.0])
def test_a_worker_comes_back_empty(arrival_ms: float) -> None:
    pools = Pools.colocated(1)
    two = Workload(np.array([0.0, arrival_ms]), np.array([10, 10]), np.array([9, 1]))
    # The step that it dies in would have lasted until 40.
    outcome = replay(two, pools, PLAIN, faults=[LostWorker("worker-0", 35, 37)])
    assert outcome.statuses == ["failed", "completed"]
    assert times_ms(outcome, 1) == [arrival_ms + 10]
    assert outcome.workers[0].busy_ms == 35 + 10


def test_a_failed_transfer_is_sent_again_then_made_again_then_given_up() -> None:
    pools = Pools.split(1, 1, replace(LINK, retries=1))
    outcome = replay(one(), pools, PLAIN, faults=[FailingTransfers(0)])
    # Twice 100 ms, 11 tokens prefilled, twice 110 ms.
    assert outcome.statuses == ["failed"]
    assert outcome.wasted.failed_transfers == 4
    assert outcome.requests[0].ended_ms == 10 + 200 + 11 + 220
    assert outcome.wasted.kv_bytes == outcome.transfer_bytes == 2 * 10_000 + 2 * 11_000


def test_transfers_of_one_instant_fail() -> None:
    outcome = replay(
        one(answer=2), Pools.split(1, 1, replace(LINK, retries=1)), PLAIN,
        faults=[FailingTransfers(60, 60)],
    )  # fmt: skip
    assert times_ms(outcome) == [10, 60 + 100 + 10]
    assert outcome.wasted.kv_bytes == 5000


def test_which_transfers_fail_is_decided_by_the_seed() -> None:
    many = Workload(np.arange(40.0) * 500, np.full(40, 10), np.full(40, 3))
    fault = FailingTransfers(0, share=0.5)

    def wasted(seed: int) -> float:
        outcome = replay(many, Pools.split(1, 1, LINK), PLAIN, faults=[fault], seed=seed)
        return outcome.wasted.kv_bytes

    assert wasted(1) == wasted(1) > 0
    assert len({wasted(seed) for seed in range(4)}) > 1


def test_a_slow_worker_takes_longer_from_the_next_step_on() -> None:
    slow = SlowWorker("worker-0", at_ms=25, until_ms=45, factor=3)
    outcome = replay(one(), Pools.colocated(1), PLAIN, faults=[slow])
    # 10; steps end at 20 and 30; the ones that begin at 30 and 60 - one is slow, one after 45 not.
    assert times_ms(outcome) == [10, 20, 30, 60, 70, 80]


def test_a_slow_link_takes_longer_meanwhile() -> None:
    slow = SlowLink("prefill-0", at_ms=60, until_ms=80, factor=0.5)
    outcome = replay(one(answer=2), Pools.split(1, 1, LINK), PLAIN, faults=[slow])
    # 5,000 bytes until 60, 1,000 until 80, 4,000 until 120.
    assert times_ms(outcome) == [10, 120 + 10]


def test_steps_are_slower_while_bytes_move() -> None:
    pools = Pools.split(1, 1, replace(LINK, slowdown=2.0))
    two = Workload(np.array([0.0, 105.0]), np.array([10, 10]), np.array([6, 2]))
    outcome = replay(two, pools, PLAIN)
    # The first decodes from 110; the second moves from 115 until 215, so that steps that begin then
    # take 20 ms. Its prefill began at 105, while bytes of the first moved: 20 ms, until 125.
    assert times_ms(outcome) == [10, 120, 130, 150, 170, 190]
    assert times_ms(outcome, 1) == [125, 235]


LAYOUTS = st.builds(
    lambda layout, slowdown, on_loss, first_ms, whole_ms: replace(
        layout,
        transport=replace(layout.transport, slowdown=slowdown, retries=1),
        on_loss=on_loss,
        first_token_deadline_ms=first_ms,
        deadline_ms=whole_ms,
    ),
    layouts,
    st.sampled_from((1.0, 1.5)),
    st.sampled_from(("reprefill", "fail")),
    st.sampled_from((None, 50.0)),
    st.sampled_from((None, 200.0)),
)


@st.composite
def faults_of(draw: st.DrawFn, layout: Pools) -> list[Fault]:
    roles = {"decode" if layout.prefill else "worker": layout.decode, "prefill": layout.prefill}
    names = [f"{role}-{at}" for role, pool in roles.items() if pool for at in range(pool.workers)]
    drawn: list[Fault] = []
    for _ in range(draw(st.integers(0, 5))):
        at_ms = draw(st.floats(0, 400))
        until_ms = draw(st.sampled_from((at_ms, at_ms + 33.0, at_ms + 210.0, inf)))
        name = draw(st.sampled_from(names))
        sends: list[Fault] = [LostWorker(name, at_ms, until_ms), SlowWorker(name, at_ms, until_ms)]
        sends += [FailingTransfers(at_ms, until_ms, 0.7)]
        if name.startswith("prefill"):
            sends += [SlowLink(name, at_ms, until_ms)]
        drawn.append(draw(st.sampled_from(sends)))
    return drawn


@given(st.data(), workloads(), LAYOUTS, st.sampled_from((0.0, 2.0, 20.0)))
@settings(max_examples=200)
def test_every_request_ends_and_everything_is_freed(
    data: st.DataObject, workload: Workload, layout: Pools, leaving_per_s: float
) -> None:
    faults = data.draw(faults_of(layout))
    leaving = workload.leaving(leaving_per_s, seed=1)
    outcome = replay(leaving, layout, SERVICE, faults=faults, seed=3, to_the_end=True)
    statuses = {"completed", "failed", "rejected", "timed_out", "cancelled"}
    assert set(outcome.statuses) <= statuses
    for request, tokens in zip(outcome.requests, outcome.tokens, strict=True):
        assert (request.status == "completed") == (tokens == request.output_tokens)
        assert request.output_tokens - request.left == tokens
        assert (request.error is not None) == (request.status in ("failed", "rejected"))
    for worker in outcome.workers:
        assert worker.requests == worker.batch.contexts == worker.parked == worker.reserved == 0
        assert worker.wanted == worker.transfers == 0
    for chunk in outcome.chunks():
        assert (chunk.gaps_ns >= 0).all()
    useful = sum(r.kv_bytes for r in outcome.requests if r.status == "completed")
    assert outcome.transfer_bytes == pytest.approx(useful + outcome.wasted.kv_bytes)


def test_faults_come_at_a_rate() -> None:
    drawn = at_rate(lambda at, until: LostWorker("decode-0", at, until), 2.0, 50, 100_000, seed=4)
    # One in half a second, and each lasts 0.05 s: 100 / 0.55 = 182, of which the root is 13.
    assert 182 - 4 * 13 < len(drawn) < 182 + 4 * 13
    assert all(one.until_ms < other.at_ms for one, other in pairwise(drawn))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            LostWorker("decode-7", 0),
            "no worker is called 'decode-7'; there are prefill-0, decode-0",
        ),
        (LostWorker("decode-0", 5, 2), "begins at 0 ms or later, and ends after that"),
        (SlowWorker("decode-0", 0, factor=0), "a factor above 0"),
        (SlowLink("decode-0", 0), "decode-0 sends no cache"),
        (FailingTransfers(0, share=2), "a share above 0"),
    ],
)
def test_a_fault_of_what_is_not_there_is_refused(fault: Fault, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        replay(one(), Pools.split(), PLAIN, faults=[fault])
