"""What must not change a result, and what must change it in step."""

from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.comparing import same
from tests.queries.given import Library, Row, limits
from tests.queries.strategies import populations
from tests.queries.test_edges import calls

FACTOR: Final = 10
STAMPS: Final = (
    "planned_ns", "sent_ns", "received_ns", "arrival_ns", "stream_close_ns", "first_token_ns",
    "first_answer_ns", "last_token_ns",
)  # fmt: skip
SCALED: Final = (*STAMPS, "gaps_ns", "min_gap_ns")
PROPORTIONAL: Final = (
    "ttft_ns", "ttft_low_ns", "ttft_high_ns", "tpot_ns", "tpot_low_ns", "tpot_high_ns",
    "tpot_n1_ns", "decode_span_ns", "worst_gap_ns", "worst_gap_high_ns", "first_gap_ns",
    "gap_p50_ns", "gap_p90_ns", "gap_p99_ns", "second_token_ns", "e2e_ns", "e2e_low_ns",
    "e2e_high_ns", "e2e_per_token_ns", "steady_tpot_ns",
)  # fmt: skip
LIMITS_NS: Final = {"ttft": 2_000_000, "tpot": 1_000_000, "gap_p90": 3_000_000, "e2e": 20_000_000}
KEY: Final = "trace, request_id, attempt, choice, vantage"
ABSOLUTE: Final = {"origin_ns", "last_ns", "end_ns", "start_ns", "t_ns", *STAMPS} - {
    "first_answer_ns"  # a stamp in streams, a wait in request_latency
}
CHECKED: Final = (
    "request_latency", "latency_percentiles", "gap_percentiles", "handoff_gaps", "handoff_summary",
    "judged_window", "worst_gap_ratios",
)  # fmt: skip


def shown(library: Library, rows: list[Row], names: tuple[str, ...]) -> dict[str, list[Row]]:
    library.bind(rows)
    relations = {name: call for name, call in calls(library).items() if name in names}
    return {name: sorted(library.rows(call), key=str) for name, call in relations.items()}


@given(populations(), st.randoms(use_true_random=False))
@settings(max_examples=5)
def test_the_order_of_rows_does_not_matter(library: Library, rows: list[Row], random: Any) -> None:
    names = tuple(set(library.catalogue.public) - {"quality", "streams"})
    shuffled = random.sample(rows, len(rows))
    assert shown(library, rows, names) == shown(library, shuffled, names)


@given(populations(), st.sampled_from([-(10**15), 1, 1_764_412_800 * 10**9]))
@settings(max_examples=10)
def test_another_zero_of_the_clock_shifts_stamps_and_nothing_else(
    library: Library, rows: list[Row], shift_ns: int
) -> None:
    moved = [_each(row, STAMPS, lambda stamp: stamp + shift_ns) for row in rows]
    before, after = shown(library, rows, CHECKED), shown(library, moved, CHECKED)
    for name, found in before.items():
        expected = [_each(row, ABSOLUTE, lambda stamp: stamp + shift_ns) for row in found]
        assert after[name] == sorted(expected, key=str)


@given(populations())
@settings(max_examples=12)
def test_a_clock_ten_times_as_fast_makes_all_times_ten_times_as_long(
    library: Library, rows: list[Row]
) -> None:
    def judged(ones: list[Row], factor: int) -> tuple[list[Row], list[Row]]:
        library.bind(ones)
        limits_ns = {name: ns * factor for name, ns in LIMITS_NS.items()}
        verdicts = library.rows(f"request_verdicts({limits(**limits_ns)})", "trace, request_id")
        return library.rows("request_latency", KEY), verdicts

    scaled = [_each(row, SCALED, lambda value: value * FACTOR) for row in rows]
    (slow, verdicts), (fast, same_verdicts) = judged(rows, 1), judged(scaled, FACTOR)
    assert same_verdicts == verdicts
    for one, other in zip(slow, fast, strict=True):
        for name in PROPORTIONAL:
            assert same(other[name], None if one[name] is None else FACTOR * one[name])


def _each(row: Row, names: Any, change: Any) -> Row:
    """The row with every known value of these columns changed, inside lists too."""

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(item) for item in value]
        return None if value is None else change(value)

    return {name: changed(value) if name in names else value for name, value in row.items()}
