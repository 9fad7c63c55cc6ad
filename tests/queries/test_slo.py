"""Verdicts, attainment and counts, on a few requests one can judge by hand."""

import pytest

from tests.queries.comparing import same
from tests.queries.given import MS, Library, Row, clock, limits, stream
from tokengap.store.connect import Declared, Window

LIMITS = limits(tpot=20 * MS, worst_gap=100 * MS)
STEADY = [10 * MS, 30 * MS, 50 * MS]
STALLED = [10 * MS * token for token in range(1, 12)] + [110 * MS + 101 * MS]
SLOW = [10 * MS, 60 * MS, 110 * MS]


def verdict(library: Library, row: Row, **limits_ns: int) -> tuple[str, str | None]:
    library.bind([row])
    found = library.row(f"objective_verdicts({limits(**limits_ns)})")
    return found["verdict"], found["reason"]


@pytest.mark.parametrize(
    ("statistic", "value_ns"),
    [
        ("ttft", 10), ("tpot", 20), ("worst_gap", 25), ("e2e", 70),
        ("gap_p50", 20), ("gap_p90", 24), ("handoff_gap", None),
    ],
)  # fmt: skip
def test_a_limit_is_inclusive(library: Library, statistic: str, value_ns: int | None) -> None:
    row = stream("a", [10, 35, 50, 70])  # gaps 25, 15, 20
    if value_ns is None:
        assert verdict(library, row, handoff_gap=1) == ("unknown", "handoff_undeclared")
        return
    assert verdict(library, row, **{statistic: value_ns}) == ("met", None)
    assert verdict(library, row, **{statistic: value_ns - 1}) == ("missed", None)


def test_an_average_between_two_nanoseconds_is_compared_exactly(library: Library) -> None:
    # 61 ns over 3 tokens are over 20 ns, 60 are not; over 10^9 tokens a double could not tell.
    assert verdict(library, stream("a", [0, 20, 40, 60]), tpot=20)[0] == "met"
    assert verdict(library, stream("a", [0, 20, 40, 61]), tpot=20)[0] == "missed"
    million = 1_000_000
    at_limit = 20 * MS * (million - 1)
    facts = {"token_counts": [1, million - 1], "output_tokens": million}
    assert verdict(library, stream("a", [0, at_limit], **facts), tpot=20 * MS)[0] == "met"
    assert verdict(library, stream("a", [0, at_limit + 1], **facts), tpot=20 * MS)[0] == "missed"


def test_own_percentiles_are_compared_to_a_hundredth_of_a_nanosecond(library: Library) -> None:
    # Gaps 1 and 2: p90 is 1.9, p99 is 1.99.
    assert verdict(library, stream("a", [0, 1, 3]), gap_p90=1)[0] == "missed"
    assert verdict(library, stream("a", [0, 1, 3]), gap_p99=2)[0] == "met"


