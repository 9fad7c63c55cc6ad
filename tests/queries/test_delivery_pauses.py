"""Pauses that tokens made on time arrive after: in a burst."""

import gzip
import json
from collections.abc import Sequence
from itertools import accumulate, takewhile
from pathlib import Path
from statistics import median
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.given import MS, Library, Row, stream

SAMPLES: Final = Path(__file__).parents[2] / "sample_traces" / "vllm-bench"
STALLED_NS: Final = 500 * MS
BURST_NS: Final = 200_000


def by_gaps(gaps: Sequence[int], name: str = "a", **facts: Any) -> Row:
    """A stream with these gaps, one token each unless stated."""
    return stream(name, list(accumulate(gaps, initial=0)), **facts)


def paused(gaps: Sequence[int], tokens: int | None = None) -> tuple[int, int, float, int] | None:
    """Pause, the delivery before it, the steady step and the length of the burst; None without."""
    if len(gaps) < 4 or min(gaps) < 0 or max(gaps) < BURST_NS:
        return None
    at = gaps.index(max(gaps))
    slow = [gap for gap in gaps if gap >= BURST_NS]
    step = median(slow) if 10 * len(slow) >= len(gaps) else sum(gaps) / len(gaps)
    later = gaps[at + 1 :]
    burst = list(takewhile(lambda gap: 5 * gap < step, later))
    # Tokens that came merged into one delivery are taken to have come in the burst.
    merged = 0 if tokens is None else max(tokens - len(gaps) - 1, 0)
    caught_up = 8 * (1 + len(burst) + merged) * step >= gaps[at] + sum(burst)
    if len(burst) < 3 or not (caught_up or len(burst) == len(later)):
        return None
    return gaps[at], at + 1, step, len(burst)


def found(library: Library) -> dict[str, tuple[int, int, float, int]]:
    return {
        row["request_id"]: (row["pause_ns"], row["after"], row["step_ns"], row["burst"])
        for row in library.rows("delivery_pauses")
    }


@pytest.mark.parametrize(
    ("gaps_ms", "burst"),
    [
        # Steps of 10 ms: a pause of 400 ms holds up 40 tokens; an eighth of them must follow.
        ([10] * 9 + [400] + [1] * 9 + [10] * 20, 9),
        ([10] * 9 + [400] + [1] * 5 + [10] * 20, 5),  # (1 + 5) * 10 * 8 >= 405
        ([10] * 9 + [400] + [1] * 4 + [10] * 20, None),  # (1 + 4) * 10 * 8 < 404
        ([10] * 9 + [400] + [1] * 4, 4),  # or the stream ends with them
        ([10] * 9 + [100] + [1] * 2, None),
        ([10] * 9 + [30] + [1] * 3 + [10] * 9, 3),
        ([10] * 9 + [30] + [1] * 2 + [10] * 9, None),  # two are no burst
        ([10] * 9 + [100] + [2] * 9 + [10] * 20, None),  # a fifth of the step is not under it
        ([10] * 9 + [100] + [10] * 20, None),  # whatever it was, no tokens waited
        ([10] * 9 + [1] * 9 + [100] + [10] * 20, None),  # the burst comes before
    ],
)
def test_a_burst_that_catches_up_tells_a_pause_in_delivery(
    library: Library, gaps_ms: list[int], burst: int | None
) -> None:
    gaps = [gap * MS for gap in gaps_ms]
    library.bind([by_gaps(gaps)])
    expected = (
        {} if burst is None else {"a": (max(gaps), gaps_ms.index(max(gaps_ms)) + 1, 10 * MS, burst)}
    )
    assert found(library) == expected


