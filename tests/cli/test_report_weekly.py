"""`tokengap report weekly`: what it asks for, what it writes, and what fails a job."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from tests.cli.running import Ran, tokengap
from tests.cli.weekly_stand_in import Asked, stand_in
from tests.report.weekly.gate_example import kept, promise, service, weekly
from tests.slo.given import FULL
from tests.store.kept import Kept
from tokengap.weekly.calendar import Week
from tokengap.weekly.gate import CONDITIONS

Run = Callable[..., Ran]
SAID: Final = "2026-W48: 4 of 5 promises kept"
"""How the report of the week made by hand begins."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return stand_in(monkeypatch)


@pytest.fixture
def run(tmp_path: Path, asked: Asked) -> Run:  # noqa: ARG001 (what the command gets)
    """Run the command on a store and a file, with further options."""
    made = Kept(tmp_path)
    made.days_logs(1)
    slo = tmp_path / "slo.toml"
    slo.write_text(FULL, "utf-8")
    needed = ("report", "weekly", "--store", str(made.path), "--slo", str(slo))
    return lambda *options: tokengap(*needed, *options)


def test_the_last_week_that_is_over_is_reported(run: Run, asked: Asked) -> None:
    before = datetime.now(UTC).date()
    ran = run()
    assert (ran.code, ran.out.startswith(SAID), ran.err) == (0, True, "")
    after = datetime.now(UTC).date()
    assert asked.week in {Week.of(day).back(1) for day in (before, after)}
    assert asked.version == 1


def test_a_week_and_a_version_of_the_store_can_be_named(run: Run, asked: Asked) -> None:
    assert run("--week", "2026-W48", "--store-version", "0").code == 0
    assert (asked.week, asked.version) == (Week(date(2026, 11, 23)), 0)


def test_it_prints_what_is_asked_for(run: Run) -> None:
    assert run("--json").json()["week"] == "2026-W48"
    (paragraph,) = run("--summary").out.splitlines()
    assert paragraph.startswith(SAID)


def test_every_form_is_written(run: Run, tmp_path: Path) -> None:
    files = {name: tmp_path / f"week.{name}" for name in ("html", "md", "prom", "xml")}
    ran = run(
        "--html", str(files["html"]), "--md", str(files["md"]),
        "--openmetrics", str(files["prom"]), "--junit", str(files["xml"]),
        "--charts", str(tmp_path / "charts"), "--csv", str(tmp_path / "tables"),
    )  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert all(path.stat().st_size for path in files.values())


def test_nothing_is_overwritten_but_gauges(run: Run, tmp_path: Path) -> None:
    gauges, tests = tmp_path / "week.prom", tmp_path / "week.xml"
    gauges.write_text("old", "utf-8")
    tests.write_text("old", "utf-8")
    refused = run("--openmetrics", str(gauges), "--junit", str(tests))
    assert (refused.code, "week.xml exists; --force overwrites it" in refused.err) == (2, True)
    assert gauges.read_text("utf-8") == "old"
    assert run("--openmetrics", str(gauges)).code == 0
    assert gauges.read_text("utf-8").endswith("# EOF\n")
    assert run("--junit", str(tests), "--force").code == 0
    assert tests.read_text("utf-8").startswith("<?xml")


def test_tests_can_go_to_standard_output(run: Run) -> None:
    root = ET.fromstring(run("--junit", "-").out.encode())  # noqa: S314 (our own)
    assert root.attrib["tests"] == "17"
    root = ET.fromstring(run("--junit", "-", "--fail-on", "miss").out.encode())  # noqa: S314
    assert root.attrib["tests"] == "5"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("miss", "failed: miss of chat worst_gap: 980 of 1\u202f000 requests met 400 ms"),
        ("burn", "failed: burn of chat ttft: at most 20.00 times"),
        (
            "regression",
            "failed: regression of chat worst_gap: kept by 2 points less at equal mix (share",
        ),
        ("coverage", "failed: coverage of chat: 140 of 168 hours have requests"),
    ],
)
def test_a_condition_that_holds_fails_the_job_and_is_said(
    run: Run, asked: Asked, condition: str, said: str
) -> None:
    assert run().code == 0
    ran = run("--fail-on", condition)
    assert (ran.code, ran.out.startswith(SAID), said in ran.err) == (1, True, True)
    assert all(f": {condition} of " in line for line in ran.err.splitlines())
    asked.found = weekly(service(promises=[promise()]))
    kept_all = run("--fail-on", condition)
    assert (kept_all.code, kept_all.err) == (0, "")


def test_what_could_not_be_judged_is_said(run: Run, asked: Asked) -> None:
    asked.found = weekly(service(promises=[promise(kept=kept(0))], offered=0))
    ran = run("--fail-on", "miss")
    said = "not judged: miss of chat worst_gap: no request that it applies to\n"
    assert (ran.code, ran.err) == (0, said)


def test_how_much_coverage_is_enough_can_be_said(run: Run) -> None:
    assert run("--fail-on", "coverage", "--least-coverage", "0.8").code == 0
    assert run("--fail-on", "coverage", "--least-coverage", "0.84").code == 1


def test_a_terminal_obeys_nothing_of_a_file(run: Run, asked: Asked) -> None:
    evil = promise(only={"tenant": "\x1b[2J\u202e"}, kept=kept(0, 1))
    asked.found = weekly(service(promises=[evil]))
    assert "tenant=\ufffd[2J\ufffd: 0 of 1 requests" in run("--fail-on", "miss").err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--week", "2026-11-29"), "2026-11-29 lies in 2026-W48"),
        (("--summary", "--json"), "keep one"),
        (("--summary", "--html", "-"), "keep one"),
        (("--json", "--junit", "-"), "only one of --junit - and --json"),
        (("--html", "-", "--junit", "-"), "only one of --html - and --junit -"),
        (("--openmetrics", "week.txt"), "node exporter reads files that end in .prom"),
        (("--openmetrics", "-"), "node exporter reads files that end in .prom"),
        (("--openmetrics", "none/week.prom"), "the folder none does not exist"),
        (("--fail-on", "miss", "--week", "2020-W01"), "--fail-on miss: "),
        (("--least-coverage", "90"), "--least-coverage"),
        (("--fail-on", "mis"), "--fail-on"),
    ],
)
def test_what_cannot_be_done_is_refused(run: Run, options: tuple[str, ...], said: str) -> None:
    ran = run(*options)
    assert (ran.code, said in ran.err, ran.out) == (2, True, ""), ran.err


def test_a_gate_that_nothing_trips_names_the_week(run: Run) -> None:
    ran = run("--week", "2020-W01", *(f"--fail-on={condition}" for condition in CONDITIONS))
    assert "slo.toml promises nothing in 2020-W01" in ran.err
    assert run("--week", "2020-W01", "--fail-on", "coverage").code == 1


def test_a_folder_that_is_no_store_is_said(run: Run, tmp_path: Path) -> None:
    assert run("--store-version", "7").code == 3
    ran = run("--store", str(tmp_path))
    assert (ran.code, "`tokengap ingest` makes one" in ran.err) == (3, True)
