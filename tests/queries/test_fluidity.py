"""Token deadlines with slack."""

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.given import MS, Library, Row, limits, stream


def walk(waits_ns: list[int], first_ns: int, next_ns: int) -> tuple[int, int]:
    """Deadlines kept and missed, token by token, as the definition says."""
    kept = missed = slack = 0
    for number, wait in enumerate(waits_ns):
        due = (first_ns if number == 0 else next_ns) + slack
        if wait <= due:
            kept += 1
            slack = due - wait
        else:
            missed += 1 + (wait - due) // next_ns
            slack = 0
    return kept, missed


def test_slack_pays_for_a_late_token_until_it_is_used_up(library: Library) -> None:
    # Due 100, then 10 each: 90 saves 10, the gap of 20 spends it, the gap of 35 is 25 late and
    # misses three deadlines, 10 is in time.
    library.bind([stream("a", [90 * MS, 110 * MS, 145 * MS, 155 * MS])])
    row = library.row(f"fluidity({limits(ttft=100 * MS, tpot=10 * MS)})")
    assert (row["kept_deadlines"], row["missed_deadlines"]) == (3, 3)
    assert row["fluidity"] == pytest.approx(0.5)
    assert row["reason"] is None


deliveries = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 3)), min_size=1, max_size=12)


@given(
    streams=st.lists(deliveries, min_size=5, max_size=10),
    first_ns=st.integers(1, 60),
    next_ns=st.integers(1, 40),
)
@settings(max_examples=20)
def test_every_token_meets_or_misses_its_deadline(
    library: Library, streams: list[list[tuple[int, int]]], first_ns: int, next_ns: int
) -> None:
    library.bind(delivered(str(number), each) for number, each in enumerate(streams))
    rows = library.rows(f"fluidity({limits(ttft=first_ns, tpot=next_ns)})")
    found = {row["request_id"]: row for row in rows}
    assert len(rows) == len(found) == len(streams)
    for number, each in enumerate(streams):
        row = found[str(number)]
        if len(each) == 1 and each[0][1] > 1:
            assert row["reason"] == "single_delivery"
            continue
        waits = [part for wait, tokens in each for part in (wait, *[0] * (tokens - 1))]
        kept, missed = walk(waits, first_ns, next_ns)
        assert (row["kept_deadlines"], row["missed_deadlines"]) == (kept, missed)
        assert row["fluidity"] == pytest.approx(kept / (kept + missed), rel=1e-12)


def delivered(name: str, waits: list[tuple[int, int]]) -> Row:
    """A stream of these waits, and of how many tokens came after each."""
    times = accumulate(wait for wait, _ in waits)
    counts = [tokens for _, tokens in waits]
    return stream(name, list(times), output_tokens=sum(counts), token_counts=counts)


@pytest.mark.parametrize(
    ("row", "limit", "reason"),
    [
        (stream("a", [1, 2]), limits(ttft=1), "no_limits"),
        (stream("a", [1, 2]), limits(tpot=1), "no_limits"),
        (stream("a", [1, 2], output_tokens=3), limits(ttft=1, tpot=1), "split_unknown"),
        (stream("a", [1, 2], sent_ns=None), limits(ttft=1, tpot=1), "origin_missing"),
        (stream("a", [1, 2], "events_lost"), limits(ttft=1, tpot=1), "events_lost"),
        (stream("a", [1, 2], status="failed"), limits(ttft=1, tpot=1), "open_wait"),
        (stream("a", []), limits(ttft=1, tpot=1), "no_token"),
    ],
)
def test_what_cannot_be_walked_says_why(
    library: Library, row: dict[str, object], limit: str, reason: str
) -> None:
    library.bind([row])
    found = library.row(f"fluidity({limit})")
    assert found["reason"] == reason
    assert found["fluidity"] is found["kept_deadlines"] is None


def test_one_token_answer_has_its_first_deadline_only(library: Library) -> None:
    library.bind([stream("a", [5])])
    row = library.row(f"fluidity({limits(ttft=5, tpot=1)})")
    assert (row["kept_deadlines"], row["missed_deadlines"], row["fluidity"]) == (1, 0, 1.0)