@pytest.mark.parametrize(
    ("row", "statistic", "found"),
    [
        (stream("a", [5]), "tpot", ("not_applicable", "single_token")),
        (stream("a", [5]), "worst_gap", ("not_applicable", "single_token")),
        (stream("a", [5], output_tokens=2), "worst_gap", ("unknown", "single_delivery")),
        (stream("a", [], status="failed"), "ttft", ("missed", "ended_early")),
        (stream("a", [], status="rejected"), "tpot", ("missed", "ended_early")),
        (stream("a", [], status="truncated"), "gap_p99", ("missed", "ended_early")),
        (stream("a", [], status="timed_out"), "e2e", ("missed", "ended_early")),
        (
            stream("a", [], status="cancelled", stream_close_ns=50),
            "ttft",
            ("not_applicable", "ended_early"),
        ),
        (
            stream("a", [], status="cancelled", stream_close_ns=51),
            "ttft",
            ("missed", "ended_early"),
        ),
        (
            stream("a", [5, 9], status="cancelled", stream_close_ns=59),
            "worst_gap",
            ("not_applicable", "open_wait"),
        ),
        (
            stream("a", [5, 9], status="cancelled", stream_close_ns=60),
            "worst_gap",
            ("missed", "open_wait"),
        ),
        (
            stream("a", [5, 9], status="failed", stream_close_ns=9),
            "worst_gap",
            ("unknown", "open_wait"),
        ),
        (stream("a", [5, 9], "not_streamed"), "ttft", ("met", "not_streamed")),
        (stream("a", [99], "not_streamed", output_tokens=2), "ttft", ("unknown", "not_streamed")),
        (stream("a", [0, 101], output_tokens=3), "tpot", ("missed", "split_unknown")),
        (stream("a", [0, 100], output_tokens=3), "tpot", ("unknown", "split_unknown")),
        (stream("a", [0, 50], output_tokens=3), "tpot", ("met", "split_unknown")),
        (stream("a", [0, 9], "coalesced_reads"), "gap_p50", ("unknown", "coalesced_reads")),
        (stream("a", [0, 9], sent_ns=None), "ttft", ("unknown", "origin_missing")),
        (stream("a", [9, 4]), "worst_gap", ("unknown", "non_monotonic")),
        (stream("a", None), "e2e", ("unknown", "end_missing")),
        (stream("a", None, first_token_ns=1, stream_close_ns=50), "e2e", ("met", "end_missing")),
        (stream("a", None, first_token_ns=51), "e2e", ("missed", "end_missing")),
    ],
)
def test_what_is_not_exact_is_unknown_unless_its_bounds_decide(
    library: Library, row: Row, statistic: str, found: tuple[str, str]
) -> None:
    assert verdict(library, row, **{statistic: 50}) == found


def test_a_request_may_meet_its_average_and_hide_a_stall(library: Library) -> None:
    unsure = stream("unsure", [10 * MS, 130 * MS], output_tokens=9)  # 120 ms over 8 to 1 tokens
    buffered = stream("buffered", [10 * MS], output_tokens=9)
    rows = [stream("steady", STEADY), stream("stalled", STALLED), stream("slow", SLOW)]
    library.bind([*rows, unsure, buffered])
    found = {row["request_id"]: row for row in library.rows(f"request_verdicts({LIMITS})")}
    # The stalled one takes 201 ms for 11 tokens: 18.3 ms each, and 101 ms for one of them.
    assert {name: row["stall"] for name, row in found.items()} == {
        "steady": None, "stalled": "hidden", "slow": None, "unsure": "possible", "buffered": None,
    }  # fmt: skip
    assert [name for name, row in found.items() if row["good"]] == ["steady"]
    stalls = library.rows(f"hidden_stalls({LIMITS})")
    assert [(row["request_id"], row["worst_gap_index"]) for row in stalls] == [
        ("stalled", 11), ("unsure", 1),
    ]  # fmt: skip
    assert stalls[0]["is_handoff"] is None  # nobody said where that is


def test_a_stall_in_a_stream_without_handoff_is_none(library: Library) -> None:
    rows = [
        stream("known", STALLED, handoff_source="none"),
        stream("handoff", STALLED, last_prefill_token=11),
        stream("elsewhere", STALLED, last_prefill_token=1),
    ]
    library.bind(rows)
    found = {
        row["request_id"]: row["is_handoff"] for row in library.rows(f"hidden_stalls({LIMITS})")
    }
    assert found == {"known": False, "handoff": True, "elsewhere": False}


def test_a_request_misses_if_any_of_its_choices_does(library: Library) -> None:
    library.bind([stream("a", STEADY, choice=0), stream("a", STALLED, choice=1)])
    row = library.row(f"request_verdicts({LIMITS})")
    assert (row["missed"], row["met"], row["output_tokens"]) == (["worst_gap"], ["tpot"], 3 + 12)
    (stall,) = library.rows(f"hidden_stalls({LIMITS})")
    assert (stall["choice"], stall["worst_gap_index"]) == (1, 11)


