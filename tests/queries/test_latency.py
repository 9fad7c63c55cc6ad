"""Metrics of single streams and their percentiles, on numbers one can check by hand."""

import pytest

from tests.queries.comparing import same
from tests.queries.given import MS, Library, Row, reject, stream
from tokengap.store.connect import Declared, Window


def latency(library: Library, row: Row, declared: Declared | None = None) -> Row:
    library.bind([row], declared or Declared())
    return library.row("request_latency")


def chosen(row: Row, names: str) -> list[object]:
    return [row[name] for name in names.split()]


def test_a_plain_stream(library: Library) -> None:
    times = [100 * MS, 120 * MS, 150 * MS, 160 * MS]
    row = latency(library, stream("a", times, stream_close_ns=165 * MS))
    assert chosen(row, "ttft_ns e2e_ns end_ns decode_span_ns first_gap_ns") == [
        100 * MS, 160 * MS, 165 * MS, 60 * MS, 20 * MS,
    ]  # fmt: skip
    assert chosen(row, "tpot_ns tpot_n1_ns e2e_per_token_ns tokens_per_delivery") == [
        20 * MS, 20 * MS, 40 * MS, 1,
    ]  # fmt: skip
    assert chosen(row, "worst_gap_ns worst_gap_index worst_gap_after_token") == [30 * MS, 2, 2]
    # Gaps 10, 20, 30: the median is the second, p90 lies 0.8 of the way from 20 to 30.
    assert chosen(row, "gap_p50_ns gap_p90_ns gap_p99_ns") == [20 * MS, 28 * MS, 29.8 * MS]
    reasons = "ttft_reason tpot_reason worst_gap_reason gap_percentiles_reason e2e_reason"
    assert chosen(row, reasons) == [None] * 5


def test_the_first_delivery_s_tokens_are_not_in_the_average(library: Library) -> None:
    facts = {"token_counts": [3, 1, 2], "output_tokens": 6}
    row = latency(library, stream("a", [10, 40, 70], **facts))
    assert row["tpot_ns"] == 20  # 60 ns over the 3 tokens after the first delivery
    assert row["tpot_n1_ns"] == 12  # most tools divide by 5
    assert row["second_token_ns"] == 0  # it came with the first
    assert row["worst_gap_after_token"] == 3  # gaps of 30 and 30: the first of the two


def test_an_unknown_split_gives_an_interval(library: Library) -> None:
    # 6 tokens in 3 deliveries: 1 to 4 of them in the first one, so 60 ns over 5 to 2.
    row = latency(library, stream("a", [10, 40, 70], output_tokens=6))
    assert chosen(row, "tpot_low_ns tpot_high_ns tpot_ns tpot_reason") == [
        12, 30, None, "split_unknown",
    ]  # fmt: skip
    assert chosen(row, "worst_gap_ns second_token_ns worst_gap_after_token") == [30, None, None]


def test_a_first_delivery_of_one_token_makes_the_average_exact(library: Library) -> None:
    row = stream("a", [10, 40, 70], output_tokens=6, last_prefill_token=1, handoff_source="log")
    assert latency(library, row)["tpot_ns"] == 12


@pytest.mark.parametrize(
    ("row", "reasons"),
    [
        (stream("a", []), ["no_token", "no_token", "no_token", "no_token"]),
        (stream("a", [5]), [None, "single_token", "single_token", None]),
        (stream("a", [5], output_tokens=3), [None, "single_delivery", "single_delivery", None]),
        (stream("a", [5, 9], sent_ns=None), ["origin_missing", None, None, "origin_missing"]),
        (stream("a", [5, 9], sent_ns=6), ["non_monotonic", None, None, None]),
        (stream("a", [5, 3, 9]), [None, "non_monotonic", "non_monotonic", None]),
        (stream("a", [5, 3]), [None, "non_monotonic", "non_monotonic", "non_monotonic"]),
        (
            stream("a", [5], "not_streamed", output_tokens=3),
            ["not_streamed", "not_streamed", "not_streamed", None],
        ),
        (
            stream("a", [5, 9], "events_lost"),
            [None, "events_lost", "events_lost", "events_lost"],
        ),
        (stream("a", [5, 9], "smeared"), [None, None, "smeared", None]),
        (stream("a", None), ["aggregate", "aggregate", "aggregate", "end_missing"]),
        (stream("a", None, first_token_ns=5), [None, "end_missing", "end_missing", "end_missing"]),
        (
            stream("a", None, first_token_ns=5, last_token_ns=9),
            [None, "aggregate", "aggregate", None],
        ),
        (stream("a", [], output_tokens=4), ["events_lost"] * 4),  # counted, yet never seen
        (stream("a", [], status="failed"), ["ended_early"] * 4),
        (
            stream("a", [5, 9], status="timed_out"),
            [None, None, "open_wait", "ended_early"],
        ),
    ],
)
def test_every_value_that_is_not_exact_has_a_reason(
    library: Library, row: Row, reasons: list[str | None]
) -> None:
    found = latency(library, row)
    metrics = ("ttft", "tpot", "worst_gap", "e2e")
    assert [found[f"{metric}_reason"] for metric in metrics] == reasons
    exact = [found[f"{metric}_ns"] is not None for metric in metrics]
    assert exact == [reason is None for reason in reasons]


