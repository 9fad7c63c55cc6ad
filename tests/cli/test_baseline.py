"""`tokengap baseline`: text, JSON, files, and what it refuses."""

import csv
import io
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.running import LIMITS, SAMPLES, VICTIMS, tokengap
from tests.documentation import README

BENCH: Final = SAMPLES / "vllm-bench"
TOGETHER: Final = (
    str(BENCH / "bench_victims_mono8192_quiet.json.gz"),
    str(BENCH / "bench_interferers_mono8192_quiet.json"),
    "--same-clock",
)
ESTIMATES: Final = ("calm_gap_ns", "exposed_gap_ns", "added_ns_per_token", "explained_share")


@pytest.fixture(scope="module")
def contract() -> Any:
    return tokengap("baseline", *TOGETHER, *LIMITS, "--json").json()


def test_text_says_the_verdict_first(contract: Any) -> None:
    ran = tokengap("baseline", *TOGETHER, *LIMITS)
    assert ran.code == 0
    says = ran.out.split("\n\n")[1].splitlines()
    assert says[0] == "Verdict: interference"
    assert [line.strip() for line in says[1:]] == contract["verdict"]["why"]
    assert "worst gap ≤ 500 ms    21      12 (57.1 %)  12 (57.1 %)  9 (42.9 %)" in ran.out


def test_contract_is_the_documented_one(contract: Any) -> None:
    section = README.read_text("utf-8").split("\n## Would separation pay?\n")[1].split("\n## ")[0]
    table = section.split("| field | holds |\n")[1]
    told: dict[str, set[str]] = {}
    for line in table.splitlines()[1:]:
        if line.startswith("| `"):
            fields, holds = line.strip("| ").split(" | ", 1)
            for field in re.findall(r"`(\w+)`", fields):
                told[field] = set(re.findall(r"`(\w+)`", holds))
    assert contract.keys() == {"schema", "tokengap", *told}
    assert contract["schema"] == "tokengap.baseline/1"
    for field in ("verdict", "interference", "arrivals", "service"):
        assert contract[field].keys() <= told[field], field
    assert contract["lengths"].keys() == told["lengths"]
    assert contract["misses"]["any"].keys() <= told["misses"]
    assert contract["interference"]["doses"][0].keys() <= told["interference"]
    for name in ESTIMATES:
        assert contract["interference"][name].keys() == {"value", "low", "high"}


def test_numbers_of_the_contract_agree(contract: Any) -> None:
    interference = contract["interference"]
    doses = interference["doses"]
    assert sum(dose["gaps"] for dose in doses) == interference["gaps"]
    exposed = [dose for dose in doses if dose["dose_step"] > 0]
    assert sum(dose["gaps"] for dose in exposed) == interference["exposed_gaps"]
    for name in ("calm_gap_ns", "exposed_gap_ns"):
        found = interference[name]
        assert found["low"] <= found["value"] <= found["high"]
    for misses in (*contract["misses"]["objectives"], contract["misses"]["any"]):
        assert misses["neither"] <= misses["missed"]
        assert misses["apart"] + misses["chunked"] + misses["neither"] >= misses["missed"]
    assert sum(cell["requests"] for cell in contract["lengths"]["grid"]) == 68
    assert sum(row["arrivals"] for row in contract["arrivals"]["over_time"]) == 68
    (prefills,) = interference["prefills"]
    assert prefills == {"basis": "inferred", "n": 68, "on_unnamed_workers": 68}


def test_a_declared_worker_is_no_unnamed_one() -> None:
    ran = tokengap("baseline", *TOGETHER)
    assert "no worker is named: those of a deployment count as one" in ran.out
    named = tokengap("baseline", *TOGETHER, "--worker", "gpu0")
    assert "no worker is named" not in named.out
    assert "Verdict: interference" in named.out


def test_smaller_chunks_help_no_fewer(contract: Any) -> None:
    """A chunk of 16 tokens of a 3,000-token prompt takes 6 of 1,090 ms; one of 4,096 takes all."""
    helped = [
        tokengap("baseline", *TOGETHER, *LIMITS, "--chunk", str(chunk), "--json").json()["misses"]
        for chunk in (16, 4096)
    ]
    worst = [
        {each["statistic"]: each["chunked"] for each in found["objectives"]}["worst_gap"]
        for found in (helped[0], contract["misses"], helped[1])
    ]
    assert worst == [12, 12, 0]


