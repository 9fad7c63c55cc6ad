"""Every relation about requests against the oracle, on whole populations."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries import oracle_relations as right
from tests.queries import oracle_statistics as statistics
from tests.queries.comparing import assert_same_rows, differences
from tests.queries.given import Library, Row, limits
from tests.queries.observed import Observed
from tests.queries.oracle_requests import judged, last_attempts, requests
from tests.queries.strategies import populations, windowed
from tokengap.slo import STATISTICS
from tokengap.store.connect import Declared

KEYS = ("trace", "request_id", "attempt", "choice", "vantage")
KEY = ", ".join(KEYS)
REQUEST = "trace, request_id"
CAUSE = (
    "cause", "basis", "by_trace", "by_request_id", "by_prompt_tokens", "overlap_ns",
    "stopped_streams", "active_streams",
)  # fmt: skip

limit_sets = st.dictionaries(
    st.sampled_from(list(STATISTICS)), st.sampled_from([200_000, 1_000_000, 5_000_000, 20_000_000])
).map(lambda found: {name: found[name] for name in STATISTICS if name in found})


def _without_causes(library: Library, asked: str) -> list[Row]:
    """Hidden stalls by request, where each has the cause of its worst gap."""
    causes = {
        (*(row[name] for name in KEYS), row["gap_index"]): {name: row[name] for name in CAUSE}
        for row in library.rows(f"gap_causes({asked})")
    }
    stalls = library.rows(f"hidden_stalls({asked})", REQUEST)
    for row in stalls:
        key = (*(row[name] for name in KEYS), row["worst_gap_index"])
        assert {name: row.pop(name) for name in CAUSE} == causes.get(key, dict.fromkeys(CAUSE))
    return stalls


@given(populations(), windowed, limit_sets)
@settings(max_examples=20)
def test_verdicts_and_counts(
    library: Library, rows: list[Row], declared: Declared, limits_ns: dict[str, int]
) -> None:
    library.bind(rows, declared)
    asked = limits(**limits_ns)
    streams = judged(rows, declared)
    found = requests(streams, limits_ns)

    verdicts = library.rows(f"objective_verdicts({asked})")
    expected = {(*j.key, j.s["choice"], name): j for j in streams for name in limits_ns}
    assert len(verdicts) == len(expected)
    for row in verdicts:
        key = (
            *(row[k] for k in ("trace", "request_id", "attempt", "vantage", "choice", "statistic")),
        )
        j, limit_ns = expected[key], limits_ns[row["statistic"]]
        assert row["limit_ns"] == limit_ns
        assert row["verdict"] == j.verdict(row["statistic"], limit_ns)
        assert row["reason"] == j.value(row["statistic"]).reason

    by_request = sorted(
        right.request_verdicts(found), key=lambda row: (row["trace"], row["request_id"])
    )
    assert_same_rows(library.rows(f"request_verdicts({asked})", REQUEST), by_request)
    stalls = sorted(right.hidden_stalls(found), key=lambda row: (row["trace"], row["request_id"]))
    assert_same_rows(_without_causes(library, asked), stalls)
    assert_same_rows(library.rows(f"slo_attainment({asked})"), right.slo_attainment(found))
    objectives = right.objective_attainment(found, limits_ns)
    assert_same_rows(library.rows(f"objective_attainment({asked})"), objectives)
    counts = right.request_counts(rows, found, declared)
    assert differences(library.row(f"request_counts({asked})"), counts) == {}


@given(populations(), windowed)
@settings(max_examples=25)
def test_statistics(library: Library, rows: list[Row], declared: Declared) -> None:
    library.bind(rows, declared)
    last, streams = last_attempts(rows, declared), judged(rows, declared)
    percentiles = statistics.latency_percentiles(last, declared.window)
    assert_same_rows(library.rows("latency_percentiles"), percentiles)
    gaps = statistics.pooled_gaps(last, declared.window)
    assert differences(library.row("gap_percentiles"), statistics.gap_percentiles(gaps)) == {}
    survival = library.rows("gap_survival")
    assert sum(row["gaps"] for row in survival) == statistics.gap_percentiles(gaps)["n"]
    steps = [row["gap_ns"] for row in survival]
    assert_same_rows(survival, statistics.gap_survival(gaps, steps))
    order = "place, last_prefill_token NULLS FIRST, handoff_source NULLS FIRST"
    handoff = statistics.handoff_summary(streams)
    handoff.sort(
        key=lambda row: (
            row["place"],
            -1 if row["last_prefill_token"] is None else row["last_prefill_token"],
            row["handoff_source"] or "",
        )
    )
    assert_same_rows(library.rows("handoff_summary", order), handoff)
    ratios = sorted(right.worst_gap_ratios(streams), key=_key)
    assert_same_rows(library.rows("worst_gap_ratios", KEY), ratios)
    handoffs = sorted(right.handoff_gaps(rows, declared), key=_key)
    assert_same_rows(library.rows("handoff_gaps", KEY), handoffs)
    assert_same_rows(library.rows("inexact_values"), right.inexact_values(streams))
    window = right.judged_window(streams, declared)
    assert differences(library.row("judged_window"), window) == {}
    vantages = right.judged_vantages(rows, last, declared)
    assert_same_rows(library.rows("judged_vantages"), vantages)
    notes = [row for row in library.rows("quality") if row["note"] != "delivery_pause"]
    assert_same_rows(notes, right.quality(rows, []))  # pauses have an oracle of their own


@given(populations())
@settings(max_examples=15)
def test_gaps_and_deliveries(library: Library, rows: list[Row]) -> None:
    library.bind(rows)
    seen = [Observed(row) for row in rows]
    gaps = [
        (*_stream(s), number, gap, end_ns)
        for s in seen
        for number, (gap, end_ns) in enumerate(zip(s.gaps, (s.times or [])[1:], strict=True), 1)
    ]
    names = (*KEYS, "gap_index", "gap_ns", "end_ns")
    assert sorted(_values(library.rows("gaps"), names)) == sorted(gaps)
    deliveries = [
        (*_stream(s), number, t_ns, tokens)
        for s in seen
        for number, (t_ns, tokens) in enumerate(zip(s.times or [], _tokens(s), strict=True), 1)
    ]
    found = _values(library.rows("token_deliveries"), (*KEYS, "delivery", "t_ns", "n_tokens"))
    assert sorted(found, key=str) == sorted(deliveries, key=str)


def _stream(s: Observed) -> tuple[str, str, int, int, str]:
    return s["trace"], s["request_id"], s["attempt"], s["choice"], s.vantage


def _tokens(s: Observed) -> list[int | None]:
    """Tokens of each delivery, as the row has them."""
    if s["token_counts"] is not None:
        return list(s["token_counts"])
    m = len(s.times or [])
    return [1 if m == s["output_tokens"] else None] * m


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in KEYS)


def _values(rows: list[Row], names: Sequence[str]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]
