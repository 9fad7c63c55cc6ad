"""What a handoff is made of: every instant of it counts once."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.given import Library, Row, clock, deliveries
from tests.queries.views import half, view
from tokengap.adapters.rows import stage
from tokengap.schema import STAGES

TELLS_MOST_FIRST: Final = (
    "kv_transfer", "kv_bootstrap", "relay", "decode_first_step", "decode_queue", "postprocess",
)  # fmt: skip
BEFORE: Final = {"queue", "prefill"}
"""Stages that no handoff has."""
OTHER_AHEAD: Final = 1_000
IDS: Final = {"x_request_id": "a"}

Stage = dict[str, Any]


def engine(name: str, span: tuple[int, int], stages: Iterable[Stage]) -> Row:
    """A row of both workers, of which the handoff lasts for the span."""
    start_ns, end_ns = span
    first = stage("prefill", start_ns - 5, start_ns, clock="c")
    row = view(
        name, "engine", {}, clock="c", first_token_ns=start_ns, gaps_ns=None, min_gap_ns=None
    )
    return row | {
        "handoff_source": "log", "last_prefill_token": 1, "prefill_worker": "p",
        "decode_worker": "d", "output_tokens": 2, "stages": [first, *stages],
        "marks": [{"kind": "decode_first_token", "t_ns": end_ns}],
    }  # fmt: skip


def placed(library: Library, boundary: str = "engine") -> dict[str, dict[str, int]]:
    """Parts of the handoff, by request."""
    found: dict[str, dict[str, int]] = {}
    for row in library.rows("handoff_stages"):
        if row["placed"] and row["boundary"] == boundary:
            parts = found.setdefault(row["request_id"], {})
            assert row["stage"] not in parts
            parts[row["stage"]] = row["stage_ns"]
            assert sum(parts.values()) <= row["span_ns"]
    return found


def beside(library: Library) -> list[tuple[str, int]]:
    rows = library.rows("handoff_stages")
    return sorted((row["stage"], row["stage_ns"]) for row in rows if not row["placed"])


def each_instant(span: tuple[int, int], stages: Iterable[Stage]) -> dict[str, int]:
    """The parts, counted one by one."""
    known = [each for each in stages if each["name"] not in BEFORE and each["start_ns"] is not None]
    found: Counter[str] = Counter()
    for t in range(*span):
        names = [s["name"] for s in known if s["start_ns"] <= t < s["end_ns"]]
        found[min(names, key=TELLS_MOST_FIRST.index, default="unaccounted")] += 1
    return dict(found)


def test_a_stage_inside_another_counts_for_itself_only(library: Library) -> None:
    stages = [
        stage("relay", 100, 110, clock="c"),
        stage("decode_queue", 115, 150, clock="c"),
        stage("kv_transfer", 120, 140, clock="c"),  # within the queue
        stage("decode_first_step", 145, 170, clock="c"),  # ends after the token
    ]
    library.bind([engine("a", (100, 160), stages)])
    assert placed(library) == {
        "a": {
            "relay": 10, "unaccounted": 5, "decode_queue": 5 + 5, "kv_transfer": 20,
            "decode_first_step": 15,
        }
    }  # fmt: skip


def test_each_boundary_has_its_own_parts(library: Library) -> None:
    """All on one clock: prefill token 50, answered 55, asked 60, there 63, first 95, 99, 103."""
    gateway = view(
        "g", "gateway", IDS, clock="c", last_prefill_token=0, handoff_source="log",
        first_token_ns=99, gaps_ns=None,
        stages=[stage("prefill", 5, 55, clock="c"), stage("relay", 55, 60, clock="c")],
    )  # fmt: skip
    stages = [stage("decode_queue", 63, 83, clock="c"), stage("kv_transfer", 64, 80, clock="c")]
    rows = [
        view("a", "client", IDS, clock="c") | deliveries([103, 120]),
        gateway,
        half("p", "prefill", IDS, clock="c", arrival_ns=8) | deliveries([50]),
        half("d", "decode", IDS, clock="c", arrival_ns=63, stages=stages) | deliveries([95, 112]),
    ]
    library.bind(rows)
    parts = {"relay": 5, "decode_queue": 1 + 3, "kv_transfer": 16}
    for boundary, span_ns in {"engine": 95 - 50, "gateway": 99 - 55, "ttft": 103 - 55}.items():
        whole = parts | {"unaccounted": span_ns - sum(parts.values())}
        assert placed(library, boundary) == {"a": whole}
    assert beside(library) == []


def test_what_cannot_be_placed_stands_beside_the_sum(library: Library) -> None:
    stages = [
        stage("kv_transfer", 110, 130, clock="other"),
        stage("decode_queue", duration_ns=40),
        stage("relay", 100, 105, clock="c"),
        stage("kv_bootstrap", None, 105, clock="c"),
        stage("queue", duration_ns=7),
    ]
    library.bind([engine("a", (100, 160), stages)])
    assert placed(library) == {"a": {"relay": 5, "unaccounted": 55}}
    assert beside(library) == [("decode_queue", 40), ("kv_transfer", 20)]


def test_stages_on_a_clock_that_is_exactly_known_are_laid_over_the_span(library: Library) -> None:
    stages = [stage("kv_transfer", 1_110, 1_130, clock="other")]
    library.bind([engine("a", (100, 160), stages)], clocks=[clock("other", "c", OTHER_AHEAD)])
    assert placed(library) == {"a": {"kv_transfer": 20, "unaccounted": 40}}
    library.bind([engine("a", (100, 160), stages)], clocks=[clock("other", "c", OTHER_AHEAD, 1)])
    assert placed(library) == {"a": {"unaccounted": 60}}
    assert beside(library) == [("kv_transfer", 20)]


def test_a_span_from_clock_to_clock_has_parts_if_they_are_exactly_known(library: Library) -> None:
    rows = [
        view("a", "client", IDS, clock="c") | deliveries([103, 120]),
        half("p", "prefill", IDS, clock="c", arrival_ns=8) | deliveries([50]),
        half(
            "d", "decode", IDS, clock="d", arrival_ns=1_063,
            stages=[stage("kv_transfer", 1_064, 1_080, clock="d")],
        )
        | deliveries([1_095, 1_112]),
    ]  # fmt: skip
    library.bind(rows, clocks=[clock("d", "c", 1_000)])
    assert placed(library) == {"a": {"kv_transfer": 16, "unaccounted": 95 - 50 - 16}}
    library.bind(rows, clocks=[clock("d", "c", 1_000, 1)])
    assert placed(library) == {}
    assert beside(library) == [("kv_transfer", 16)]
    assert {row["span_ns"] for row in library.rows("handoff_stages")} == {None}


def test_spans_of_no_length_or_below_zero_have_no_parts(library: Library) -> None:
    transfer = [stage("kv_transfer", 90, 110, clock="c")]
    library.bind([engine("zero", (100, 100), transfer), engine("skew", (100, 95), transfer)])
    assert library.rows("handoff_stages") == []
    found = {row["request_id"]: row["handoff_ns"] for row in library.rows("handoff_boundaries")
             if row["boundary"] == "engine"}  # fmt: skip
    assert found == {"zero": 0, "skew": -5}


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    """Anywhere around a span within 0 to 40, or with a duration only."""
    name = draw(st.sampled_from(STAGES))
    if draw(st.integers(0, 5)) == 0:
        return stage(name, duration_ns=draw(st.integers(0, 30)))
    start_ns = draw(st.integers(-10, 45))
    return stage(name, start_ns, start_ns + draw(st.integers(0, 30)), clock="c")


handoffs = st.tuples(
    st.tuples(st.integers(0, 20), st.integers(20, 40)), st.lists(stages(), max_size=7)
)


@given(st.lists(handoffs, min_size=1, max_size=12), st.booleans())
@settings(max_examples=60)
def test_parts_sum_to_the_span_and_every_instant_counts_once(
    library: Library, requests: list[tuple[tuple[int, int], list[Stage]]], elsewhere: bool
) -> None:
    """Whether the stages are on the span's clock or on one that is exactly known."""
    clocks = [clock("other", "c", OTHER_AHEAD)] if elsewhere else []
    logged = [[_moved(each) if elsewhere else each for each in found] for _, found in requests]
    named = [(str(n), span) for n, (span, _) in enumerate(requests)]
    rows = [engine(*each, found) for each, found in zip(named, logged, strict=True)]
    library.bind(rows, clocks=clocks)
    found = placed(library)
    for (name, span), (_, known) in zip(named, requests, strict=True):
        parts = found.get(name, {})
        assert sum(parts.values()) == span[1] - span[0]
        assert parts == each_instant(span, known)
    durations = {
        (n, s["name"], s["duration_ns"])  # what two views say alike is one stage
        for n, (_, found) in enumerate(requests)
        for s in found
        if s["start_ns"] is None and s["name"] not in BEFORE
    }
    assert beside(library) == sorted((name, duration_ns) for _, name, duration_ns in durations)


