"""Causes against an oracle of all pairs, and against planted stalls."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, takewhile
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planted import LIMIT_NS, Truth, planted
from tests.queries.given import MS, Library, Row
from tests.queries.stalls import LIMIT, PARTS, caused, causes, prefill, running
from tokengap.store.connect import Tables

Span = tuple[int, int]


def steady(gaps: Sequence[int]) -> float:
    slow = [gap for gap in gaps if gap >= 200_000]
    return median(slow) if 10 * len(slow) >= len(gaps) else sum(gaps) / len(gaps)


def covered(spans: Sequence[Span], within: Span) -> int:
    """How much of `within` the spans cover together."""
    total, reached = 0, within[0]
    for start, end in sorted(spans):
        begun, ended = max(start, reached), min(end, within[1])
        if begun < ended:
            total, reached = total + ended - begun, ended
    return total


def expected(rows: Sequence[Row]) -> dict[tuple[str, int], tuple[str, int]]:
    """Cause, and the overlap with measured prefills, of every gap over `LIMIT`."""
    stalls = []
    for row in rows:
        times = list(accumulate(row["gaps_ns"], initial=row["first_token_ns"]))
        for at, gap in enumerate(row["gaps_ns"]):
            if gap > LIMIT:
                stalls.append((row, at, (times[at], times[at + 1])))
    return {
        (row["request_id"], at + 1): _expected(rows, stalls, row, at, span)
        for row, at, span in stalls
    }


def _expected(
    rows: Sequence[Row], stalls: Sequence[tuple[Row, int, Span]], row: Row, at: int, span: Span
) -> tuple[str, int]:
    gap, step = span[1] - span[0], steady(row["gaps_ns"])
    excess = gap - min(gap, round(step))
    worker = row["decode_worker"]
    spans = [
        (stage["start_ns"], stage["end_ns"])
        for other in rows
        for stage in other.get("stages") or ()
        if stage["worker"] == worker
    ]
    overlap = covered(spans, span)
    burst = len(list(takewhile(lambda later: 5 * later < step, row["gaps_ns"][at + 1 :])))
    rest = row["gaps_ns"][at + 1 :]
    late = burst >= 3 and (burst == len(rest) or 8 * (1 + burst) * step >= gap + sum(rest[:burst]))
    if any(mark["kind"] == "preempted" and span[0] <= mark["t_ns"] <= span[1]
           for mark in row.get("marks") or ()):  # fmt: skip
        return "preemption", overlap
    if len(row["gaps_ns"]) >= 5 and gap <= 2 * step:
        return "unexplained", overlap
    if late:
        return "delivery_pause", overlap
    if overlap and 2 * overlap >= excess:
        return "prefill_interference", overlap
    stopped, active = _most_stopped(rows, stalls, worker, span)
    shared = active > 1 and 2 * stopped > active
    return "shared_pause" if shared else "unexplained", overlap


def _most_stopped(
    rows: Sequence[Row], stalls: Sequence[tuple[Row, int, Span]], worker: str, span: Span
) -> tuple[int, int]:
    """Stopped and active streams at the instant when the largest share had stopped."""
    active = [
        (row["first_token_ns"], row["first_token_ns"] + sum(row["gaps_ns"]))
        for row in rows
        if row["decode_worker"] == worker
    ]
    stopped = [other for row, _, other in stalls if row["decode_worker"] == worker]
    instants = {t for begun in (*active, *stopped) for t in begun if span[0] <= t < span[1]}
    counts = [
        (sum(a <= t < b for a, b in stopped), sum(a <= t < b for a, b in active)) for t in instants
    ]
    return max(counts, key=lambda count: (count[0] / count[1], count[0]))


lengths = st.sampled_from([0, 1, 5, 10, 10, 10, 10, 150, 300])
worlds = st.lists(
    st.tuples(
        st.sampled_from(["w0", "w0", "w1"]), st.integers(0, 60), st.lists(lengths, max_size=14),
        st.none() | st.tuples(st.integers(0, 80), st.integers(1, 40)), st.integers(-1, 300),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


def world(streams: Sequence[Any]) -> list[Row]:
    """Streams that each have a prefill measured somewhere; nobody's is inferred."""
    rows = []
    for number, (worker, start, gaps, ran, marked) in enumerate(streams):
        at, took = ran or (-10, 1)
        stage = prefill(10 * at, 10 * (at + took), worker if ran else "nowhere")
        marks = [{"kind": "preempted", "t_ns": (10 * start + marked) * MS}] if marked > 250 else []
        facts = {"decode_worker": worker, "stages": [stage], "marks": marks, "prompt_tokens": 10}
        rows.append(running(f"r{number}", gaps, 10 * start, **facts))
    return rows


@given(worlds)
@settings(max_examples=40)
def test_causes_are_those_that_pairs_of_everything_give(library: Library, streams: Any) -> None:
    rows = world(streams)
    found = causes(library, *rows)
    assert {
        (row["request_id"], row["gap_index"]): (row["cause"], row["overlap_ns"] or 0)
        for row in found
    } == expected(rows)
    for row in found:  # parts sum exactly, and none is negative
        assert sum(row[part] for part in PARTS) == row["gap_ns"]
        assert min(row[part] for part in PARTS) >= 0


@pytest.mark.parametrize("stages", [True, False])
def test_of_planted_stalls_each_cause_is_found_and_no_other(
    library: Library, tmp_path: Path, stages: bool
) -> None:
    """20 million tokens where prefills are measured, a tenth of that where they are inferred."""
    tokens = 20_000_000 if stages else 2_000_000
    truth = Truth()
    paths = []
    for number, (table, found) in enumerate(planted(tokens, stages=stages)):
        paths.append(str(tmp_path / f"{number}.parquet"))
        pq.write_table(table, paths[-1])
        truth |= found
    library.show(Tables(paths))
    rows = caused(library, worst_gap=LIMIT_NS)
    got = {(row["request_id"], row["gap_index"]): row["cause"] for row in rows}
    assert got.keys() == truth.keys()
    right = Counter(cause for key, cause in got.items() if truth[key] == cause)
    for named, of in Counter(truth.values()).items():
        assert of >= 30
        assert right[named] >= 0.95 * of, named  # recall
    for named, of in Counter(got.values()).items():
        assert right[named] >= 0.95 * of, named  # precision
    basis = {row["basis"] for row in rows if row["cause"] == "prefill_interference"}
    assert basis == {"measured" if stages else "inferred"}
