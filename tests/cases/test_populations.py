"""What is said of many requests: counts, percentiles, verdicts.

`found == right != careless` says both: a case that cannot tell the two apart would fail.
"""

from fractions import Fraction
from pathlib import Path
from statistics import fmean

from tests.cases.commands import audit, gaps, latency, near, objective, write_log
from tests.cases.convert import event_lines, load_case, stream_line, streams_of_runs
from tokengap.units import parse_duration_ns


def test_04_request_mean_vs_token_mean(tmp_path: Path) -> None:
    case = load_case("04")
    lines = event_lines(case)
    tpots = [row["tpot_ns"] for row in latency(tmp_path, lines).values()]
    assert fmean(tpots) == case.expect["mean_request_tpot_ns"]
    pooled = [gap for each in gaps(tmp_path, lines).values() for gap in each]
    assert Fraction(sum(pooled), len(pooled)) == Fraction(case.expect["mean_gap_ns"])
    percentiles = audit(tmp_path, lines)["percentiles"]
    assert percentiles["tpot_ns"]["n"] == 2
    assert percentiles["gap_ns"]["n"] == case.expect["n_gaps"]
    assert percentiles["tpot_ns"]["basis"] != percentiles["gap_ns"]["basis"]


def test_25_zero_token_success(tmp_path: Path) -> None:
    case = load_case("25")
    lines = event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["ttft_ns"] is None
    assert row["tpot_ns"] is None
    assert row["ttft_reason"] == row["tpot_reason"] == "no_token"
    report = audit(tmp_path, lines, "--limit", "ttft=1s")
    assert report["counts"]["offered"] == case.expect["n_requests"]
    assert report["good"] == case.expect["n_requests"] - case.expect["n_no_output"]
    tpot = report["percentiles"]["tpot_ns"]
    assert tpot["n"] == case.expect["n_tpot_samples"]
    assert tpot["p50"] == case.expect["mean_request_tpot_ns"]  # one sample: mean and median agree
    assert report["percentiles"]["ttft_ns"]["left_out"] == case.expect["n_no_output"]


def test_26_single_token_requests(tmp_path: Path) -> None:
    case = load_case("26")
    lines = event_lines(case)
    rows = latency(tmp_path, lines)
    found = {name: {"tpot_ns": row["tpot_ns"]} for name, row in rows.items()}
    assert found == case.expect["per_request"]
    assert rows["a"]["tpot_reason"] == "single_token"
    report = audit(tmp_path, lines, "--limit", "tpot=30ms")
    tpot, median = objective(report, "tpot"), report["percentiles"]["tpot_ns"]["p50"]
    assert report["percentiles"]["tpot_ns"]["n"] == case.expect["n_tpot_samples"]
    assert median == case.expect["median_tpot_linear_ns"] != case.naive["median_tpot_ns"]
    assert tpot["not_applicable"] == case.expect["not_applicable"]
    assert tpot["attainment"] == near(case.expect["tpot_attainment_among_applicable"])
    assert report["attainment"] == near(case.expect["attainment_if_vacuous_pass"])


def test_28_in_band_error_after_tokens(tmp_path: Path) -> None:
    case = load_case("28")
    lines = event_lines(case)
    report = audit(tmp_path, lines, "--limit", "ttft=200ms")
    completed = report["counts"]["completed"]
    assert completed == case.expect["n_completed"] != case.naive["n_completed"]
    assert report["counts"]["failed"] == case.expect["n_failed"]
    assert report["attainment"] == near(case.expect["attainment_of_offered"])
    mean_e2e_ns = report["percentiles"]["e2e_ns"]["p50"]  # of one completed request
    assert mean_e2e_ns == case.expect["mean_e2e_completed_ns"] != case.naive["mean_e2e_ns"]
    failed = latency(tmp_path, lines)["B"]
    assert failed["status"] == "failed"
    assert failed["output_tokens"] == case.expect["tokens_delivered_by_failed"]


def test_29_attainment_denominator_is_offered(tmp_path: Path) -> None:
    case = load_case("29")
    # The window is declared by its events: the last failure comes at its end.
    last = {"request_id": "bad4", "kind": "error", "t_ns": case.input["duration_ns"]}
    report = audit(tmp_path, [*event_lines(case), last], "--limit", "ttft=200ms")
    assert report["counts"]["offered"] == case.expect["n_offered"]
    assert report["counts"]["completed"] == case.expect["n_completed"]
    assert report["counts"]["failed"] == case.expect["n_failed"]
    share = Fraction(report["good"], report["counts"]["offered"])
    assert share == Fraction(case.expect["attainment_of_offered"])
    assert share != Fraction(case.naive["attainment"])
    assert objective(report, "ttft")["missed"] == case.expect["n_failed"]
    assert report["goodput_per_s"] == near(case.expect["goodput_req_per_s"])


