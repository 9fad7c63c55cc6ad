"""What is measured on one stream.

`found == right != careless` says both: a case that cannot tell the two apart would fail.
"""

from fractions import Fraction
from pathlib import Path
from statistics import fmean

from tests.cases.commands import audit, gaps, gaps_by, latency, near, objective, query
from tests.cases.convert import event_lines, indexed_lines, load_case, vantage_lines


def test_01_role_chunk_is_not_a_token(tmp_path: Path) -> None:
    case = load_case("01")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["ttft_ns"] == right["ttft_ns"] != case.naive["ttft_ns"]
    assert row["worst_gap_ns"] == right["max_gap_ns"] != case.naive["max_gap_ns"]
    assert row["output_tokens"] == right["output_tokens"]
    assert gaps(tmp_path, lines)["a"] == right["gaps_ns"]


def test_03_ttft_leaks_into_gap_list(tmp_path: Path) -> None:
    case = load_case("03")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    found = gaps(tmp_path, lines)["a"]
    assert found == right["gaps_ns"]
    assert len(found) == case.expect["n_gaps"] != case.naive["n_gaps"]
    assert fmean(found) == case.expect["mean_gap_ns"] != case.naive["mean_gap_ns"]
    row = latency(tmp_path, lines)["a"]
    assert row["worst_gap_ns"] == right["max_gap_ns"] != case.naive["max_gap_ns"]
    assert sum(found) == row["decode_span_ns"]


def test_06_stall_hidden_by_average(tmp_path: Path) -> None:
    case = load_case("06")
    right = case.expect["per_request"]["a"]
    limits = ["--limit", "tpot=20ms", "--limit", "worst_gap=200ms"]
    report = audit(tmp_path, event_lines(case), *limits)
    assert objective(report, "tpot")["met"] == 1
    assert objective(report, "worst_gap")["missed"] == 1
    assert report["good"] == 0
    hidden = report["hidden_stalls"]["requests"]
    named = [stall["request_id"] for stall in hidden]
    assert named == case.expect["hidden_stall_requests"] != case.naive["hidden_stall_requests"]
    assert hidden[0]["ttft_ns"] == right["ttft_ns"]
    assert hidden[0]["tpot_ns"] == right["tpot_ns"]
    assert hidden[0]["worst_gap_ns"] == right["max_gap_ns"]
    assert hidden[0]["worst_gap_after_token"] == right["max_gap_after_token"]


def test_08_speculative_chunks(tmp_path: Path) -> None:
    case = load_case("08")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["tpot_ns"] == right["tpot_ns"] != case.naive["tpot_ns"]
    assert row["output_tokens"] == right["output_tokens"] != case.naive["output_tokens"]
    assert row["worst_gap_ns"] == right["max_gap_ns"]
    assert row["tokens_per_delivery"] == near(case.expect["tokens_per_event"]["a"])
    assert gaps(tmp_path, lines)["a"] == right["gaps_ns"]


def test_10_first_chunk_bundles_tokens(tmp_path: Path) -> None:
    case = load_case("10")
    right = case.expect["per_request"]["a"]
    row = latency(tmp_path, event_lines(case))["a"]
    assert row["tpot_ns"] == right["tpot_ns"] != case.naive["tpot_ns"]
    assert row["tpot_n1_ns"] == case.naive["tpot_ns"]  # what most tools print, under its own name
    assert row["ttft_ns"] == right["ttft_ns"]
    assert row["output_tokens"] == right["output_tokens"]


def test_11_retokenised_chunk_counts(tmp_path: Path) -> None:
    case = load_case("11")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["output_tokens"] == right["output_tokens"] != case.naive["output_tokens"]
    assert row["tpot_ns"] == right["tpot_ns"] != float(Fraction(case.naive["tpot_ns"]))
    assert gaps(tmp_path, lines)["a"] == right["gaps_ns"]
    assert "count_mismatch" in str(audit(tmp_path, lines)["quality"])


