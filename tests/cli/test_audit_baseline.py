"""An audit beside the runs of a baseline: what it shows, what fails a job, what is kept."""

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest
import yaml

from tests.cli.running import LIMITS, Ran, tokengap
from tests.documentation import README
from tests.report.auditing import request
from tests.report.html import Page
from tokengap.slo import Objective
from tokengap.weekly.against import Against
from tokengap.weekly.model import CANNOT_TELL, WORSE, Change, ValueChange

Run = Callable[..., Ran]
WORSE_GAP = Change(
    WORSE, "kept by 2 points less at equal mix", -0.01, -0.02, -0.03, -0.01, 80, 90, 0.9,
    ValueChange(1.2, 1.1, 1.05, 1.15),
)  # fmt: skip
SAME = Change(CANNOT_TELL, "no more than chance at equal mix")


class Runs:
    """Stands in for what compares runs: keeps what was asked for."""

    def __init__(self) -> None:
        self.changes = {"tpot": SAME, "worst_gap": WORSE_GAP, "good": SAME}
        self.added = 0

    def against(
        self, con: duckdb.DuckDBPyConnection, objectives: Sequence[Objective], path: Path
    ) -> Against:
        assert con.execute("SELECT count(*) FROM request_latency").fetchone() == (1,)
        assert [objective.statistic for objective in objectives] == ["tpot", "worst_gap"]
        return Against(str(path), 3, self.changes)

    def add_run(
        self, _: duckdb.DuckDBPyConnection, objectives: Sequence[Objective], path: Path
    ) -> int:
        assert objectives
        self.added += 1
        path.touch()
        return self.added


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    runs, module = Runs(), ModuleType("tokengap.findings.regression")
    vars(module).update(against=runs.against, add_run=runs.add_run)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return runs


@pytest.fixture
def run(tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> Run:  # noqa: ARG001
    """Run an audit of one request in a folder with a baseline."""
    monkeypatch.chdir(tmp_path)
    Path("bench.jsonl").write_text(json.dumps(request("a", [10] * 9)) + "\n", "utf-8")
    Path("main.json").touch()
    return lambda *options: tokengap("audit", "bench.jsonl", *options)


def test_a_change_is_shown_in_every_form(run: Run) -> None:
    ran = run(*LIMITS, "--baseline", "main.json", "--html", "a.html", "--md", "a.md", "--csv", "c")
    assert ran.code == 0
    assert "● Worse than the 3 runs of main.json, worst gap: kept by 2 points less" in ran.out
    row = next(line for line in ran.out.splitlines() if re.match("worst gap +worse ", line))
    assert row.split("  ")[-1].strip() == "kept by 2 points less at equal mix"
    assert "-2 points, -3 to -1" in row
    assert "times 1.100, 1.050 to 1.150" in row
    section = Page(Path("a.html").read_text("utf-8")).section("Against the baseline")
    assert any("Worse than the 3 runs of main.json" in said for said in section.texts("li"))
    assert "## Against the baseline" in Path("a.md").read_text("utf-8")
    assert "worst_gap,worse," in Path("c/against.csv").read_text("utf-8")


def test_json_has_the_change_as_a_weekly_report_has_it(run: Run) -> None:
    found: Any = run(*LIMITS, "--baseline", "main.json", "--json").json()["baseline"]
    assert (found["file"], found["runs"]) == ("main.json", 3)
    assert [each["name"] for each in found["objectives"]] == ["tpot", "worst_gap", "good"]
    assert found["objectives"][1]["change"] == {
        "verdict": "worse", "says": "kept by 2 points less at equal mix",
        "raw": -0.01, "matched": -0.02, "low": -0.03, "high": -0.01,
        "requests_before": 80, "requests": 90, "matched_share": 0.9,
        "value_ratio": {"raw": 1.2, "matched": 1.1, "low": 1.05, "high": 1.15},
    }  # fmt: skip


def test_a_run_is_added_unless_it_fails_the_job(run: Run, runs: Runs) -> None:
    both = (*LIMITS, "--baseline", "main.json", "--save-baseline", "main.json")
    assert (run(*both).err, runs.added) == ("main.json: 1 run\n", 1)
    failed = run(*both, "--fail-on", "regression")
    assert (failed.code, runs.added) == (1, 1)
    assert failed.err == "main.json: this run got worse, and is not added\n"


def test_the_ci_job_of_the_readme_compares_then_adds(run: Run, runs: Runs) -> None:
    section = README.read_text("utf-8").split("\n## A benchmark in CI\n")[1].split("\n## ")[0]
    job: Any = yaml.safe_load(section.split("```yaml\n")[1].split("```")[0])["jobs"]["benchmark"]
    steps = [step["run"].split() for step in job["steps"] if "run" in step]
    compared, added = (
        words[3:] for words in steps if words[:3] == ["tokengap", "audit", "bench.json"]
    )
    assert compared[:4] == added[:4] == list(LIMITS)
    assert (run(*compared).code, runs.added) == (1, 0)
    runs.changes = {"tpot": SAME}
    assert run(*compared).code == 0
    assert (run(*added).code, runs.added) == (0, 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*LIMITS, "--fail-on", "regression"), "--baseline FILE.json"),
        (("--baseline", "main.json"), "--baseline needs limits"),
        (("--save-baseline", "main.json"), "--save-baseline needs limits"),
        ((*LIMITS, "--baseline", "none.json"), "none.json: no such file; --save-baseline makes"),
        ((*LIMITS, "--save-baseline", "none/a.json"), "the folder none does not exist"),
    ],
)
def test_what_cannot_be_compared_is_refused(run: Run, options: tuple[str, ...], said: str) -> None:
    ran = run(*options)
    assert (ran.code, said in ran.err) == (2, True), ran.err
