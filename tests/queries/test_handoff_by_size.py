"""The handoff against prompt tokens and KV bytes: marks that lose no extreme."""

from collections import Counter
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.given import MS, Library, Row, deliveries, stream
from tests.queries.views import half, view
from tokengap.adapters.rows import stage

IDS: Final = {"x_request_id": "a"}
CELLS: Final = 25 * 25
ALONE: Final = 4


def handed(request_id: str, gap_ns: int, prompt_tokens: int | None, **facts: Any) -> Row:
    """A stream of two tokens whose handoff is its one gap."""
    known = {"last_prefill_token": 1, "handoff_source": "log", "prompt_tokens": prompt_tokens}
    return stream(request_id, [0, gap_ns], **known | facts)


def marks(library: Library, most_marks: int = 500) -> list[Row]:
    return library.rows(f"handoff_by_size(most_marks := {most_marks})")


def test_each_measure_that_is_known_has_a_mark(library: Library) -> None:
    library.bind(
        [
            handed("both", 30 * MS, 100, kv_bytes=4096),
            handed("prompt", 20 * MS, 200),
            handed("neither", 10 * MS, None),
            handed("failed", 40 * MS, 300, status="failed"),
            handed("burst", 100_000, 400),  # not observable
        ]
    )
    found = [
        (row["measure"], row["size"], row["handoff_ns"], row["request_id"], row["requests"])
        for row in marks(library)
    ]
    assert found == [
        ("kv_bytes", 4096, 30 * MS, "both", 1),
        ("prompt_tokens", 100, 30 * MS, "both", 1),
        ("prompt_tokens", 200, 20 * MS, "prompt", 1),
    ]


def test_boundaries_are_not_pooled_and_the_size_may_be_told_further_in(library: Library) -> None:
    """The client's gap is 17 ms; the decode worker's log has the transfer and its bytes."""
    transfer = stage("kv_transfer", 64 * MS, 80 * MS, clock="c")
    outer = view("a", "client", IDS, clock="c", last_prefill_token=1, handoff_source="log")
    inner = half("d", "decode", IDS, clock="c", arrival_ns=63, stages=[transfer], kv_bytes=2**20)
    library.bind(
        [
            outer | deliveries([100 * MS, 117 * MS]) | {"output_tokens": 2},
            inner | deliveries([115 * MS, 130 * MS]),
        ]
    )
    found = {
        row["boundary"]: (row["handoff_ns"], row["size"])
        for row in marks(library)
        if row["measure"] == "kv_bytes"
    }
    assert found == {"stream": (17 * MS, 2**20), "transfer": (16 * MS, 2**20)}


requests = st.lists(
    st.tuples(st.integers(200_000, 5_000_000_000), st.integers(0, 100_000)),
    min_size=1,
    max_size=80,
)


@given(requests, st.sampled_from([1, 20, 500]))
@settings(max_examples=25)
def test_marks_stand_for_all_and_keep_extremes(
    library: Library, requests: list[tuple[int, int]], most_marks: int
) -> None:
    library.bind([handed(str(n), gap, size) for n, (gap, size) in enumerate(requests)])
    found = marks(library, most_marks)
    assert {(row["boundary"], row["measure"]) for row in found} == {("stream", "prompt_tokens")}
    assert sum(row["requests"] for row in found) == len(requests)
    for row in found:
        assert (row["handoff_ns"], row["size"]) == requests[int(row["request_id"])]
    shown = [(row["handoff_ns"], row["size"]) for row in found]
    for pick in (min, max):
        assert pick(gap for gap, _ in shown) == pick(gap for gap, _ in requests)
        assert pick(size for _, size in shown) == pick(size for _, size in requests)
    if len(requests) <= most_marks:
        assert Counter(shown) == Counter(requests)


def test_there_are_never_more_marks_than_cells(library: Library) -> None:
    rows = [handed(str(n), 200_000 + n * n * 997, 1 + n * 7919 % 50_000) for n in range(3000)]
    library.bind(rows)
    found = marks(library)
    assert len(found) <= CELLS + ALONE
    assert sum(row["requests"] for row in found) == 3000
