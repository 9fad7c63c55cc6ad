"""Canonical rows of every kind that an adapter may write, and of some that it should not."""

from itertools import accumulate
from typing import Any, Final

from hypothesis import strategies as st

from tests.queries.given import Row, deliveries, stream
from tests.queries.oracle import BURST_NS
from tokengap.schema import STATUSES
from tokengap.store.connect import Declared, Window

HORIZON_NS: Final = 50_000_000
SIDES: Final[list[list[str | None]]] = [["client"], ["client", "engine"], ["gateway"], [None]]

stamps = st.integers(0, HORIZON_NS)
origins = st.integers(0, HORIZON_NS // 10)
long_gaps = st.one_of(
    st.sampled_from([BURST_NS, 1_000_000, 2_500_001]), st.integers(BURST_NS, 30_000_000)
)
gap_lengths = st.integers(0, 9).flatmap(
    lambda dice: st.sampled_from([1, BURST_NS - 1]) if dice == 0 else long_gaps
)
statuses = st.one_of(st.just("completed"), st.sampled_from(STATUSES))
workers = st.sampled_from([(None, None), (None, None), ("p", "d"), ("p", None), (None, "d")])
count_sources = st.sampled_from(["usage", "token_ids", "events", "retokenised", None])


def _maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, st.none())


@st.composite
def delivered(draw: st.DrawFn) -> Row:
    """Columns of a stream whose deliveries are known; a clock may have stepped back."""
    gaps = draw(st.lists(gap_lengths, max_size=7))
    if gaps and draw(st.integers(0, 7)) == 0:
        gaps[draw(st.integers(0, len(gaps) - 1))] = -draw(gap_lengths)
    times = list(accumulate(gaps, initial=draw(stamps)))
    if not gaps and draw(st.booleans()):
        times = []
    return deliveries(times) | draw(counted(len(times)))


@st.composite
def counted(draw: st.DrawFn, m: int) -> Row:
    """N and its split over m deliveries: known, one each, unknown, contradictory, or no N."""
    counts = draw(st.lists(st.integers(1, 4), min_size=m, max_size=m))
    kind = draw(st.sampled_from(["one each", "one each", "split", "hidden", "too few", "none"]))
    if kind == "split" and m:
        return {"token_counts": counts, "output_tokens": sum(counts)}
    total = {"hidden": sum(counts), "too few": draw(st.integers(0, m)), "none": None}
    return {"output_tokens": total.get(kind, m)}


@st.composite
def summarised(draw: st.DrawFn) -> Row:
    """Columns of a stream of which only the first and the last token's time is known, or less."""
    first = draw(_maybe(stamps))
    last = draw(_maybe(st.integers((first or 0) - 1, HORIZON_NS * 2)))
    return {
        "first_token_ns": first, "last_token_ns": last, "granularity": "aggregate",
        "output_tokens": draw(_maybe(st.integers(0, 5))),
    }  # fmt: skip


@st.composite
def whole_bodies(draw: st.DrawFn) -> Row:
    """Columns of an answer that came as one body."""
    row = deliveries([draw(stamps)])
    return row | {"output_tokens": draw(_maybe(st.integers(1, 5))), "quality": ["not_streamed"]}


@st.composite
def rows(draw: st.DrawFn, /, request_id: str = "a", **facts: Any) -> Row:
    """One stream; the keys are the caller's."""
    row = stream(request_id, None)
    row |= draw(st.one_of(delivered(), delivered(), delivered(), summarised(), whole_bodies()))
    k = draw(st.sampled_from([None, 0, 1, 1, 2, 3, 5]))
    prefill, decode = draw(workers)
    row |= {
        "prefill_worker": prefill,
        "decode_worker": decode,
        "status": draw(statuses),
        "token_count_source": draw(count_sources),
        "last_prefill_token": k,
        "handoff_source": draw(st.sampled_from(["log", None] if k is not None else [None, "none"])),
        "stream_close_ns": draw(_maybe(st.integers(0, HORIZON_NS * 3))),
        "planned_ns": draw(_maybe(origins)),
        "sent_ns": draw(_maybe(origins)),
        "received_ns": draw(_maybe(origins)),
        "arrival_ns": draw(_maybe(origins)),
        "first_answer_ns": draw(_maybe(stamps)),
        "prompt_tokens": draw(_maybe(st.integers(0, 9))),
        "quality": sorted({*row["quality"], *draw(notes(row.get("gaps_ns", [])))}),
    }
    return {name: value for name, value in (row | facts).items() if value is not None}


@st.composite
def notes(draw: st.DrawFn, gaps: list[int]) -> list[str]:
    bursts = sum(0 <= gap < BURST_NS for gap in gaps)
    found = ["coalesced_reads"] if bursts * 20 > len(gaps) else []
    if draw(st.integers(0, 7)) == 0:
        noted = ["events_lost", "smeared", "count_mismatch", "events_lost,first_events_lost"]
        found += draw(st.sampled_from(noted)).split(",")
    return found


@st.composite
def populations(draw: st.DrawFn) -> list[Row]:
    """Streams of several requests: retried, seen from several sides, with several answers."""
    found = []
    requests = st.tuples(st.sampled_from("tu"), st.sampled_from("abcdef"))
    for trace, request_id in draw(st.lists(requests, max_size=9, unique=True)):
        keys = {"trace": trace, "deployment": draw(_maybe(st.just("d")))}
        vantages = draw(st.sampled_from(SIDES))
        attempts = draw(st.sampled_from([[0], [0], [0, 1], [1, 2]]))
        choices = draw(st.sampled_from([[0], [0], [0, 1]]))
        for vantage in vantages:
            for attempt in attempts:
                clock = draw(st.sampled_from(["c", "c", "e", None]))
                place = {"vantage": vantage, "attempt": attempt, "clock": clock}
                if draw(st.integers(0, 7)) == 0:
                    place |= {"granularity": "workload"}
                found += [
                    draw(rows(request_id, choice=choice, **keys, **place)) for choice in choices
                ]
    return found


declarations = st.builds(
    Declared,
    last_prefill_token=st.sampled_from([None, None, 0, 1, 2]),
    vantage=st.sampled_from([None, None, None, "client", "engine"]),
    origin=st.sampled_from([None, None, None, "planned", "received"]),
)
windows = st.builds(
    lambda start, length, rule: Window(start, start + length, rule),
    stamps,
    st.integers(1, HORIZON_NS),
    st.sampled_from(["by_start", "by_event"]),
)
windowed = st.builds(
    lambda declared, window: Declared(
        declared.last_prefill_token, declared.vantage, declared.origin, window
    ),
    declarations,
    _maybe(windows),
)
