"""`tokengap audit` as a user calls it."""

from pathlib import Path

import pytest

from tests.cli.running import LIMITS, SAMPLES, VICTIMS, tokengap

# Requests 2 to 4 tokens long, 10 ms apart but for one gap: averages 10, 40 and 255 ms.
STEADY = '{"request_id":"steady","sent_ns":0,"times_ns":[100000000,110000000,120000000]}\n'
STALLS = (
    '{"request_id":"stalls","sent_ns":0,"times_ns":[100000000,110000000,120000000,220000000]}\n'
)
FAILED = '{"request_id":"failed","kind":"error","t_ns":5,"status":"failed"}\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(STEADY + STALLS, "utf-8")
    return path


def test_names_the_hidden_stalls_of_the_real_run() -> None:
    ran = tokengap("audit", VICTIMS, *LIMITS, "--fail-on", "hidden-stall")
    assert ran.code == 1
    assert "23 of 60 completed requests stalled" in ran.out
    table = ran.out[ran.out.index("hidden stalls") :]
    named = {line.split()[0] for line in table.splitlines() if " after " in line}
    assert len(named) == 23
    assert {"13", "46", "0", "37"} <= named


def test_json_carries_the_same_stalls() -> None:
    report = tokengap("audit", VICTIMS, *LIMITS, "--json").json()
    assert report["hidden_stalls"]["count"] == len(report["hidden_stalls"]["requests"]) == 23
    assert report["hidden_stalls"]["possible"] == 0
    worst = report["hidden_stalls"]["requests"][0]
    assert worst["request_id"] == "13"
    assert worst["worst_gap_ns"] == 1_988_193_511
    assert (worst["cause"], worst["basis"], worst["by"]) == ("delivery_pause", "measured", None)


def test_json_has_the_keys_of_the_contract_in_order() -> None:
    report = tokengap("audit", VICTIMS, *LIMITS, "--json").json()
    assert list(report) == [
        "schema", "tokengap", "traces", "boundary", "window", "counts", "percentiles",
        "objectives", "good", "attainment", "low", "high", "goodput_per_s", "hidden_stalls",
        "quality", "handoffs", "handoff_stages", "vantages", "causes", "binding",
        "baseline",
    ]  # fmt: skip
    assert report["schema"] == "tokengap.audit/1"
    assert report["boundary"] == {"vantage": "client", "origin": "sent", "handoff": "stream"}
    assert list(report["window"]) == ["start_ns", "end_ns", "rule"]
    assert list(report["counts"]) == [
        "streams", "offered", "completed", "failed", "timed_out", "rejected", "truncated",
        "cancelled", "in_flight", "retried", "superseded", "rejects",
    ]  # fmt: skip
    assert {"ttft_ns", "tpot_ns", "worst_gap_ns", "gap_ns", "handoff_gap_ns", "e2e_ns"} <= set(
        report["percentiles"]
    )
    for percentile in report["percentiles"].values():
        assert list(percentile) == ["n", "left_out", "p50", "p90", "p99", "max", "basis"]
    for objective in report["objectives"]:
        assert list(objective) == [
            "name", "statistic", "limit_ns", "met", "missed", "not_applicable", "unknown",
            "attainment", "low", "high",
        ]  # fmt: skip
    assert list(report["hidden_stalls"]["requests"][0]) == [
        "trace", "request_id", "attempt", "choice", "ttft_ns", "tpot_ns", "worst_gap_ns",
        "worst_gap_index", "worst_gap_after_token", "cause", "basis", "by",
    ]  # fmt: skip


def test_declared_handoff_sits_in_the_first_gap() -> None:
    split = str(SAMPLES / "vllm-bench" / "bench_pd_forward.json.gz")
    ran = tokengap("audit", split, "--last-prefill-token", "1")
    assert "Handoff: the first gap of 50 requests" in ran.out
    assert "median 119.8 ms" in ran.out
    undeclared = tokengap("audit", split)
    assert "Handoff: not known for 50 requests" in undeclared.out
    assert "--last-prefill-token" in undeclared.out


def test_declared_handoff_inside_ttft_invents_no_gap() -> None:
    split = str(SAMPLES / "vllm-bench" / "bench_pd_discard.json.gz")
    report = tokengap("audit", split, "--last-prefill-token", "0", "--json").json()
    assert report["percentiles"]["handoff_gap_ns"]["n"] == 0
    ran = tokengap("audit", split, "--last-prefill-token", "0")
    assert "Handoff: inside TTFT for 50 requests" in ran.out


@pytest.mark.parametrize(
    ("limits", "fail_on", "code"),
    [
        # stalls: span 120 ms over 3 tokens = 40 ms on average, worst gap 100 ms
        (("tpot=40ms", "worst_gap=99ms"), ("hidden-stall",), 1),
        (("tpot=40ms", "worst_gap=100ms"), ("hidden-stall",), 0),
        (("tpot=39ms", "worst_gap=99ms"), ("hidden-stall",), 0),
        (("tpot=39ms", "worst_gap=99ms"), ("miss",), 1),
        (("tpot=39ms", "worst_gap=99ms"), ("hidden-stall", "miss"), 1),
        (("tpot=39ms", "worst_gap=99ms"), ("never",), 0),
        (("tpot=39ms", "worst_gap=99ms"), (), 0),
        (("tpot=40ms",), ("miss",), 0),
        (("tpot=40ms",), ("unknown",), 0),
        (("handoff_gap=1s",), ("unknown",), 1),
        (("handoff_gap=1s",), ("miss",), 1),
    ],
)
def test_exit_code_follows_the_conditions(
    log: Path, limits: tuple[str, ...], fail_on: tuple[str, ...], code: int
) -> None:
    options = [part for limit in limits for part in ("--limit", limit)]
    options += [part for condition in fail_on for part in ("--fail-on", condition)]
    assert tokengap("audit", str(log), *options).code == code