def test_tokens_of_a_choice_that_are_unknown_leave_the_sum_unknown(library: Library) -> None:
    library.bind([stream("a", STEADY, choice=0), stream("a", STEADY, choice=1, output_tokens=None)])
    assert library.row("request_verdicts()")["output_tokens"] is None


@pytest.mark.parametrize(
    ("row", "offered", "good"),
    [
        (stream("a", STEADY), True, True),
        (stream("a", []), True, False),  # completed without a token
        (stream("a", None), True, False),  # no token is known of
        (stream("a", None, last_token_ns=5), True, True),
        (stream("a", STEADY, status="failed"), True, False),
        (stream("a", [], status="rejected"), True, False),
        (stream("a", STEADY, status="in_flight"), False, False),
        (stream("a", STEADY, status="cancelled", stream_close_ns=51 * MS), False, False),
        (stream("a", STEADY, status="cancelled", stream_close_ns=151 * MS), True, False),
    ],
)
def test_who_is_offered_and_who_is_good(
    library: Library, row: Row, offered: bool, good: bool
) -> None:
    library.bind([row])
    asked = limits(worst_gap=100 * MS) if row["status"] == "cancelled" else limits(e2e=50 * MS)
    found = library.row(f"request_verdicts({asked})")
    assert (found["offered"], found["good"]) == (offered, good)


def test_attainment_is_good_of_offered(library: Library) -> None:
    good = [stream(f"g{n}", STEADY, deployment="a") for n in range(8)]
    bad = [stream("b0", SLOW, deployment="a"), stream("b1", [], status="failed")]
    library.bind([*good, *bad, stream("open", STEADY, status="in_flight")])
    whole, unnamed, named = library.rows(f"slo_attainment({LIMITS})")
    assert (whole["scope"], whole["good"], whole["offered"]) == ("all", 8, 10)
    # Wilson for 8 of 10, as in tables: 0.4902 to 0.9433.
    assert whole["attainment"] == 0.8
    assert (round(whole["low"], 4), round(whole["high"], 4)) == (0.4902, 0.9433)
    assert (unnamed["deployment"], unnamed["good"], unnamed["offered"]) == (None, 0, 1)
    assert (named["deployment"], named["good"], named["offered"]) == ("a", 8, 9)


def test_the_wilson_interval_stays_within_0_and_1(library: Library) -> None:
    library.bind()
    select = (
        "SELECT _wilson(k, n).low, _wilson(k, n).high FROM (VALUES (0, 5), (5, 5), (0, 0)) t(k, n)"
    )
    none, every, nothing = library.con.execute(select).fetchall()
    z2 = 3.8414588206941254  # of 0 in n the interval is [0, z^2 / (n + z^2)]
    assert none[0] == 0
    assert same(none[1], z2 / (5 + z2))
    assert same(every[0], 5 / (5 + z2))
    assert every[1] == 1
    assert nothing == (None, None)


def test_each_objective_counts_its_own_verdicts(library: Library) -> None:
    rows = [
        stream("met", STEADY), stream("stalled", STALLED), stream("one", [5]),
        stream("buffered", [5], output_tokens=4), stream("failed", [], status="failed"),
        stream("left", [], status="cancelled", stream_close_ns=9),
    ]  # fmt: skip
    library.bind(rows)
    tpot, worst = library.rows(f"objective_attainment({LIMITS})")
    counts = ("met", "missed", "not_applicable", "unknown", "binding_requests")
    assert [tpot[name] for name in counts] == [2, 1, 1, 1, 0]
    assert [worst[name] for name in counts] == [1, 2, 1, 1, 1]  # it alone fails the stalled one
    assert (tpot["attainment"], worst["attainment"]) == (0.5, 0.25)