def test_32_window_rule_must_be_named(tmp_path: Path) -> None:
    case = load_case("32")
    lines = event_lines(case)
    whole = audit(tmp_path, lines)["window"]  # R1 is sent at 2 s, R2 ends at 14 s
    assert whole == {"start_ns": 2_000_000_000, "end_ns": 14_000_000_000, "rule": "by_start"}
    span = ["--window", "10s..20s"]
    for rule, name in (("by_start", "by_request_start"), ("by_event", "by_event_end")):
        report = audit(tmp_path, lines, *span, "--window-rule", rule)
        start_ns, end_ns = case.input["window_ns"]
        assert report["window"] == {"start_ns": start_ns, "end_ns": end_ns, "rule": rule}
        ttft, gap = report["percentiles"]["ttft_ns"], report["percentiles"]["gap_ns"]
        right = case.expect[name]
        assert (ttft["n"], ttft["max"]) == (len(right["ttft_ns"]), max(right["ttft_ns"]))
        assert (gap["n"], gap["max"]) == (len(right["gaps_ns"]), max(right["gaps_ns"]))
        assert ttft["n"] != len(case.naive["by_overlap"]["ttft_ns"])


def test_33_dispatch_delay_hidden(tmp_path: Path) -> None:
    case = load_case("33")
    aggregate = {"granularity": "aggregate", "status": "completed"}
    lines = [request | aggregate for request in case.input["requests"]]
    from_send = [row["e2e_ns"] for row in latency(tmp_path, lines).values()]
    from_plan = latency(tmp_path, lines, "--origin", "planned")
    assert from_send == case.expect["e2e_from_send_ns"]
    waited = [from_plan[name]["e2e_ns"] for name in ("a", "b", "c")]
    assert waited == case.expect["e2e_from_plan_ns"] != case.naive["e2e_ns"]


def test_54_seconds_against_milliseconds(tmp_path: Path) -> None:
    case = load_case("54")
    unit, limit = case.input["ttft_unit"], case.input["slo"]
    times_ns = [parse_duration_ns(f"{value}{unit}") for value in case.input["ttft"]]
    assert times_ns == case.expect["ttft_ns"]
    lines = [stream_line(f"r{index}", [t_ns]) for index, t_ns in enumerate(times_ns)]
    report = audit(tmp_path, lines, "--limit", f"ttft={limit['ttft']}{limit['unit']}")
    attained = Fraction(report["good"], report["counts"]["offered"])
    assert attained == Fraction(case.expect["attainment"]) != Fraction(case.naive["attainment"])


def test_70_percentile_method(tmp_path: Path) -> None:
    case = load_case("70")
    four = [stream_line(f"r{value}", [value]) for value in case.input["values_a"]]
    median = audit(tmp_path, four)["percentiles"]["ttft_ns"]["p50"]
    assert median == case.expect["a_p50_linear"] != case.naive["a_p50"]
    hundred = [stream_line(f"r{value}", [value]) for value in range(1, 101)]
    p99 = audit(tmp_path, hundred)["percentiles"]["ttft_ns"]["p99"]
    assert p99 == near(case.expect["b_p99_linear"])
    assert p99 != case.expect["b_p99_nearest_rank"]


def test_71_attainment_is_not_a_percentile_test(tmp_path: Path) -> None:
    case = load_case("71")
    lines = streams_of_runs("r", case.input["values_runs"])
    report = audit(tmp_path, lines, "--limit", f"ttft={case.input['slo_ns']}ns")
    attained = Fraction(report["good"], report["counts"]["offered"])
    assert attained == Fraction(case.expect["attainment"])
    assert (attained >= Fraction(case.input["required"])) == case.expect["met"] != case.naive["met"]
    p99 = report["percentiles"]["ttft_ns"]["p99"]
    assert p99 == near(case.expect["p99_linear_ns"])
    assert (p99 <= case.input["slo_ns"]) == case.expect["p99_le_slo"]


def test_72_slo_edge_in_integers(tmp_path: Path) -> None:
    case = load_case("72")
    times_ns = [sum(case.input["gaps_ns"][:count]) for count in range(4)]
    assert times_ns[-1] == case.input["slo_ns"]
    # Sent at 0 and first token at 0, so e2e is the sum of the gaps; TPOT is a third of it.
    on_the_edge = ["--limit", "e2e=600ms", "--limit", "tpot=200ms"]
    report = audit(tmp_path, [stream_line("a", times_ns)], *on_the_edge)
    assert (report["good"] == 1) == case.expect["met"] != case.naive["met"]
    past_it = ["--limit", "e2e=599999999ns", "--limit", "tpot=199999999ns"]
    report = audit(tmp_path, [stream_line("a", times_ns)], *past_it)
    assert [each["missed"] for each in report["objectives"]] == [1, 1]


def test_74_averaged_percentiles(tmp_path: Path) -> None:
    case = load_case("74")
    shard_b = write_log(tmp_path / "b.jsonl", streams_of_runs("b", case.input["B_runs"]))
    report = audit(tmp_path, streams_of_runs("a", case.input["A_runs"]), str(shard_b))
    ttft = report["percentiles"]["ttft_ns"]
    assert ttft["n"] == case.expect["n"]
    assert ttft["p99"] == case.expect["pooled_p99_linear_ns"]
    assert ttft["p99"] not in case.naive.values()