def _moved(given: Stage) -> Stage:
    if given["start_ns"] is None:
        return given
    start_ns, end_ns = given["start_ns"] + OTHER_AHEAD, given["end_ns"] + OTHER_AHEAD
    return given | {"start_ns": start_ns, "end_ns": end_ns, "clock": "other"}


def test_the_summary_takes_shares_of_all_handoff_time(library: Library) -> None:
    transfer = stage("kv_transfer", 110, 130, clock="c")
    queue = stage("decode_queue", duration_ns=8)
    rows = [
        engine("a", (100, 160), [transfer, queue]),
        engine("b", (100, 140), [stage("kv_transfer", 100, 140, clock="c")]),
        engine("f", (100, 900), [transfer]) | {"status": "failed"},
    ]
    library.bind(rows)
    found = {(row["stage"], row["placed"]): row for row in library.rows("handoff_stage_summary")}
    assert {row["boundary"] for row in found.values()} == {"engine"}
    known = found["kv_transfer", True]
    assert (known["requests"], known["p50_ns"], known["max_ns"]) == (2, 30, 40)
    assert known["total_share"] == (20 + 40) / (60 + 40)
    rest = found["unaccounted", True]
    assert (rest["requests"], rest["total_share"]) == (1, 40 / 100)
    alone = found["decode_queue", False]
    assert (alone["requests"], alone["p50_ns"], alone["total_share"]) == (1, 8, None)