def test_13_reasoning_tokens_are_tokens(tmp_path: Path) -> None:
    case = load_case("13")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["ttft_ns"] == right["ttft_ns"] != case.naive["ttft_ns"]
    assert row["output_tokens"] == right["output_tokens"] != case.naive["output_tokens"]
    assert row["first_answer_ns"] == right["time_to_first_answer_ns"]
    assert row["tpot_ns"] == right["tpot_ns"]
    assert gaps(tmp_path, lines)["a"] == right["gaps_ns"]


def test_15_tail_chunks_do_not_extend_latency(tmp_path: Path) -> None:
    case = load_case("15")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["e2e_ns"] == right["e2e_ns"] != case.naive["e2e_ns"]
    assert row["tpot_ns"] == right["tpot_ns"] != case.naive["tpot_ns"]
    assert row["worst_gap_ns"] == right["max_gap_ns"] != case.naive["max_gap_ns"]
    assert row["end_ns"] == right["stream_close_ns"]
    assert gaps(tmp_path, lines)["a"] == right["gaps_ns"]


def test_18_whole_text_recount_collapses(tmp_path: Path) -> None:
    case = load_case("18")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["output_tokens"] == right["output_tokens"]
    assert row["tpot_ns"] == right["tpot_ns"] != case.naive["tpot_ns"]
    assert "count_mismatch" in str(audit(tmp_path, lines)["quality"])


def test_19_parallel_choices_are_separate_series(tmp_path: Path) -> None:
    case = load_case("19")
    right, lines = case.expect["per_series"], event_lines(case)
    by_choice = gaps_by(query(tmp_path, lines, "gaps"), "choice")
    assert by_choice == {0: right["a/0"]["gaps_ns"], 1: right["a/1"]["gaps_ns"]}
    assert case.naive["gaps_ns"] not in by_choice.values()
    rows = query(tmp_path, lines, "request_latency")
    assert [row["tpot_ns"] for row in rows] == [right["a/0"]["tpot_ns"], right["a/1"]["tpot_ns"]]
    assert min(row["ttft_ns"] for row in rows) == case.expect["request_ttft_ns"]["a"]
    assert audit(tmp_path, lines)["counts"]["offered"] == 1


def test_21_ttft_origin_must_be_named(tmp_path: Path) -> None:
    case = load_case("21")
    lines = vantage_lines(case)
    rows = {row["vantage"]: row for row in query(tmp_path, lines, "request_latency")}
    assert rows["client"]["ttft_ns"] == case.expect["ttft_client_ns"]
    assert rows["engine"]["ttft_ns"] == case.expect["ttft_engine_ns"]
    assert rows["gateway"]["ttft_ns"] is None  # it logged no token, and borrows nobody's
    inside = {row["inner_vantage"]: row for row in query(tmp_path, lines, "vantage_differences")}
    for side in ("low", "high"):  # all stamps are on one clock
        to_client_ns = inside["gateway"][f"inside_to_user_{side}_ns"]
        assert to_client_ns == case.expect["ttft_server_to_client_ns"]
        assert inside["engine"][f"way_in_{side}_ns"] == case.expect["pre_engine_ns"]
    mixed_ns = 250_000_000 - 42_000_000  # receipt at the client, arrival at the engine
    assert mixed_ns not in [row["ttft_ns"] for row in rows.values()]
    report = audit(tmp_path, lines)
    assert report["counts"]["offered"] == 1
    assert report["boundary"]["vantage"] == "client"
    assert report["percentiles"]["ttft_ns"]["max"] == case.expect["ttft_client_ns"]


def test_22_preempted_request_has_one_ttft(tmp_path: Path) -> None:
    case = load_case("22")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["ttft_ns"] == right["ttft_ns"]
    assert row["worst_gap_ns"] == right["max_gap_ns"]
    assert row["worst_gap_after_token"] == 2
    assert row["output_tokens"] == right["output_tokens"]
    assert gaps(tmp_path, lines)["a"] == right["gaps_ns"] != case.naive["gaps_ns"]
    samples = audit(tmp_path, lines)["percentiles"]["ttft_ns"]["n"]
    assert samples == case.expect["n_ttft_samples"] != len(case.naive["ttft_samples_ns"])
    causes = query(tmp_path, lines, "gap_causes", "-p", "objectives=worst_gap=100ms")
    named = {f"a:{c['gap_index']}->{c['gap_index'] + 1}": c["cause"] for c in causes}
    assert named == case.expect["gap_cause"]


