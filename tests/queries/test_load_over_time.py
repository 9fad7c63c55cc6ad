"""Load and gaps over time, against counting by hand."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.given import MS, Library, Row, clock, deliveries, stream

S: Final = 1_000_000_000
WIDTHS: Final = sorted(digit * 10**power for digit in (1, 2, 5) for power in range(19))
STEP: Final = 10 ** (1 / 1000)
"""Within so much of each other lie the bounds of a percentile."""


def load(library: Library, bins: int = 200) -> list[Row]:
    return library.rows(f"load_over_time(bins := {bins})")


def at(request_id: str, sent_ms: int, *times_ms: int, **facts: Any) -> Row:
    """A stream sent then, with one token at each time."""
    times = [t * MS for t in times_ms]
    return stream(request_id, times, sent_ns=sent_ms * MS, stream_close_ns=times[-1], **facts)


def test_what_happened_counts_in_its_stretch(library: Library) -> None:
    """From 0 to 300 ms in at most 4 stretches: 100 ms each, the last for the end itself."""
    library.bind(
        [
            at("a", 0, 20, 50, 130, prompt_tokens=30),
            at("b", 40, 90, 210, 300, prompt_tokens=50),
            at("f", 110, 120, 290, status="failed"),
        ]
    )
    found = load(library, 4)
    assert [(row["start_ns"] // MS, row["end_ns"] // MS) for row in found] == [
        (0, 100), (100, 200), (200, 300), (300, 400),
    ]  # fmt: skip
    assert [row["arrivals"] for row in found] == [2, 1, 0, 0]
    # a runs from 20 to 130, b from 90 to 300, f from 120 to 290: at 300 nobody does any more
    assert [row["running_streams"] for row in found] == [2, 3, 2, 0]
    assert [row["longest_gap_ns"] for row in found] == [30 * MS, 80 * MS, 120 * MS, 90 * MS]
    assert [row["gaps"] for row in found] == [1, 1, 1, 1]  # none of the failed request
    # Each prefill ends with its first token and is no longer than the median wait of prompts at
    # least as long: b's from 40 to 90, a's (median of 20 and 50 is 35) from 0 to 20; f's none.
    assert [row["prefill_tokens"] for row in found] == [50, 0, 0, 0]
    assert {row["clock_kind"] for row in found} == {"monotonic"}


def test_a_percentile_of_few_gaps_is_exact(library: Library) -> None:
    library.bind([at("a", 0, 0, 10, 30, 60)])
    (row,) = (row for row in load(library, 1) if row["gaps"])
    # gaps 10, 20 and 30 ms: position 0.99 * 2, 98 % of the way from 20 to 30
    assert row["gap_p99_low_ns"] == row["gap_p99_high_ns"] == pytest.approx(29.8 * MS, rel=1e-12)


def test_choices_of_a_request_arrive_once_and_run_each(library: Library) -> None:
    library.bind([at("a", 0, 10, 30, choice=0), at("a", 0, 10, 40, choice=1)])
    first, *_ = load(library, 1)
    assert (first["arrivals"], first["running_streams"], first["gaps"]) == (1, 2, 2)


def test_gaps_without_a_place_in_time_are_left_out(library: Library) -> None:
    back = stream("b", [10 * MS, 5 * MS, 30 * MS])
    library.bind([at("a", 0, 10, 30), back, at("s", 0, 10, 30, quality=["smeared"])])
    assert sum(row["gaps"] for row in load(library)) == 1


def test_unrelated_clocks_share_no_axis_and_related_ones_do(library: Library) -> None:
    rows = [at("a", 0, 10, 30), at("b", 1000, 1020, 1050, clock="d")]
    library.bind(rows)
    assert load(library) == []
    library.bind(rows, clocks=[clock("d", "c", 1 * S)])  # b came at 0, too
    found = load(library, 1)
    assert (found[0]["start_ns"], found[0]["arrivals"]) == (0, 2)
    assert sum(row["gaps"] for row in found) == 2


def test_what_is_not_logged_is_null_and_not_nothing(library: Library) -> None:
    library.bind([at("a", 0, 10, 30) | {"sent_ns": None}])
    first, *_ = load(library)
    assert (first["arrivals"], first["prefills"], first["prefill_tokens"]) == (None, None, None)
    library.bind([at("a", 0, 10, 30)])  # a prompt of unknown length
    first, *_ = load(library)
    assert (first["prefills"], first["prefill_tokens"]) == (1, None)


def test_wall_clocks_are_told_apart(library: Library) -> None:
    library.bind([at("a", 0, 10, 30, clock_kind="wall")])
    assert {row["clock_kind"] for row in load(library)} == {"wall"}


@pytest.mark.parametrize("rows", [[], [stream("a", None)], [stream("a", [0], sent_ns=0)]])
def test_without_a_span_there_are_no_rows(library: Library, rows: list[Row]) -> None:
    library.bind(rows)
    assert load(library) == []


def expected(rows: Sequence[Row], prefills: Sequence[Row], bins: int) -> list[tuple[Any, ...]]:
    """Start, arrivals, streams, prefills, prompt tokens, gaps and longest, by brute force."""
    first = min(row["sent_ns"] for row in rows)
    last = max(row["stream_close_ns"] for row in rows)
    width = next(width for width in WIDTHS if width * bins > last - first)
    ends = [(row["first_token_ns"], row["first_token_ns"] + sum(row["gaps_ns"])) for row in rows]
    asked = [(p["start_ns"], p["end_ns"], p["prompt_tokens"] or 0) for p in prefills]
    instants = {t for span in (*ends, *asked) for t in span[:2]}
    found = []
    for start in range(first, last + 1, width):
        inside = [start, *(t for t in instants if start <= t < start + width)]
        gaps = [gap for end, gap in timed(rows) if start <= end < start + width]
        found.append(
            (
                start,
                sum(start <= row["sent_ns"] < start + width for row in rows),
                max(sum(a <= t < b for a, b in ends) for t in inside),
                max(sum(a <= t < b for a, b, _ in asked) for t in inside),
                max(sum(n for a, b, n in asked if a <= t < b) for t in inside),
                len(gaps),
                max(gaps, default=None),
            )
        )
    return found


def timed(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """When each gap of a completed stream ended, and its length."""
    found = []
    for row in rows:
        end = row["first_token_ns"]
        for gap in row["gaps_ns"]:
            end += gap
            if row["status"] == "completed":
                found.append((end, gap))
    return found


@st.composite
def served(draw: st.DrawFn) -> list[tuple[int, list[int], int, bool]]:
    """Requests: when sent, the waits from there on, prompt tokens, whether completed."""
    waits = st.lists(st.integers(0, 300), min_size=1, max_size=12)
    each = st.tuples(st.integers(0, 3000), waits, st.integers(1, 500), st.booleans())
    return draw(st.lists(each, min_size=1, max_size=10))


@given(served(), st.integers(1, 60))
@settings(max_examples=40)
def test_against_counting_every_instant(
    library: Library, requests: list[tuple[int, list[int], int, bool]], bins: int
) -> None:
    rows = []
    for number, (sent, waits, prompt_tokens, completed) in enumerate(requests):
        times = [(sent + sum(waits[: count + 1])) * MS for count in range(len(waits))]
        facts = {"prompt_tokens": prompt_tokens, "stream_close_ns": times[-1]}
        status = "completed" if completed else "failed"
        row = stream(str(number), None, sent_ns=sent * MS, status=status, **facts)
        rows.append(row | deliveries(times) | {"granularity": "token", "output_tokens": len(times)})
    library.bind(rows)
    found = load(library, bins)
    if max(row["stream_close_ns"] for row in rows) == min(row["sent_ns"] for row in rows):
        assert found == []
        return
    names = (
        "start_ns", "arrivals", "running_streams", "prefills", "prefill_tokens", "gaps",
        "longest_gap_ns",
    )  # fmt: skip
    prefills = library.rows("prefills")
    if not any(p["start_ns"] < p["end_ns"] for p in prefills):
        assert {row["prefills"] for row in found} == {None}
        found = [row | {"prefills": 0, "prefill_tokens": 0} for row in found]
    assert [tuple(row[name] for name in names) for row in found] == expected(rows, prefills, bins)
    assert len(found) <= bins
    for row, after in pairwise([*found, {"start_ns": found[-1]["end_ns"]}]):
        assert row["end_ns"] == after["start_ns"]
        gaps = [gap for end, gap in timed(rows) if row["start_ns"] <= end < row["end_ns"]]
        if gaps:
            p99 = float(np.percentile(gaps, 99))
            assert row["gap_p99_low_ns"] <= p99 * (1 + 1e-12)
            assert p99 <= row["gap_p99_high_ns"] * (1 + 1e-12)
            assert row["gap_p99_high_ns"] <= row["gap_p99_low_ns"] * STEP * (1 + 1e-6) + 1


def test_many_streams_in_many_row_groups_keep_their_gaps_apart(library: Library) -> None:
    """The running sum of a stream starts where it starts, however many others were read before."""
    rng = np.random.default_rng(1)
    rows = []
    for number in range(3000):
        sent, gaps = int(rng.integers(10**6)), rng.integers(1, 50, rng.integers(1, 9))
        times = [sent + int(t) for t in np.cumsum([5, *gaps])]
        rows.append(at(str(number), sent, *times))
    library.bind(rows)
    ended = np.array(timed(rows))
    found = load(library, 100)
    for row in found:
        inside = ended[(ended[:, 0] >= row["start_ns"]) & (ended[:, 0] < row["end_ns"]), 1]
        assert (row["gaps"], row["longest_gap_ns"]) == (len(inside), max(inside, default=None))
    assert sum(row["gaps"] for row in found) == len(ended)
