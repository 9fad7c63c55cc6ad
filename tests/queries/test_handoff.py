"""Where the handoff sits and how long it is."""

import pytest

from tests.queries.given import MS, Library, Row, stream
from tokengap.store.connect import Declared

TIMES = [100 * MS, 130 * MS, 140 * MS, 150 * MS]


@pytest.mark.parametrize(
    ("k", "gap_ns", "index", "reason"),
    [
        (None, None, None, "handoff_undeclared"),
        (0, None, 0, "inside_ttft"),
        (1, 30 * MS, 1, None),
        (3, 10 * MS, 3, None),
        (4, None, 4, "no_handoff"),  # prefill finished the answer
    ],
)
def test_the_handoff_is_the_gap_after_token_k(
    library: Library, k: int | None, gap_ns: int | None, index: int | None, reason: str | None
) -> None:
    library.bind([stream("a", TIMES, last_prefill_token=k)])
    row = library.row("handoff_gaps")
    assert (row["handoff_gap_ns"], row["reason"], row["boundary"]) == (gap_ns, reason, "stream")
    assert library.row("request_latency")["handoff_index"] == index
    assert row["is_worst_gap"] is (k == 1)


@pytest.mark.parametrize(
    ("k", "gap_ns", "reason"),
    [
        (1, None, "not_observable"),  # token 2 came together with token 1
        (2, 30 * MS, None),
        (3, 10 * MS, None),
        (4, None, "not_observable"),
        (5, 10 * MS, None),
        (6, None, "no_handoff"),
    ],
)
def test_token_k_is_found_through_the_split(
    library: Library, k: int, gap_ns: int | None, reason: str | None
) -> None:
    facts = {"token_counts": [2, 1, 2, 1], "output_tokens": 6}
    library.bind([stream("a", TIMES, last_prefill_token=k, **facts)])
    row = library.row("handoff_gaps")
    assert (row["handoff_gap_ns"], row["reason"]) == (gap_ns, reason)


@pytest.mark.parametrize(
    ("row", "gap_ns", "reason"),
    [
        (
            stream("a", TIMES, output_tokens=9),
            30 * MS,
            None,
        ),  # k = 1 says that delivery 1 is token 1
        (stream("a", [0, 199_999]), None, "not_observable"),
        (stream("a", [0, 200_000]), 200_000, None),
        (stream("a", [9 * MS, 4 * MS]), None, "non_monotonic"),
        (stream("a", [5], output_tokens=3), None, "not_observable"),
        (stream("a", TIMES, "events_lost"), None, "events_lost"),
        (stream("a", None, output_tokens=3), None, "aggregate"),
        (stream("a", [5], "not_streamed", output_tokens=3), None, "not_streamed"),
        (stream("a", TIMES, handoff_source="none"), None, "no_handoff"),
    ],
)
def test_a_declared_first_token_makes_it_the_first_gap(
    library: Library, row: Row, gap_ns: int | None, reason: str | None
) -> None:
    library.bind([row], Declared(last_prefill_token=1))
    found = library.row("handoff_gaps")
    assert (found["handoff_gap_ns"], found["reason"]) == (gap_ns, reason)


def test_an_unknown_split_hides_a_later_handoff(library: Library) -> None:
    library.bind([stream("a", TIMES, output_tokens=9, last_prefill_token=2)])
    assert library.row("handoff_gaps")["reason"] == "split_unknown"


def test_a_handoff_still_waited_for_is_bounded_from_below(library: Library) -> None:
    left = {"status": "cancelled", "stream_close_ns": 500 * MS}
    rows = [
        stream("waiting", [100 * MS], last_prefill_token=1, **left),
        stream("before", [100 * MS], last_prefill_token=3, **left),
        stream("nothing", [], last_prefill_token=1, **left),
    ]
    library.bind(rows)
    found = {row["request_id"]: row for row in library.rows("handoff_gaps")}
    assert {row["reason"] for row in found.values()} == {"ended_early"}
    lows = {name: row["handoff_gap_low_ns"] for name, row in found.items()}
    assert lows == {"waiting": 400 * MS, "before": None, "nothing": None}


def test_the_summary_sets_the_handoff_against_the_other_gaps(library: Library) -> None:
    k = {"last_prefill_token": 1}
    rows = [
        stream("a", [0, 30 * MS, 40 * MS, 60 * MS], **k),
        stream("b", [0, 50 * MS, 70 * MS, 65 * MS], **k),  # a step back is no gap to set against
        stream("c", [0, 1_000], **k),
        stream("d", [0, 9 * MS], last_prefill_token=0),
        stream("e", [0, 9 * MS], handoff_source="none"),
        stream("f", [0, 9 * MS]),
        stream("g", [0, 99 * MS], status="failed", **k),
    ]
    library.bind(rows)
    gap, *others = library.rows("handoff_summary")
    assert (gap["place"], gap["requests"], gap["n"], gap["not_observable"]) == ("gap", 3, 2, 1)
    # 30 and 50: p90 lies 0.9 of the way. The other gaps are 10, 20 and 20 ms.
    assert (gap["p50_ns"], gap["p90_ns"], gap["max_ns"]) == (40 * MS, 48 * MS, 50 * MS)
    assert (gap["other_gap_p50_ns"], gap["is_worst_gap"]) == (20 * MS, 1)
    assert [(row["place"], row["requests"], row["n"]) for row in others] == [
        ("inside_ttft", 1, 0), ("none", 1, 0), ("unknown", 1, 0),
    ]  # fmt: skip