def test_23_no_stream_no_ttft(tmp_path: Path) -> None:
    case = load_case("23")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["ttft_ns"] is None
    assert row["tpot_ns"] is None
    assert row["ttft_reason"] == row["tpot_reason"] == case.expect["reason"]["a"]
    assert row["e2e_ns"] == right["e2e_ns"]
    assert row["e2e_per_token_ns"] == right["e2e_per_output_token_ns"]
    assert gaps(tmp_path, lines) == {}


def test_35_unmeasured_tpot_passes_gate(tmp_path: Path) -> None:
    case = load_case("35")
    (request,) = case.input["requests"]
    ttft = {"metric": "ttft", "value_ns": request["ttft_ns"], "formula": "first text - sent"}
    line = {
        "request_id": "a",
        "sent_ns": 0,
        "status": "completed",
        "granularity": "aggregate",
        "output_tokens": request["output_tokens"],
        "reported": [ttft],
    }
    row = latency(tmp_path, [line])["a"]
    assert row["tpot_ns"] is None
    assert row["tpot_reason"] is not None
    report = audit(tmp_path, [line], "--limit", "tpot=50ms")
    assert objective(report, "tpot")["unknown"] == 1
    assert objective(report, "tpot")["met"] == 0
    assert report["good"] == 0
    assert report["counts"]["offered"] == 1


def test_40_wall_clock_step(tmp_path: Path) -> None:
    case = load_case("40")
    right, wall = case.expect["wall_only"], indexed_lines(case, "wall")
    row = latency(tmp_path, wall)["a"]
    assert row["ttft_ns"] == right["ttft_ns"] != case.naive["after_sorting_wall"]["ttft_ns"]
    assert row["worst_gap_ns"] is None
    assert row["worst_gap_reason"] == right["flag"]
    assert gaps(tmp_path, wall)["a"] == right["gaps_ns"]
    pooled = audit(tmp_path, wall)["percentiles"]["gap_ns"]
    assert (pooled["n"], pooled["left_out"]) == (2, 1)  # the negative one
    mono = indexed_lines(case, "mono")
    assert gaps(tmp_path, mono)["a"] == case.expect["with_monotonic"]["gaps_ns"]
    assert latency(tmp_path, mono)["a"]["ttft_ns"] == case.expect["with_monotonic"]["ttft_ns"]


def test_43_who_emits_first_token(tmp_path: Path) -> None:
    case = load_case("43")
    right, lines = case.expect["per_request"], event_lines(case)
    rows = latency(tmp_path, lines)
    for name, row in rows.items():
        assert row["ttft_ns"] == right[name]["ttft_ns"]
        assert row["tpot_ns"] == right[name]["tpot_ns"]
        assert row["handoff_gap_ns"] == right[name]["handoff_gap_ns"]
        assert row["steady_tpot_ns"] == right[name]["steady_decode_tpot_ns"]
    assert rows["B"]["handoff_gap_reason"] == "inside_ttft"
    assert gaps(tmp_path, lines) == {name: each["gaps_ns"] for name, each in right.items()}
    handoff = audit(tmp_path, lines)["percentiles"]["handoff_gap_ns"]
    assert (handoff["n"], handoff["max"]) == (1, case.expect["handoff_cost_ns"]["A"])


def test_44_first_decode_gap_mean_vs_median(tmp_path: Path) -> None:
    case = load_case("44")
    right, lines = case.expect["per_request"]["a"], event_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["handoff_gap_ns"] == row["worst_gap_ns"] == right["max_gap_ns"]
    assert row["tpot_ns"] == right["tpot_ns"]
    assert row["steady_tpot_ns"] == right["steady_decode_tpot_ns"]
    report = audit(tmp_path, lines, "--limit", "tpot=100ms", "--limit", "worst_gap=200ms")
    assert report["percentiles"]["gap_ns"]["p50"] == case.expect["median_gap_ns"]
    assert objective(report, "tpot")["met"] == 1
    assert objective(report, "worst_gap")["missed"] == 1
    assert report["hidden_stalls"]["requests"][0]["worst_gap_index"] == 1  # the handoff gap