def test_gate_that_nothing_can_trip_is_refused(log: Path) -> None:
    ran = tokengap("audit", str(log), "--limit", "tpot=40ms", "--fail-on", "hidden-stall")
    assert ran.code == 2
    assert "worst_gap" in ran.err
    assert tokengap("audit", str(log), "--fail-on", "miss").code == 2


def test_limit_without_unit_is_refused_with_a_hint(log: Path) -> None:
    ran = tokengap("audit", str(log), "--limit", "tpot=100")
    assert ran.code == 2
    assert "100ms" in ran.err


def test_command_line_replaces_one_limit_of_the_file_and_says_so(log: Path, tmp_path: Path) -> None:
    slo = tmp_path / "slo.toml"
    slo.write_text('[limits]\ntpot = "1ms"\nworst_gap = "99ms"\n', "utf-8")
    ran = tokengap("audit", str(log), "--slo", str(slo), "--limit", "tpot=40ms", "--json")
    limits = {row["statistic"]: row["limit_ns"] for row in ran.json()["objectives"]}
    assert limits == {"tpot": 40_000_000, "worst_gap": 99_000_000}
    text = tokengap("audit", str(log), "--slo", str(slo), "--limit", "tpot=40ms").out
    assert "--limit" in text
    assert "slo.toml" in text.replace("\n", "")


def test_without_limits_the_largest_ratios_are_shown(log: Path) -> None:
    # The ratio is 10 to 10 for the steady one, 100 to 40 for the other.
    lines = tokengap("audit", str(log)).out.splitlines()
    rows = [line.split() for line in lines if line.startswith(("stalls", "steady"))]
    assert [(row[0], row[5]) for row in rows] == [("stalls", "2.5"), ("steady", "1.0")]


def test_window_judges_only_what_starts_in_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    later = STALLS.replace('"sent_ns":0', '"sent_ns":50000000').replace("stalls", "later")
    log.write_text(STEADY + later, "utf-8")
    report = tokengap("audit", str(log), "--window", "10ms..60ms", "--json", *LIMITS).json()
    assert report["counts"]["completed"] == 1
    # one good request in 50 ms
    assert report["goodput_per_s"] == pytest.approx(20)
    assert tokengap("audit", str(log), "--window", "60ms..10ms").code == 2
    assert tokengap("audit", str(log), "--window", "60ms").code == 2


def test_vantage_nobody_logged_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(STEADY.replace("{", '{"vantage":"client",', 1), "utf-8")
    ran = tokengap("audit", str(log), "--vantage", "engine")
    assert ran.code == 2
    assert "client" in ran.err


def test_page_is_not_overwritten_without_force(log: Path, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    assert tokengap("audit", str(log), "--html", str(page)).code == 0
    first = page.read_text("utf-8")
    assert "<html" in first
    refused = tokengap("audit", str(log), "--html", str(page))
    assert refused.code == 2
    assert "--force" in refused.err
    assert page.read_text("utf-8") == first
    assert tokengap("audit", str(log), "--html", str(page), "--force").code == 0


def test_failed_run_leaves_no_page(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    assert tokengap("audit", str(tmp_path / "missing"), "--html", str(page)).code == 3
    assert not page.exists()


def test_standard_input_is_read() -> None:
    report = tokengap("audit", "-", "--json", stdin=STEADY.encode()).json()
    assert report["traces"] == ["stdin"]
    assert report["counts"]["completed"] == 1


def test_log_of_failures_only_is_judged(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(FAILED, "utf-8")
    report = tokengap("audit", str(log), *LIMITS, "--json").json()
    assert report["counts"]["failed"] == report["counts"]["offered"] == 1
    assert report["good"] == 0
    assert report["percentiles"]["tpot_ns"]["n"] == 0
    assert tokengap("audit", str(log), *LIMITS).code == 0


def test_page_goes_to_standard_output_instead_of_the_summary(log: Path) -> None:
    ran = tokengap("audit", str(log), "--html", "-")
    assert ran.out.startswith("<!doctype html>")
    assert ran.out.rstrip().endswith("</html>")


def test_page_that_cannot_be_written_is_a_usage_error(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    ran = tokengap("audit", str(log), "--html", str(folder), "--force")
    assert ran.code == 2
    assert f"{folder}: cannot be written" in ran.err
    assert tokengap("audit", str(log), "--html", str(tmp_path / "no" / "x.html")).code == 2


def test_interruption_is_no_condition(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tokengap.library.inputs.load_paths", interrupt)
    ran = tokengap("audit", str(log))
    assert ran.code == 130
    assert "interrupted" in ran.err
