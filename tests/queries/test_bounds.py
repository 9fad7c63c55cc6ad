"""The truth lies within the bounds, whatever of it a log withholds."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.given import Library, Row, deliveries, stream
from tests.queries.strategies import long_gaps


@dataclass(frozen=True)
class Truth:
    """A whole answer, sent at 0."""

    times: list[int]
    counts: list[int]
    close_ns: int

    @property
    def tokens(self) -> int:
        return sum(self.counts)

    @property
    def gaps(self) -> list[int]:
        return [after - before for before, after in pairwise(self.times)]

    @property
    def values(self) -> dict[str, Fraction | int]:
        span_ns = self.times[-1] - self.times[0]
        return {
            "ttft": self.times[0],
            "tpot": Fraction(span_ns, self.tokens - self.counts[0]),
            "worst_gap": max(self.gaps),
            "e2e": self.times[-1],
        }


@st.composite
def truths(draw: st.DrawFn) -> Truth:
    gaps = draw(st.lists(long_gaps, min_size=1, max_size=7))
    times = list(accumulate(gaps, initial=draw(long_gaps)))
    counts = draw(st.lists(st.integers(1, 4), min_size=len(times), max_size=len(times)))
    return Truth(times, counts, times[-1] + draw(st.integers(0, 10**7)))


def whole(truth: Truth, _: st.DataObject) -> Row:
    return deliveries(truth.times) | {"token_counts": truth.counts, "output_tokens": truth.tokens}


def without_split(truth: Truth, _: st.DataObject) -> Row:
    return whole(truth, _) | {"token_counts": None}


def without_count(truth: Truth, _: st.DataObject) -> Row:
    return whole(truth, _) | {"token_counts": None, "output_tokens": None}


def first_and_last(truth: Truth, data: st.DataObject) -> Row:
    return {
        "gaps_ns": None, "first_token_ns": truth.times[0], "last_token_ns": truth.times[-1],
        "output_tokens": data.draw(st.sampled_from([truth.tokens, None])),
    }  # fmt: skip


def first_only(truth: Truth, data: st.DataObject) -> Row:
    return first_and_last(truth, data) | {"last_token_ns": None}


def as_a_body(truth: Truth, data: st.DataObject) -> Row:
    count = data.draw(st.sampled_from([truth.tokens, None]))
    return deliveries(truth.times[-1:]) | {"output_tokens": count, "quality": ["not_streamed"]}


def buffered(truth: Truth, _: st.DataObject) -> Row:
    return deliveries(truth.times[-1:]) | {"output_tokens": truth.tokens}


def with_losses(truth: Truth, data: st.DataObject) -> Row:
    """Any deliveries but the first may be missing; the server counted all tokens."""
    kept = [data.draw(st.booleans()) for _ in truth.times[1:]]
    times = [truth.times[0]] + [t for t, keep in zip(truth.times[1:], kept, strict=True) if keep]
    count = data.draw(st.sampled_from([(truth.tokens, "usage"), (len(times), "events")]))
    return deliveries(times) | {
        "quality": ["events_lost"], "output_tokens": count[0], "token_count_source": count[1],
    }  # fmt: skip


def without_beginning(truth: Truth, data: st.DataObject) -> Row:
    """The log kept only the latest deliveries."""
    times = truth.times[data.draw(st.integers(0, len(truth.times) - 1)) :]
    notes = ["events_lost", "first_events_lost"]
    return deliveries(times) | {"output_tokens": truth.tokens, "quality": notes}


def smeared(truth: Truth, _: st.DataObject) -> Row:
    """The tool shares a gap out evenly over the tokens that end it."""
    gaps = [
        gap // count + (part < gap % count)
        for gap, count in zip(truth.gaps, truth.counts[1:], strict=True)
        for part in range(count)
    ]
    times = list(accumulate(gaps, initial=truth.times[0]))
    counts = [truth.counts[0]] + [1] * len(gaps)
    facts = {"token_counts": counts, "output_tokens": truth.tokens, "quality": ["smeared"]}
    return deliveries(times) | facts


def cut_off(truth: Truth, data: st.DataObject) -> Row:
    """The user leaves, or the server fails, before the last token comes."""
    end_ns = data.draw(st.integers(0, truth.times[-1] - 1))
    times = [t for t in truth.times if t <= end_ns]
    status = data.draw(st.sampled_from(["cancelled", "failed", "timed_out", "truncated"]))
    counts = truth.counts[: len(times)]
    return deliveries(times) | {
        "token_counts": counts, "output_tokens": sum(counts), "status": status,
        "stream_close_ns": end_ns,
    }  # fmt: skip


LOGS: dict[Callable[[Truth, st.DataObject], Row], set[str]] = {
    whole: {"ttft", "tpot", "worst_gap", "e2e"},
    without_split: {"ttft", "tpot", "worst_gap", "e2e"},
    without_count: {"ttft", "tpot", "worst_gap", "e2e"},
    first_and_last: {"ttft", "tpot", "worst_gap", "e2e"},
    first_only: {"ttft", "tpot", "worst_gap", "e2e"},
    as_a_body: {"ttft", "tpot", "worst_gap", "e2e"},
    buffered: {"worst_gap", "e2e"},  # TTFT is that of the buffer: it is what the user saw
    with_losses: {"ttft", "tpot", "worst_gap", "e2e"},
    without_beginning: {"ttft", "tpot", "worst_gap", "e2e"},
    smeared: {"ttft", "tpot", "worst_gap", "e2e"},
    cut_off: {"ttft", "e2e"},
}


@given(st.lists(truths(), min_size=len(LOGS), max_size=len(LOGS)), st.data())
@settings(max_examples=30)
def test_the_truth_lies_within_the_bounds(
    library: Library, answers: list[Truth], data: st.DataObject
) -> None:
    pairs = list(zip(LOGS, answers, strict=True))
    facts: list[Any] = [
        {"stream_close_ns": truth.close_ns} | log(truth, data) for log, truth in pairs
    ]
    library.bind(
        stream(log.__name__, None, **row) for (log, _), row in zip(pairs, facts, strict=True)
    )
    found = {row["request_id"]: row for row in library.rows("request_latency")}
    for log, truth in pairs:
        for metric in LOGS[log]:
            _assert_within(found[log.__name__], metric, truth.values[metric])


def _assert_within(row: Row, metric: str, value: Fraction | int) -> None:
    low, high = row[f"{metric}_low_ns"], row[f"{metric}_high_ns"]
    slack = value / 10**12  # a quotient is a DOUBLE
    assert low is None or low <= value + slack, row
    assert high is None or value - slack <= high, row
    if row[f"{metric}_reason"] is None:
        assert abs(row[f"{metric}_ns"] - value) <= slack


@given(truths(), st.data())
@settings(max_examples=20)
def test_a_wait_still_open_at_the_end_bounds_the_gap_it_would_have_become(
    library: Library, truth: Truth, data: st.DataObject
) -> None:
    row = cut_off(truth, data)
    library.bind([stream("a", None, **row)])
    low = library.row("request_latency")["worst_gap_low_ns"]
    came = len(row["gaps_ns"]) + (row["first_token_ns"] is not None)
    if came == 0:
        assert low is None
    else:
        waited_ns = row["stream_close_ns"] - truth.times[came - 1]
        assert low == max([*truth.gaps[: came - 1], waited_ns])
        assert low <= max(truth.gaps[:came])
