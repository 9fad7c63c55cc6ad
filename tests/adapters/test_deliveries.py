"""Cases of public bug reports, worked by hand, and a plain-Python second opinion."""

from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.deliveries import Events, count_source_code, derive
from tokengap.adapters.shared.nested import note_lists
from tokengap.schema import COUNT_SOURCES

MS = 1_000_000


@dataclass(frozen=True)
class Case:
    times_ns: list[int]
    counts: list[int] | None = None
    counts_source: str = "usage"
    total: int | None = None
    total_source: str | None = None
    observed: bool = True
    streamed: bool = True


def derived(cases: list[Case]) -> list[dict[str, Any]]:
    columns, notes = derive(
        Events(
            offsets=np.cumsum([0, *(len(c.times_ns) for c in cases)], dtype=np.int64),
            times_ns=np.array([t for c in cases for t in c.times_ns], np.int64),
            counts=np.array(
                [n for c in cases for n in c.counts or [0] * len(c.times_ns)], np.int64
            ),
            counts_source=np.array([count_source_code(c.counts_source) for c in cases]),
            totals=np.array([-1 if c.total is None else c.total for c in cases], np.int64),
            totals_source=np.array([count_source_code(c.total_source) for c in cases]),
            observed=np.array([c.observed for c in cases], bool),
            streamed=np.array([c.streamed for c in cases], bool),
        )
    )
    table = pa.table({**columns, "quality": note_lists(notes, len(cases))})
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def one(case: Case) -> dict[str, Any]:
    (row,) = derived([case])
    return row


def tpot(row: dict[str, Any]) -> float:
    """Time from the first delivery to the last, over the tokens after the first delivery."""
    first_tokens = row["token_counts"][0] if row["token_counts"] else 1
    total_ns: int = sum(row["gaps_ns"])
    later_tokens: int = row["output_tokens"] - first_tokens
    return total_ns / later_tokens


def test_an_equal_time_is_one_delivery_of_two_tokens() -> None:
    # Tokens at 100, 120, 120, 140 ns: 40 ns for the 3 tokens after the first.
    row = one(Case([100, 120, 120, 140]))
    assert row["first_token_ns"] == 100
    assert row["gaps_ns"] == [20, 20]
    assert row["token_counts"] == [1, 2, 1]
    assert row["output_tokens"] == 4
    assert tpot(row) == 40 / 3


def test_a_chunk_of_three_tokens_is_one_gap() -> None:
    # 1 + 3 + 3 + 3 tokens, 9 ms apart: 27 ms for 9 tokens is 3 ms a token, every gap 9 ms.
    row = one(
        Case([100 * MS, 109 * MS, 118 * MS, 127 * MS], [1, 3, 3, 3], total=10, total_source="usage")
    )
    assert row["gaps_ns"] == [9 * MS] * 3
    assert (row["output_tokens"], tpot(row)) == (10, 3 * MS)
    assert (row["granularity"], row["quality"]) == ("chunk", [])


def test_tokens_of_the_first_delivery_are_not_waited_for() -> None:
    # 5 tokens at 200 ms, then 16 single ones 10 ms apart: 160 ms for 16 tokens, not for 20.
    row = one(Case([(200 + 10 * i) * MS for i in range(17)], [5] + [1] * 16))
    assert row["output_tokens"] == 21
    assert tpot(row) == 10 * MS


def test_choices_are_not_merged() -> None:
    # Two choices, each with a token every 20 ms, 10 ms apart.
    rows = derived([Case([(100 + 20 * i + 10 * c) * MS for i in range(3)]) for c in range(2)])
    assert [row["gaps_ns"] for row in rows] == [[20 * MS, 20 * MS]] * 2
    assert [row["first_token_ns"] for row in rows] == [100 * MS, 110 * MS]


def test_usage_is_believed_over_a_recount_of_each_delta() -> None:
    # A tokenizer that adds a marker counts 2 in each of 5 deltas; the server says 5.
    row = one(
        Case(
            [(100 + 20 * i) * MS for i in range(5)],
            [2] * 5,
            "retokenised",
            total=5,
            total_source="usage",
        )
    )
    assert (row["output_tokens"], row["token_count_source"]) == (5, "usage")
    assert (row["token_counts"], tpot(row)) == (None, 20 * MS)
    assert row["quality"] == ["count_mismatch"]


def test_a_recount_of_the_whole_text_below_the_events_is_not_believed() -> None:
    # 11 events 10 ms apart: 100 ms for 10 tokens. The recount says 3.
    times_ns = [(100 + 10 * i) * MS for i in range(11)]
    row = one(Case(times_ns, total=3, total_source="retokenised"))
    assert (row["output_tokens"], row["token_count_source"]) == (11, "events")
    assert "count_mismatch" in row["quality"]
    row = one(Case(times_ns, total=15, total_source="retokenised"))
    assert (row["output_tokens"], row["token_count_source"]) == (15, "retokenised")


def test_the_length_asked_for_never_stands_in_for_events() -> None:
    row = one(Case([0, 10], total=64, total_source="requested"))
    assert (row["output_tokens"], row["token_count_source"]) == (2, "events")
    row = one(Case([], observed=False, total=64, total_source="requested"))
    assert (row["output_tokens"], row["token_count_source"]) == (64, "requested")