def test_the_last_attempt_is_judged_and_waiting_began_with_the_first(library: Library) -> None:
    first = stream("a", [], status="failed", sent_ns=100, planned_ns=90)
    last = stream("a", [460, 470], attempt=1, sent_ns=400, planned_ns=395)
    library.bind([first, last])
    row = library.row(f"objective_verdicts({limits(ttft=360)})")
    assert (row["attempt"], row["verdict"]) == (1, "met")
    statistics = {row["statistic"]: row for row in library.rows("latency_percentiles")}
    assert statistics["ttft"]["max_low_ns"] == 460 - 100
    assert statistics["ttft_from_planned"]["max_low_ns"] == 460 - 90
    assert statistics["e2e"]["max_low_ns"] == 470 - 100
    counts = library.row("request_counts()")
    assert (counts["streams"], counts["completed"], counts["failed"], counts["retried"]) == (
        2,
        1,
        0,
        1,
    )


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ({"clock": "other"}, "clock_unrelated"),
        ({"clock": None}, "clock_unrelated"),
        ({"sent_ns": None}, "origin_missing"),
        ({"sent_ns": 401}, "non_monotonic"),
    ],
)
def test_a_wait_across_attempts_that_is_not_known_is_no_number(
    library: Library, first: Row, reason: str
) -> None:
    earlier = stream("a", [], status="failed") | first
    middle = stream("a", [], status="failed", attempt=1, sent_ns=300)
    library.bind([earlier, middle, stream("a", [460], attempt=2, sent_ns=400)])
    # The last attempt alone took 60 ns: over the limit whatever was waited before.
    row = library.row(f"objective_verdicts({limits(ttft=59)})")
    assert (row["verdict"], row["reason"]) == ("missed", reason)
    assert library.row(f"objective_verdicts({limits(ttft=60)})")["verdict"] == "unknown"
    ttft = library.rows("latency_percentiles")[0]
    assert (ttft["n"], ttft["n_exact"], ttft["max_low_ns"], ttft["max_high_ns"]) == (1, 0, 60, None)


def test_the_first_attempt_began_with_the_first_of_its_choices(library: Library) -> None:
    firsts = [stream("a", [], status="failed", choice=n, sent_ns=100 + n) for n in (0, 1)]
    library.bind([*firsts, stream("a", [460], attempt=1, sent_ns=400)])
    assert library.rows("latency_percentiles")[0]["max_low_ns"] == 360


def test_the_outermost_vantage_is_judged_unless_declared(library: Library) -> None:
    rows = [
        stream("a", [50], vantage="client"),
        stream("a", [40], vantage="engine", arrival_ns=10),
        stream("b", [45], vantage="engine", arrival_ns=10),
    ]
    library.bind(rows)
    assert library.rows("judged_vantages") == [
        {"vantage": "client", "streams": 1, "origins": ["sent"], "judged": True},
        {"vantage": "engine", "streams": 2, "origins": ["arrival"], "judged": False},
    ]
    assert library.row("request_counts()")["offered"] == 1
    library.bind(rows, Declared(vantage="engine"))
    assert [row["judged"] for row in library.rows("judged_vantages")] == [False, True]
    assert library.row("request_counts()")["offered"] == 2


def test_the_window_spans_from_the_first_origin_to_the_last_end(library: Library) -> None:
    rows = [stream("a", [30, 40], sent_ns=20), stream("b", [9], sent_ns=5, stream_close_ns=70)]
    library.bind(rows)
    assert library.row("judged_window") == {
        "start_ns": 5, "end_ns": 70, "rule": "by_start", "clocks": 1,
    }  # fmt: skip
    library.bind([*rows, stream("c", [9], clock="other")])
    window = library.row("judged_window")
    assert (window["start_ns"], window["end_ns"], window["clocks"]) == (None, None, 2)
    # `other` runs 100 ns ahead of `c`: its stamps 105 and 190 are 5 and 90 there.
    ahead = stream("c", [190], clock="other", sent_ns=105)
    library.bind([stream("a", [40], sent_ns=20), ahead], clocks=[clock("other", "c", 100)])
    window = library.row("judged_window")
    assert (window["start_ns"], window["end_ns"], window["clocks"]) == (5, 90, 1)
    library.bind(rows, Declared(window=Window(0, 10, "by_start")))
    assert [row["request_id"] for row in library.rows("request_verdicts()")] == ["b"]
