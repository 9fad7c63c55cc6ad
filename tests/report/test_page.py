import re
from pathlib import Path

import pytest

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, ONE_OF_EACH, page_of, request
from tests.report.html import Page, data, lines, written


def test_the_banner_says_what_was_promised_kept_and_hidden(
    one_of_each: tuple[Page, Record],
) -> None:
    page, _ = one_of_each
    # 8 offered, of which fine and single are good; 7 completed
    assert page.texts("section", "banner stall")
    assert page.texts("h2")[0].startswith("1 of 7 completed requests stalled")
    assert page.texts("p", "values") == ["average TPOT ≤ 50 ms", "worst gap ≤ 500 ms"]
    assert page.texts("p", "value") == ["25 %", "1", "7 completed"]
    tiles = " ".join(page.texts("div", "tile"))
    for note in ("2 good of 8 offered", "14.3 % of 7 completed", "1 more possible", "1 failed"):
        assert note in tiles
    assert "longest 610 ms, request hidden, after token 20" in tiles


def test_quadrants_count_what_the_audit_counts(one_of_each: tuple[Page, Record]) -> None:
    page, report = one_of_each
    names = written(page.chart("average_against_worst"))
    assert {
        "meets average, misses worst gap: 1", "misses both: 1", "meets both: 1",
        "misses average, meets worst gap: 1",
    } <= set(names)  # fmt: skip
    assert report["hidden_stalls"]["count"] == report["hidden_stalls"]["possible"] == 1
    assert page.section("Average against worst gap").texts("li") == [
        "possible hidden stall: the log does not decide one of the two verdicts: 1",
        "verdict not decided by the log: 1",
    ]


def test_every_completed_request_is_a_mark_or_accounted_for(
    one_of_each: tuple[Page, Record],
) -> None:
    page, report = one_of_each
    marks = {
        row["request"]: row["place"] for row in data(page.chart("average_against_worst"), "request")
    }
    assert marks == {
        "fine": "meets", "hidden": "hidden", "slow": "average", "both": "both",
        "possible": "possible", "undecided": "undecided",
    }  # fmt: skip
    section = page.section("Average against worst gap")
    assert "n 6 completed requests, per request" in section.texts("p", "scope")[0]
    assert report["counts"]["completed"] == 7
    (note,) = (text for text in section.texts("p", "remark") if text.startswith("Without"))
    assert note == (
        "Without a gap to show: 1 of 7 completed requests; one-token answers have none (1)."
    )


def test_limits_are_drawn_where_they_are(one_of_each: tuple[Page, Record]) -> None:
    page = one_of_each[0]
    stall_map, survival = page.chart("average_against_worst"), page.chart("gap_survival")
    assert lines(stall_map) == {"x": {50}, "y": {500}}
    assert lines(survival) == {"x": {50, 500}, "y": set()}
    for spec in (stall_map, survival):
        assert {"average TPOT ≤ 50 ms", "worst gap ≤ 500 ms"} <= set(written(spec))


def test_each_section_says_what_it_counts_and_where(one_of_each: tuple[Page, Record]) -> None:
    page, _ = one_of_each
    scopes = page.texts("p", "scope")
    # last stream end: 100 + 600 + 700 ms after both requests were sent at 0
    assert all(
        scope.endswith("client, times from sent · window 1.4 s, by start") for scope in scopes
    )
    starts = [scope.split(" · ")[0] for scope in scopes[1:]]
    # 10 + 20 + 10 + 2 + 1 + 1 gaps of completed requests
    assert starts == [
        "n 8 offered requests, per request",
        "n 6 completed requests, per request",
        "n 6 completed requests, per request",
        "n 4 gaps over their limit, per gap",  # 610, 600, 700 and 600 ms
        "n 2 of 7 completed requests, per request",
        "n 44 gaps, per gap",
        "n 6 completed requests, per request",
        "n 7 completed requests, per request",
        "n 44 gaps, per gap, and 8 arrivals",
        "n and basis beside each row",
        "n 7 completed requests, per request, boundary stream: token k to token k + 1",
        "n 8 streams, all that were read",
        "n 8 streams, all that were read",
    ]


def test_stalls_are_listed_worst_first_with_their_place(one_of_each: tuple[Page, Record]) -> None:
    assert one_of_each[0].section("Hidden stalls").rows == [
        [
            "hidden",
            "100 ms",
            "40 ms",
            "610 ms",
            "after token 20",
            "shared pause of 2 in 2 streams (inferred)",
        ],
        [
            "possible",
            "100 ms",
            "31.6 ms to 600 ms",
            "600 ms",
            "after delivery 1",
            "possible, shared pause of 3 in 4 streams (inferred)",
        ],
    ]


def test_a_stall_that_is_the_handoff_says_so(tmp_path: Path) -> None:
    log = [request("a", [610] + [10] * 19)]
    page, _ = page_of(tmp_path, log, *LIMITS, "--last-prefill-token", "1")
    (row,) = page.section("Hidden stalls").rows
    assert row[-2:] == ["after token 1", "handoff (declared)"]


def test_a_long_list_of_stalls_says_how_many_more_there_are(tmp_path: Path) -> None:
    log = [request(f"r{n}", [10] * 19 + [600 + n]) for n in range(205)]
    page, report = page_of(tmp_path, log, *LIMITS)
    section = page.section("Hidden stalls")
    assert report["hidden_stalls"]["count"] == 205
    assert [row[0] for row in section.rows] == [f"r{n}" for n in range(204, 4, -1)]
    assert section.texts("p", "remark") == ["The worst 200 are listed, and 5 more are not."]