def test_gaps_within_one_read_do_not_slow_the_steady_step(library: Library) -> None:
    # Without the gaps of 0.1 ms the median is 10 ms, and 1 ms is a tenth of it.
    gaps = [10 * MS, BURST_NS // 2] * 9 + [40 * MS] + [1 * MS] * 3 + [BURST_NS // 2] * 30
    library.bind([by_gaps(gaps)])
    assert found(library) == {"a": (40 * MS, 19, 10 * MS, 33)}


def test_what_lies_between_bursts_is_no_step(library: Library) -> None:
    # Of 43 gaps two are no burst, under a tenth: 820 ms in all, a mean of 19.1 ms.
    gaps = [0] * 20 + [420 * MS] + [0] * 20 + [400 * MS, 0]
    library.bind([by_gaps(gaps)])
    assert found(library) == {"a": (420 * MS, 21, 820 * MS / 43, 20)}


def test_merged_tokens_count_as_part_of_the_burst(library: Library) -> None:
    gaps = [gap * MS for gap in [10] * 9 + [400] + [1] * 3 + [10] * 20]
    library.bind([by_gaps(gaps, output_tokens=len(gaps) + 1 + merged, choice=merged)
                  for merged in (0, 1, 2)])  # fmt: skip
    # With two more, (1 + 3 + 2) * 10 * 8 is at least the 403 ms that it took.
    assert [row["choice"] for row in library.rows("delivery_pauses")] == [2]


def test_a_clock_that_stepped_or_gaps_that_are_no_gaps_tell_nothing(library: Library) -> None:
    gaps = [10 * MS] * 9 + [100 * MS] + [1 * MS] * 9
    library.bind([by_gaps([*gaps, -1], "stepped"), by_gaps(gaps, "spread", quality=["smeared"])])
    assert found(library) == {}


lengths = st.sampled_from(
    [0, BURST_NS // 2, BURST_NS, 1 * MS, 2 * MS - 1, 2 * MS, 10 * MS, 10 * MS, 40 * MS, 90 * MS]
)
patterns = st.tuples(
    st.lists(lengths, max_size=8), st.sampled_from([40 * MS, 90 * MS]),
    st.lists(st.sampled_from([BURST_NS // 2, 1 * MS, 2 * MS - 1, 2 * MS]), max_size=8),
    st.lists(lengths, max_size=12),
).map(lambda parts: [*parts[0], parts[1], *parts[2], *parts[3]])  # fmt: skip


@given(st.lists(st.tuples(patterns, st.sampled_from([None, 0, 2, 5])), min_size=1, max_size=20))
@settings(max_examples=50)
def test_every_pause_is_found_and_no_other(
    library: Library, streams: list[tuple[list[int], int | None]]
) -> None:
    counts = [None if more is None else len(gaps) + 1 + more for gaps, more in streams]
    library.bind(
        by_gaps(gaps, str(n), output_tokens=count)
        for n, ((gaps, _), count) in enumerate(zip(streams, counts, strict=True))
    )
    right = {
        str(n): paused(gaps, count)
        for n, ((gaps, _), count) in enumerate(zip(streams, counts, strict=True))
    }
    assert found(library) == {name: pause for name, pause in right.items() if pause is not None}


def bench_gaps(name: str) -> list[list[int]]:
    """Gaps of every request, in ns, as the file has them."""
    document = json.loads(gzip.decompress((SAMPLES / name).read_bytes()))
    return [[round(gap * 1e9) for gap in gaps] for gaps in document["itls"]]


@pytest.mark.parametrize(
    ("name", "pauses", "others"),
    [
        # The second kind ends with the prefill of a long prompt, and no burst follows.
        (
            "bench_victims_mono8192_quiet.json.gz", {5, 6, 7, 8, 14, 52, 53, 54, 55},
            {22, 23, 24, 27, 28, 33, 38, 39, 40, 45},
        ),
        ("bench_preempt.json.gz", set(), {11, 12, 13, 14, 22, 23, 33, 34, 35, 36}),
    ],
)  # fmt: skip
def test_in_real_logs_stalls_are_told_apart(
    library: Library, name: str, pauses: set[int], others: set[int]
) -> None:
    library.read([SAMPLES / name])
    shown = {int(name): pause for name, pause in found(library).items()}
    stalled = {n for n, (pause_ns, *_) in shown.items() if pause_ns > STALLED_NS}
    assert stalled == pauses
    assert stalled.isdisjoint(others)
    slow = {n for n, gaps in enumerate(bench_gaps(name)) if gaps and max(gaps) > STALLED_NS}
    assert slow == pauses | others


def test_where_prefill_is_chunked_every_stall_is_a_pause(library: Library) -> None:
    """Of tokens that came merged, several in one delivery."""
    name = "bench_victims_chunked256.json.gz"
    library.read([SAMPLES / name])
    shown = {int(name) for name, (pause_ns, *_) in found(library).items() if pause_ns > STALLED_NS}
    slow = {n for n, gaps in enumerate(bench_gaps(name)) if gaps and max(gaps) > STALLED_NS}
    assert shown == slow
    assert len(slow) == 4
