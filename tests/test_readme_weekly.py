"""The README's crontab and CI job work as written: their commands are taken from it and run."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.cli.running import SAMPLES, Ran, tokengap
from tests.cli.weekly_stand_in import stand_in
from tests.documentation import README
from tests.report.weekly.gate_example import example
from tokengap.report.weekly.contract import contract
from tokengap.weekly.gate import CONDITIONS
from tokengap.weekly.model import BETTER, CANNOT_TELL, NOT_COMPARABLE, WORSE

SECTION: Final = README.read_text("utf-8").split("\n## The weekly report\n")[1].split("\n## ")[0]
SLO: Final = """\
[[service]]
name = "chat"

[[service.objective]]
statistic = "worst_gap"
limit = "500ms"
target = 0.99
from = 2026-01-01
"""
TOLD: Final = """
tokengap() { printf '%s\\0' tokengap "$@" "" ; }
pip() { printf '%s\\0' pip "$@" "" ; }
"""
"""A shell says what it would call: words, then an empty one."""


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)
    assert found is not None
    return found[1]


def calls(script: str, env: dict[str, str]) -> list[list[str]]:
    """What a script calls, its variables and substitutions as a shell sees them."""
    told = ["sh", "-euc", TOLD + script.replace(">/dev/null", "")]
    usual = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    ran = subprocess.run(told, env=usual | env, capture_output=True, check=True, text=True)
    assert ran.stderr == ""
    return [call.split("\0") for call in ran.stdout.removesuffix("\0\0").split("\0\0")]


def run(found: Iterable[list[str]]) -> list[Ran]:
    return [tokengap(*words) for program, *words in found if program == "tokengap"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an SLO file, and real logs of 2026-W48 to load."""
    (tmp_path / "slo.toml").write_text(SLO, "utf-8")
    (tmp_path / "reports").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_crontab_loads_merges_and_reports(here: Path) -> None:
    lines = block("cron").splitlines()
    told = dict(line.split("=", 1) for line in lines if re.match(r"[A-Z]+=", line))
    jobs = [line.split(maxsplit=5) for line in lines if re.match(r"[0-9]", line)]
    env = {
        "LOGS": str(SAMPLES / "aiperf" / "single_chat"),
        "STORE": str(here / "store"),
        "SLO": str(here / "slo.toml"),
        "REPORTS": str(here / "reports"),
        "GAUGES": str(here / "tokengap.prom"),
    }
    assert told.keys() == {"PATH", *env}
    assert all(re.fullmatch(r"[0-9*]+", field) for job in jobs for field in job[:5])
    commands = [job[5] for job in jobs]
    assert not any(re.search(r"(?<!\\)%", command) for command in commands), (
        "cron ends a line there"
    )
    found = [calls(command.replace(r"\%", "%"), env) for command in commands]
    loaded, merged, reported = (run(each)[0] for each in found)
    assert (loaded.code, "40 streams" in loaded.out) == (0, True)
    assert (merged.code, merged.out) == (0, "nothing changed\n")
    (paragraph,) = reported.out.splitlines()
    assert reported.code == 1
    assert re.match(r"2[0-9]{3}-W[0-5][0-9]: ", paragraph)
    assert "failed: coverage of chat: " in reported.err
    (page,) = (here / "reports").iterdir()
    assert re.fullmatch(r"2[0-9]{3}-W[0-5][0-9]\.html", page.name)
    assert (here / "tokengap.prom").read_text("utf-8").endswith("# EOF\n")


def test_the_ci_job_reports_and_tests(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    tokengap("ingest", str(SAMPLES / "aiperf" / "single_chat"), "--store", "store")
    job: Any = yaml.safe_load(block("yaml"))["jobs"]["report"]
    summary = here / "summary.md"
    summary.touch()  # as GitHub makes it
    assert job["env"]["STORE"].startswith("s3://")
    env = {"STORE": str(here / "store"), "GITHUB_STEP_SUMMARY": str(summary)}
    installed, reported = (calls(step["run"], env) for step in job["steps"] if "run" in step)
    assert installed == [["pip", "install", "tokengap[s3]"]]
    (ran,) = run(reported)
    assert (ran.code, ran.out.startswith("2026-W48: ")) == (1, True)
    assert summary.read_text("utf-8")
    root = ET.parse(here / "junit.xml").getroot()  # noqa: S314 (our own)
    assert int(root.attrib["failures"]) == sum(
        line.startswith("failed") for line in ran.err.splitlines()
    )
    (kept,) = (
        step["with"]["path"].split() for step in job["steps"] if "path" in step.get("with", {})
    )
    assert all((here / name).is_file() for name in kept)


def test_the_commands_of_the_text_are_commands() -> None:
    found = calls(block("bash"), {})
    assert [words[1] for words in found] == ["ingest", "report"]
    asked = [word for word in found[1] if word.startswith("--")]
    assert all(f"  {option} " in tokengap("report", "weekly", "--help").out for option in asked)


def test_the_fields_of_the_text_are_those_of_the_json() -> None:
    made = contract(example())
    service = made["services"][0]
    objective = service["objectives"][0]
    told = {
        of: set(re.findall(r"`(\w+)`", fields))
        for of, fields in re.findall(r"^\| ((?:the|an?) \w+) \| (`.*) \|$", SECTION, re.MULTILINE)
    }
    verdicts = {BETTER, WORSE, CANNOT_TELL, NOT_COMPARABLE}
    assert told == {
        "the week": made.keys() - {"schema", "tokengap"},
        "a service": service.keys(),
        "an objective": objective.keys(),
        "a change": objective["change"].keys() | verdicts,
    }


def test_every_condition_is_explained() -> None:
    named = re.findall(r"^\| `(\w+)` \|", SECTION, re.MULTILINE)
    assert tuple(named) == CONDITIONS