def test_objectives_and_percentiles_carry_their_numbers(one_of_each: tuple[Page, Record]) -> None:
    page, _ = one_of_each
    average, worst, whole = page.section("Objectives").rows
    assert average[:6] == ["average TPOT", "≤ 50 ms", "3", "2", "1", "2"]  # broken: 10 ms, met
    assert worst[:6] == ["worst gap", "≤ 500 ms", "3", "3", "1", "1"]
    assert whole[2:4] == ["2", "6"]
    ttft = page.section("Percentiles").rows[0]
    assert ttft == ["TTFT", "per request", "7", "0", "100 ms*", "100 ms*", "100 ms*", "100 ms"]


def test_an_outlier_among_many_gaps_stays_in_the_chart(tmp_path: Path) -> None:
    gaps = [10] * 6001
    gaps[5500] = 900
    page, _ = page_of(tmp_path, [request("a", gaps)], *LIMITS)
    survival = page.chart("gap_survival")
    curve = data(survival, "gap", "share")
    assert len(curve) <= 5000
    assert max(row["gap"] for row in curve) == 900
    assert "worst gap 900 ms" in written(survival)
    narrow = "\u202f"
    assert f"n 6{narrow}001 gaps, per gap" in page.section("How many gaps are long").texts("p")[0]


def test_an_outlier_among_many_requests_stays_in_the_chart(tmp_path: Path) -> None:
    log = [request(f"r{n}", [10 + n % 40, 20 + n % 97]) for n in range(6001)]
    log[5500] = request("outlier", [10, 900])
    page, _ = page_of(tmp_path, log, *LIMITS)
    marks = data(page.chart("average_against_worst"), "request")
    assert len(marks) <= 5000
    assert sum(mark["requests"] for mark in marks) == 6001
    assert [
        (mark["worst"], mark["requests"]) for mark in marks if mark["request"] == "outlier"
    ] == [(900, 1)]


def test_a_page_with_as_many_single_marks_as_there_can_be_is_small(tmp_path: Path) -> None:
    log = [request(f"request-{n:032}", [10 + n % 40, 20 + n % 97]) for n in range(2000)]
    page, _ = page_of(tmp_path, log, *LIMITS)
    assert len(data(page.chart("average_against_worst"), "request")) == 2000
    assert len(page.html.encode()) < 2_000_000


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (
            [request("a", [10], status="failed"), request("b", [10], status="timed_out")],
            "No request completed (1 failed, 1 timed out), and only completed ones are shown here.",
        ),
        (
            [request("a", []), request("b", [])],
            "Without a gap to show: 2 of 2 completed requests; one-token answers have none (2).",
        ),
        (
            [request("a", [0, 0])],
            "Without a gap to show: 1 of 1 completed requests; all tokens came at once (1).",
        ),
    ],
)
def test_where_there_is_nothing_to_show_the_page_says_why(
    tmp_path: Path, log: list[Record], reason: str
) -> None:
    page, _ = page_of(tmp_path, log, *LIMITS)
    for title in (
        "Average against worst gap",
        "The worst requests from start to end",
        "How many gaps are long",
        "Where in the stream the worst gap falls",
    ):
        assert page.section(title).texts("p", "empty") == [reason]
        assert page.section(title).charts == []


def test_a_window_without_requests_is_named_as_the_reason(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, ONE_OF_EACH, *LIMITS, "--window", "10s..20s")
    assert page.section("How many gaps are long").texts("p", "empty") == [
        "No request belongs to the judged window."
    ]


def test_without_limits_nothing_is_judged_and_ratios_guide_the_eye(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, ONE_OF_EACH)
    assert page.texts("h2")[0] == "No limits were given, so nothing is judged."
    stall_map, survival = page.chart("average_against_worst"), page.chart("gap_survival")
    assert lines(stall_map) == lines(survival) == {"x": set(), "y": set()}
    assert "worst gap = average" in written(stall_map)
    assert {mark["place"] for mark in data(stall_map, "request")} == {"unjudged"}
    (first, *_) = page.section("Largest ratios of worst gap to average").rows
    assert first == ["hidden", "40 ms", "610 ms", "15.2", "after token 20"]  # 610 / 40 = 15.25


def test_one_limit_makes_two_halves(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, ONE_OF_EACH, "--limit", "worst_gap=500ms")
    names = set(written(page.chart("average_against_worst")))
    assert {"misses worst gap: 3", "meets worst gap: 3"} <= names
    assert lines(page.chart("average_against_worst")) == {"x": set(), "y": {500}}
    assert page.texts("h2")[0] == "4 of 8 offered requests kept every limit."


def test_dates_are_given_where_the_clock_has_them(tmp_path: Path) -> None:
    start_ns = 1_700_000_000 * 10**9  # 2023-11-14 22:13:20 UTC
    times = [start_ns + 10**9, start_ns + 61 * 10**9]
    wall = {"request_id": "a", "sent_ns": start_ns, "times_ns": times, "clock_kind": "wall"}
    page, _ = page_of(tmp_path, [wall | {"status": "completed"}])
    assert page.texts("p", "scope")[0].endswith(
        "window 61 s, by start · 2023-11-14 22:13:20 to 2023-11-14 22:14:21 UTC"
    )


def test_the_footer_names_version_trace_and_time(one_of_each: tuple[Page, Record]) -> None:
    (footer,) = one_of_each[0].texts("footer")
    assert re.fullmatch(
        r"tokengap \d+\.\d+\.\d+ · log · generated \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", footer
    )
