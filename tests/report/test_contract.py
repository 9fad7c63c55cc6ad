from pathlib import Path

import pytest

from tests.cases.commands import near, strict_json
from tests.cases.convert import Record
from tests.report.auditing import MS, ONE_OF_EACH, request, text_of
from tests.report.html import Page


@pytest.fixture
def report(one_of_each: tuple[Page, Record]) -> Record:
    return one_of_each[1]


def test_the_contract_has_these_fields_in_this_order(report: Record) -> None:
    assert list(report) == [
        "schema", "tokengap", "traces", "boundary", "window", "counts", "percentiles",
        "objectives", "good", "attainment", "low", "high", "goodput_per_s", "hidden_stalls",
        "quality", "handoffs", "handoff_stages", "vantages", "causes", "binding",
        "baseline",
    ]  # fmt: skip
    assert report["schema"] == "tokengap.audit/1"
    assert report["traces"] == ["log"]


def test_boundary_window_and_counts(report: Record) -> None:
    assert report["boundary"] == {"vantage": "client", "origin": "sent", "handoff": "stream"}
    # sent at 0; the last token of `both` came after 100 + 600 + 700 ms
    assert report["window"] == {"start_ns": 0, "end_ns": 1400 * MS, "rule": "by_start"}
    counts = dict.fromkeys(
        ("timed_out", "rejected", "truncated", "cancelled", "in_flight", "retried", "superseded",
         "rejects"), 0,
    )  # fmt: skip
    assert report["counts"] == counts | {"streams": 8, "offered": 8, "completed": 7, "failed": 1}


def test_shares_and_rates(report: Record) -> None:
    assert report["good"] == 2  # fine, and single, which no limit applies to
    assert report["attainment"] == 0.25
    assert report["low"] < 0.25 < report["high"]
    assert report["goodput_per_s"] == near("10/7")  # 2 in 1.4 s


def test_objectives_count_requests_as_integers(report: Record) -> None:
    average, worst = report["objectives"]
    assert average["limit_ns"] == 50 * MS
    verdicts = ("met", "missed", "not_applicable", "unknown")
    # average: fine, hidden, broken met; slow, both missed; single has none; two are not decided
    assert [average[verdict] for verdict in verdicts] == [3, 2, 1, 2]
    assert [worst[verdict] for verdict in verdicts] == [3, 3, 1, 1]
    assert worst["attainment"] == near("3/7")
    assert not any(isinstance(average[verdict], float) for verdict in verdicts)


def test_the_binding_objective_is_named(report: Record, tmp_path: Path) -> None:
    # of the six that are not good, hidden misses the worst gap alone, and slow the average
    assert report["binding"] == {
        "statistic": "tpot", "limit_ns": 50 * MS, "requests": 1, "not_good": 6,
        "tied": ["worst_gap"],
    }  # fmt: skip
    none_given = strict_json(text_of(tmp_path, ONE_OF_EACH, "--json"))
    assert none_given["binding"] is None


def test_percentiles_are_numbers_or_bounds(report: Record) -> None:
    found = report["percentiles"]
    assert list(found) == [
        "ttft_ns",
        "tpot_ns",
        "worst_gap_ns",
        "gap_ns",
        "handoff_gap_ns",
        "e2e_ns",
    ]
    assert found["ttft_ns"] == dict.fromkeys(("p50", "p90", "p99", "max"), 100 * MS) | {
        "n": 7, "left_out": 0, "basis": "per_request",
    }  # fmt: skip
    # lows 10, 21.05, 600 / 19, 40, 60, 650; highs 10, 40, 60, 400, 600, 650: between the middle two
    low, high = found["tpot_ns"]["p50"]
    assert low == near(f"{(600 + 19 * 40) * MS}/38")
    assert high == 230 * MS
    assert found["tpot_ns"]["max"] == 650 * MS
    assert found["gap_ns"]["n"] == 44
    assert found["gap_ns"]["basis"] == "per_gap"
    assert found["handoff_gap_ns"]["n"] == 0
    assert found["handoff_gap_ns"]["p50"] is None


def test_a_hidden_stall_is_described(report: Record) -> None:
    stalls = report["hidden_stalls"]
    assert (stalls["count"], stalls["possible"]) == (1, 1)
    assert stalls["requests"] == [
        {
            "trace": "log", "request_id": "hidden", "attempt": 0, "choice": 0,
            "ttft_ns": 100 * MS, "tpot_ns": 40 * MS, "worst_gap_ns": 610 * MS,
            "worst_gap_index": 20, "worst_gap_after_token": 20, "cause": "shared_pause",
            "basis": "inferred", "by": None,  # `both` stops over 700 to 900 ms, too
        }
    ]  # fmt: skip


def test_without_limits_verdicts_are_null_not_zero(tmp_path: Path) -> None:
    found = strict_json(text_of(tmp_path, ONE_OF_EACH, "--json"))
    assert found["objectives"] == []
    for name in ("good", "attainment", "low", "high", "goodput_per_s"):
        assert found[name] is None


def test_the_wait_before_sending_is_shown_where_it_is_logged(tmp_path: Path) -> None:
    log = [request("a", [10], planned_ns=-50 * MS)]
    found = strict_json(text_of(tmp_path, log, "--json"))["percentiles"]
    assert found["ttft_from_planned_ns"]["p50"] == 150 * MS
    assert found["ttft_ns"]["p50"] == 100 * MS


def test_a_declared_origin_that_is_not_logged_measures_nothing(tmp_path: Path) -> None:
    found = strict_json(text_of(tmp_path, ONE_OF_EACH, "--json", "--origin", "planned"))
    assert found["boundary"]["origin"] == "planned"
    assert found["percentiles"]["ttft_ns"]["n"] == 0
    assert found["percentiles"]["ttft_ns"]["left_out"] == 7
    assert found["window"]["start_ns"] is None