def test_every_form_is_written(tmp_path: Path) -> None:
    page, text = tmp_path / "b.html", tmp_path / "b.md"
    charts, tables = tmp_path / "charts", tmp_path / "csv"
    ran = tokengap(
        "baseline", *TOGETHER, *LIMITS, "--html", str(page), "--md", str(text),
        "--charts", str(charts), "--csv", str(tables),
    )  # fmt: skip
    assert ran.code == 0
    assert ran.err == ""
    drawn = {path.name for path in charts.glob("*.png")}
    assert drawn == {
        f"{name}.png"
        for name in (
            "removable_misses", "dose_response", "service_model", "lengths", "load", "arrivals",
        )
    }  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in charts.glob("*.png"))
    assert "Interference." in page.read_text("utf-8")
    assert "charts/dose_response.png" in text.read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO((tables / "dose_response.csv").read_text("utf-8"))))
    assert {row["dose_step"] for row in rows} >= {"0", "12"}
    assert (tables / "concurrency.csv").is_file()
    again = tokengap("baseline", *TOGETHER, "--html", str(page))
    assert again.code == 2
    assert "--force" in again.err


def test_without_limits_it_says_what_counts_as_a_stall() -> None:
    ran = tokengap("baseline", *TOGETHER)
    assert "No limit is given: a gap over 20 of its stream's own steps is a stall." in ran.out
    assert re.search(r"^  stalls +27 +11 \(40\.7 %\)", ran.out, re.MULTILINE)


def test_a_page_can_go_to_standard_output() -> None:
    ran = tokengap("baseline", VICTIMS, "--html", "-")
    assert ran.out.startswith("<!doctype html>")
    assert "tokengap baseline" in ran.out


def test_nothing_missed_leaves_no_empty_chart(tmp_path: Path) -> None:
    low = str(BENCH / "bench_low_rate.json.gz")
    ran = tokengap("baseline", low, *LIMITS, "--charts", str(tmp_path / "charts"))
    assert "Verdict: no measured interference" in ran.out
    assert not (tmp_path / "charts" / "removable_misses.png").exists()
    assert (tmp_path / "charts" / "dose_response.png").exists()


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        ((VICTIMS, "--chunk", "0"), 2, "--chunk"),
        ((VICTIMS, "--vantage", "engine"), 2, "no stream was seen there"),
        ((VICTIMS, "--json", "--html", "-"), 2, "only one of"),
        ((VICTIMS, "--limit", "tpot=fast"), 2, "tpot"),
        ((str(SAMPLES / "mooncake"),), 3, "no answer's times"),
        (("nothing-here",), 3, "nothing-here"),
    ],
)
def test_what_cannot_be_measured_is_said(args: tuple[str, ...], code: int, says: str) -> None:
    ran = tokengap("baseline", *args)
    assert (ran.code, says in ran.err) == (code, True)


def test_aggregates_alone_give_a_baseline_without_gaps() -> None:
    """A log of averages knows no single gap: none is made up, and nothing is fitted."""
    found = tokengap("baseline", str(SAMPLES / "litellm"), "--json").json()
    assert found["interference"]["gaps"] == 0
    assert found["interference"]["calm_gap_ns"] == {"value": None, "low": None, "high": None}
    assert [each["value"] for each in found["service"]["step"]["coefficients"]] == [None] * 3
    assert found["verdict"]["name"] == "no measured interference"


def test_every_sample_gets_a_baseline_or_a_reason() -> None:
    """Whatever a log lacks: strict JSON, or an error that says why."""
    folders = ("sse", "otlp", "llmperf", "litellm", "inference-perf", "sglang-exporter")
    for folder in folders:
        ran = tokengap("baseline", str(SAMPLES / folder), "--json")
        assert ran.code in (0, 2, 3), folder
        if ran.code == 0:
            assert ran.json()["verdict"]["why"], folder
        else:
            assert ran.err, folder