def test_a_silence_before_leaving_counts_as_waited(library: Library) -> None:
    left = {"status": "cancelled", "stream_close_ns": 20_000 * MS}
    library.bind([stream("mute", [], **left), stream("stuck", [5 * MS, 8 * MS], **left)])
    mute, stuck = library.rows("request_latency", "request_id")
    assert chosen(mute, "ttft_low_ns ttft_high_ns worst_gap_low_ns e2e_low_ns") == [
        20_000 * MS, None, None, 20_000 * MS,
    ]  # fmt: skip
    assert chosen(stuck, "ttft_ns worst_gap_low_ns worst_gap_high_ns worst_gap_index") == [
        5 * MS, 19_992 * MS, None, 1,
    ]  # fmt: skip


def test_a_pause_with_lost_deliveries_in_it_proves_only_a_part(library: Library) -> None:
    # 5 tokens, 3 deliveries seen: two more may have come within the 70 ns, leaving a third of it.
    lost = stream("a", [10, 80, 90], "events_lost", output_tokens=5, stream_close_ns=99)
    row = latency(library, lost)
    assert chosen(row, "worst_gap_low_ns worst_gap_high_ns") == [24, None]
    assert chosen(row, "e2e_low_ns e2e_high_ns worst_gap_after_token") == [90, 99, None]
    uncounted = lost | {"token_count_source": "events"}
    assert latency(library, uncounted)["worst_gap_low_ns"] is None


def test_a_mean_bounds_the_worst_gap_from_below_rounded_up(library: Library) -> None:
    row = stream("a", None, first_token_ns=10, last_token_ns=17, output_tokens=3)
    found = latency(library, row)
    assert chosen(found, "worst_gap_low_ns worst_gap_high_ns") == [4, 7]  # 7 ns in two gaps
    assert chosen(found, "tpot_low_ns tpot_high_ns") == [3.5, 7]


def test_a_body_bounds_what_was_waited_inside_it(library: Library) -> None:
    row = latency(library, stream("a", [80], "not_streamed", output_tokens=5))
    assert chosen(row, "ttft_low_ns ttft_high_ns worst_gap_low_ns worst_gap_high_ns e2e_ns") == [
        0, 80, 0, 80, 80,
    ]  # fmt: skip
    # Four tokens could come at once in the end, one of them alone before.
    assert chosen(row, "tpot_low_ns tpot_high_ns") == [0, 80]


def test_bursts_spoil_the_percentiles_and_nothing_else(library: Library) -> None:
    row = latency(library, stream("a", [10, 20, 30], "coalesced_reads"))
    assert chosen(row, "gap_p50_ns gap_percentiles_reason tpot_ns worst_gap_ns") == [
        None, "coalesced_reads", 10, 10,
    ]  # fmt: skip


def test_steady_tpot_starts_after_the_handoff(library: Library) -> None:
    facts = {"last_prefill_token": 1, "handoff_source": "log"}
    row = latency(library, stream("a", [10, 90, 100, 110], **facts))
    assert chosen(row, "steady_tpot_ns handoff_gap_ns") == [10, None]  # 80 ns: in one burst
    colocated = latency(library, stream("a", [10, 90, 100, 110]))
    assert colocated["steady_tpot_ns"] is None


def test_first_answer_comes_after_reasoning(library: Library) -> None:
    row = latency(library, stream("a", [10, 20], sent_ns=4, first_answer_ns=20))
    assert chosen(row, "ttft_ns first_answer_ns") == [6, 16]


@pytest.mark.parametrize(
    ("n", "thin"),
    [
        (19, ["p50", "p90", "p99"]),
        (20, ["p90", "p99"]),  # ten samples lie beyond the median
        (99, ["p90", "p99"]),
        (100, ["p99"]),
        (999, ["p99"]),
        (1000, []),
    ],
)
def test_fewer_than_ten_samples_beyond_a_percentile_are_thin(
    library: Library, n: int, thin: list[str]
) -> None:
    library.bind(stream(str(number), [number + 1]) for number in range(n))
    ttft = library.rows("latency_percentiles")[0]
    assert (ttft["n"], ttft["thin"]) == (n, thin)


