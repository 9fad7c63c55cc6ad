"""The page asks nothing of the network, and nothing in a log can make it do anything."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, page_of
from tests.report.hostile import EVIL, IN_THE_WAY, NAME, hostile
from tests.report.html import Page, data
from tokengap.report.words import plain

LOADS: Final = {"src", "href", "srcset", "action", "formaction", "poster", "ping", "background"}
CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
QUIET: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom",
)  # fmt: skip


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("hostile")
    return page_of(folder, hostile(), "--trace", NAME, *LIMITS)[0]


def test_nothing_is_loaded_from_elsewhere(one_of_each: tuple[Page, Record]) -> None:
    page, _ = one_of_each
    attributes = {name for _, found, _ in page.elements for name in found}
    assert not attributes & LOADS
    assert not {tag for tag, _, _ in page.elements} & {"link", "iframe", "object", "embed", "base"}
    assert not re.search(r"@import|url\(", page.styles)
    assert page.policy.startswith("default-src 'none'; ")
    assert not re.search(r"https?:", page.policy)
    assert not any("http" in json.dumps(spec) for spec in page.charts)


def test_one_script_may_run_and_no_text_may_become_one(one_of_each: tuple[Page, Record]) -> None:
    page, _ = one_of_each
    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page.policy
    assert "unsafe-eval" not in page.policy


def test_text_of_logs_is_plain(one_of_each: tuple[Page, Record], attacked: Page) -> None:
    harmless, _ = one_of_each
    assert {tag for tag, _, _ in attacked.elements} <= {tag for tag, _, _ in harmless.elements}
    assert attacked.scripts == harmless.scripts
    names = {name for _, found, _ in harmless.elements for name in found}
    assert {name for _, found, _ in attacked.elements for name in found} <= names
    assert attacked.texts("h1") == [NAME]
    shown = {row[0] for row in attacked.section("Hidden stalls").rows}
    assert shown == {plain(evil) for evil in EVIL}


def test_text_of_logs_enters_charts_as_values_alone(attacked: Page) -> None:
    chart = attacked.chart("average_against_worst")
    assert len(data(chart, "request")) == len([*EVIL, IN_THE_WAY])
    for spec in attacked.charts:
        without_data = json.dumps({key: spec[key] for key in spec if key != "datasets"})
        attacks = (json.dumps(evil)[1:-1] for evil in EVIL if "owned" in evil)
        assert not any(attack in without_data for attack in attacks)
        assert "owned" not in without_data


def opened(html: str, folder: Path) -> tuple[Page, str]:
    """The page as a browser leaves it, and what its console said."""
    assert CHROMIUM
    file = folder / "opened.html"
    file.write_text(html, "utf-8")
    done = subprocess.run(
        [CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", file.as_uri()],
        capture_output=True,
        check=True,
        timeout=120,
        encoding="utf-8",
    )
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Page(done.stdout), "\n".join(said)


@pytest.mark.chromium
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium and no google-chrome on the PATH")
def test_a_browser_draws_the_charts_without_complaint(
    one_of_each: tuple[Page, Record], tmp_path: Path
) -> None:
    page, _ = one_of_each
    drawn, console = opened(page.html, tmp_path)
    assert console == ""
    roles = [found.get("aria-roledescription") for tag, found, _ in drawn.elements if tag == "path"]
    assert roles.count("point") >= 6  # a mark for each request that has a place
    charts = [found for tag, found, _ in drawn.elements if tag == "div" and "data-chart" in found]
    assert len(charts) == len(page.charts)
    assert drawn.texts("svg")


@pytest.mark.chromium
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium and no google-chrome on the PATH")
def test_a_browser_runs_nothing_that_a_log_says(attacked: Page, tmp_path: Path) -> None:
    drawn, console = opened(attacked.html, tmp_path)
    assert console == ""
    assert drawn.texts("title") == attacked.texts("title")