def test_events_alone_prove_no_token_granularity() -> None:
    row = one(Case([0, 10 * MS, 20 * MS]))
    assert (row["granularity"], row["quality"]) == ("chunk", ["tokens_are_events"])
    row = one(Case([0, 10 * MS, 20 * MS], total=3, total_source="usage"))
    assert (row["granularity"], row["quality"]) == ("token", [])


def test_deliveries_that_are_not_known_are_null_and_none_is_empty() -> None:
    lost, none = derived([Case([], observed=False), Case([], total=0, total_source="usage")])
    assert (lost["gaps_ns"], lost["output_tokens"], lost["granularity"]) == (
        None,
        None,
        "aggregate",
    )
    assert (none["gaps_ns"], none["output_tokens"], none["first_token_ns"]) == ([], 0, None)


def test_a_body_that_was_not_streamed_has_no_count_of_its_own() -> None:
    assert one(Case([50], streamed=False))["output_tokens"] is None
    row = one(Case([50], streamed=False, total=12, total_source="usage"))
    assert (row["output_tokens"], row["gaps_ns"], row["quality"]) == (12, [], ["not_streamed"])


def test_a_clock_that_steps_back_leaves_a_negative_gap() -> None:
    row = one(Case([100, 90, 110]))
    assert (row["gaps_ns"], row["min_gap_ns"]) == ([-10, 20], -10)
    assert "non_monotonic" in row["quality"]


def test_more_than_five_percent_of_tiny_gaps_is_coalesced() -> None:
    # 20 gaps: one under 0.2 ms is 5 %, two are more. A gap of exactly 0.2 ms is none.
    def row(*gaps_ns: int) -> dict[str, Any]:
        times_ns = [0]
        for gap_ns in (*gaps_ns, *[10 * MS] * (20 - len(gaps_ns))):
            times_ns.append(times_ns[-1] + gap_ns)
        return one(Case(times_ns, total=21, total_source="usage"))

    assert row(199_999)["quality"] == []
    assert row(199_999, 200_000)["quality"] == []
    assert row(199_999, 1)["quality"] == ["coalesced_reads"]


def test_wall_times_keep_every_nanosecond() -> None:
    wall_ns = 1_795_951_384_724_246_852
    assert one(Case([wall_ns, wall_ns + 1, wall_ns + 101]))["gaps_ns"] == [1, 100]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    steps = draw(st.lists(st.sampled_from([0, 0, 1, 150_000, 5 * MS, 900 * MS, -3]), max_size=12))
    times_ns = [draw(st.integers(-(10**18), 10**18)) + sum(steps[:i]) for i in range(len(steps))]
    counted = draw(st.booleans())
    counts = [draw(st.integers(1, 4)) for _ in times_ns] if counted else None
    total = draw(st.none() | st.integers(0, 30))
    return Case(
        sorted(times_ns) if draw(st.booleans()) else times_ns,
        counts,
        draw(st.sampled_from(["usage", "token_ids"])),
        sum(counts) if counts and draw(st.booleans()) else total,
        None if total is None and not counts else draw(st.sampled_from(COUNT_SOURCES)),
        streamed=draw(st.booleans()),
    )


@given(st.lists(cases(), max_size=6))
def test_many_streams_at_once_agree_with_each_by_itself(found: list[Case]) -> None:
    assert derived(found) == [one(case) for case in found]


@given(cases())
def test_times_are_merged_and_nothing_is_lost(case: Case) -> None:
    merged = [time for time, _ in groupby(case.times_ns)]
    row = one(case)
    assert row["first_token_ns"] == (merged[0] if merged else None)
    assert row["gaps_ns"] == [later - earlier for earlier, later in pairwise(merged)]
    assert sum(row["gaps_ns"]) == (merged[-1] - merged[0] if merged else 0)
    assert row["min_gap_ns"] == min(row["gaps_ns"], default=None)
    assert ("non_monotonic" in row["quality"]) == any(gap < 0 for gap in row["gaps_ns"])


@given(cases())
def test_a_split_is_stored_only_where_it_adds_up(case: Case) -> None:
    row = one(case)
    if row["token_counts"] is None:
        return
    per_event = case.counts if case.counts and sum(case.counts) == row["output_tokens"] else None
    tokens = zip(case.times_ns, per_event or [1] * len(case.times_ns), strict=True)
    expected = [sum(n for _, n in same) for _, same in groupby(tokens, key=lambda pair: pair[0])]
    assert row["token_counts"] == expected
    assert sum(row["token_counts"]) == row["output_tokens"]


def trusted_total(case: Case) -> tuple[int, str] | None:
    """What the server says, then counts of the events, a recount that can be true, the events."""
    stated = None if case.total is None or case.total_source is None else case.total_source
    if stated in ("usage", "token_ids"):
        return case.total or 0, stated
    if case.counts:
        return sum(case.counts), case.counts_source
    if stated == "retokenised" and (case.total or 0) >= len(case.times_ns):
        return case.total or 0, stated
    if case.streamed:
        return len(case.times_ns), "events"
    return None if stated is None else (case.total or 0, stated)


@given(cases())
def test_the_most_trusted_count_wins(case: Case) -> None:
    row = one(case)
    expected = trusted_total(case) or (None, None)
    assert (row["output_tokens"], row["token_count_source"]) == expected