def test_percentiles_of_intervals_are_intervals(library: Library) -> None:
    exact = stream("exact", [0, 10, 20])  # TPOT 10
    split = stream("split", [0, 20, 40], output_tokens=5)  # 40 ns over 4 to 2 tokens: 10 to 20
    silent = stream("silent", [0], output_tokens=5)  # no TPOT, a worst gap without limit
    library.bind([exact, split, silent])
    found = {row["statistic"]: row for row in library.rows("latency_percentiles")}
    tpot, worst = found["tpot"], found["worst_gap"]
    assert chosen(tpot, "n n_exact left_out p50_low_ns p50_high_ns") == [2, 1, 1, 10, 15]
    # Worst gaps 10, 20 and [0, no limit): medians of lows 0, 10, 20 and of highs 10, 20, none.
    assert chosen(worst, "n n_exact p50_low_ns p50_high_ns p90_high_ns max_low_ns max_high_ns") == [
        3, 2, 10, 20, None, 20, None,
    ]  # fmt: skip


def test_waiting_to_be_sent_is_shown_beside_ttft(library: Library) -> None:
    library.bind([stream("a", [50], sent_ns=20, planned_ns=5), stream("b", [40], sent_ns=20)])
    found = {row["statistic"]: row for row in library.rows("latency_percentiles")}
    assert chosen(found["ttft"], "n max_low_ns") == [2, 30]
    assert chosen(found["ttft_from_planned"], "n left_out max_low_ns") == [1, 1, 45]


def test_only_completed_streams_have_percentiles(library: Library) -> None:
    library.bind([stream("a", [1, 3]), stream("b", [1, 99], status="failed")])
    ttft = library.rows("latency_percentiles")[0]
    assert chosen(ttft, "statistic n left_out") == ["ttft", 1, 0]
    assert library.row("gap_percentiles")["max_ns"] == 2


def test_pooled_gaps_leave_negative_ones_out(library: Library) -> None:
    rows = [
        stream("a", [0, 10, 30]),
        stream("b", [0, 30, 20]),
        stream("c", [0, 40], "coalesced_reads"),
    ]
    library.bind(rows)
    found = library.row("gap_percentiles")
    # 10, 20, 30, 40: the median lies between the middle two, p90 at 0.7 between the last two.
    assert chosen(found, "n left_out p50_ns p90_ns max_ns coalesced_share") == [
        4, 1, 25, 37, 40, 0.25,
    ]  # fmt: skip
    assert same(found["p99_ns"], 39.7)


def test_survival_says_how_many_gaps_are_longer(library: Library) -> None:
    library.bind([stream("a", [0, 1_000, 1_010, 2_011])])  # 1000, 10, 1001
    assert [chosen(row, "gap_ns gaps longer") for row in library.rows("gap_survival")] == [
        [10, 1, 2],
        [1_001, 2, 0],  # both in one step, which stands at the longer
    ]
    assert same(library.rows("gap_survival")[0]["longer_share"], 2 / 3)


def test_a_window_takes_whole_requests_or_single_gaps(library: Library) -> None:
    rows = [stream("a", [8, 12, 18, 26], sent_ns=5), stream("b", [18, 23], sent_ns=15)]
    library.bind(rows, Declared(window=Window(10, 20, "by_start")))
    assert chosen(library.row("gap_percentiles"), "n max_ns") == [1, 5]
    library.bind(rows, Declared(window=Window(10, 20, "by_event")))
    assert chosen(library.row("gap_percentiles"), "n max_ns") == [2, 6]


def test_ratios_put_the_most_uneven_stream_first(library: Library) -> None:
    even, uneven = stream("even", [0, 10, 20]), stream("uneven", [0, 2, 20])
    split = stream("split", [0, 4, 24], output_tokens=9)  # 24 ns over 8 to 2 tokens
    others = [stream("one", [0]), stream("failed", [0, 9], status="failed")]
    library.bind([even, uneven, split, *others])
    found = [chosen(row, "request_id ratio") for row in library.rows("worst_gap_ratios")]
    assert found == [["uneven", 1.8], ["split", 20 / 12], ["even", 1]]  # 18, 20 and 10 ns


def test_values_that_are_not_exact_are_counted_by_reason(library: Library) -> None:
    rows = [stream("a", [0, 9], output_tokens=4), stream("b", [3, 4]), stream("c", [5])]
    library.bind([*rows, stream("d", [], status="failed")])
    found = [tuple(row.values()) for row in library.rows("inexact_values")]
    single = [(name, "single_token", 1, 3) for name in ("worst_gap", "own_gaps")]
    tpot = [("tpot", "single_token", 1, 3), ("tpot", "split_unknown", 1, 3)]
    assert found == [*tpot, *single]


def test_rejected_records_are_among_the_notes(library: Library) -> None:
    rows = [stream("b", [1], "smeared"), stream("a", [1], "end_not_seen", "smeared")]
    library.bind(rows, rejects=[reject(7, "later"), reject(3, "first")])
    found = [tuple(row.values()) for row in library.rows("quality")]
    assert found == [
        ("rejected_records", 2, 2, "first"), ("smeared", 2, 2, "a"), ("end_not_seen", 1, 2, "a"),
    ]  # fmt: skip
