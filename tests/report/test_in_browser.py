"""Pages as a reader sees them: in a headless Chromium, at two widths, in light and dark."""

from pathlib import Path
from typing import Any

import pytest

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, page_of, request
from tests.report.browser import CHROMIUM, Browser
from tests.report.hostile import EVIL
from tests.report.html import Page
from tokengap.report.words import plain, shortened

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium and no google-chrome on the PATH"),
]
VIEWS = pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)]
)
TIMELINES = "document.querySelector('[data-chart=chart-request_timelines]')"
SHOWN = (
    f"[...{TIMELINES}.querySelectorAll('.role-mark.mark-text text')]"
    ".sort((a, b) => a.getBoundingClientRect().y - b.getBoundingClientRect().y)"
    ".map(text => text.textContent)"
)
"""What is written beside the bars, from top to bottom."""
BACK = "document.querySelector('.picked button')"


def show(tab: Browser, page: Page, folder: Path, width: int = 1280, *, dark: bool = False) -> Path:
    file = folder / "page.html"
    file.write_text(page.html, "utf-8")
    tab.open(file, width=width, dark=dark)
    return file


def point(name: str) -> str:
    """The mark of a request, in the chart of averages and worst gaps."""
    marks = "[...document.querySelectorAll('.points_marks path')]"
    return f"{marks}.find(mark => mark.__data__.datum.request === '{name}')"


def names(tab: Browser) -> list[Any]:
    """The requests whose timelines are shown: each has a name, then a line of facts."""
    texts: list[Any] = tab.value(SHOWN)
    return texts[::2]


@VIEWS
def test_charts_are_drawn_without_complaint_and_without_a_network(
    tab: Browser, one_of_each: tuple[Page, Record], tmp_path: Path, width: int, *, dark: bool
) -> None:
    page, _ = one_of_each
    file = show(tab, page, tmp_path, width, dark=dark)
    assert tab.complaints == []
    assert tab.requested == [file.as_uri()]
    marks = tab.value(
        "[...document.querySelectorAll('.chart')].map(chart =>"
        " chart.querySelectorAll('.role-mark path, .role-mark text').length)"
    )
    assert len(marks) == len(page.charts)
    assert all(marks)
    assert tab.value("document.querySelectorAll('.points_marks path').length") == 6
    assert tab.value("document.documentElement.scrollWidth") <= width


@VIEWS
def test_a_picked_point_shows_its_request_alone(
    tab: Browser, one_of_each: tuple[Page, Record], tmp_path: Path, width: int, *, dark: bool
) -> None:
    page, _ = one_of_each
    show(tab, page, tmp_path, width, dark=dark)
    worst = ["both", "hidden", "possible", "undecided", "slow", "fine"]  # 700, 610, 600 ms, ...
    assert names(tab) == worst
    high = tab.value(f"{TIMELINES}.offsetHeight")
    for name in ("hidden", "fine"):
        tab.click(point(name))
        tab.until(f"{SHOWN}[0] === '{name}' && {SHOWN}.length === 2")
        assert tab.value(f"{BACK}.textContent") == "Show the worst ones again"
        assert tab.value(f"{TIMELINES}.offsetHeight") < high / 2
    tab.click(BACK)
    tab.until(f"{SHOWN}.length === 12")
    assert names(tab) == worst
    assert tab.value(BACK) is None
    assert tab.complaints == []


def test_a_point_without_a_timeline_says_so(tab: Browser, tmp_path: Path) -> None:
    log = [request(f"r{n}", [10, 20 + n]) for n in range(503)]  # of 500, timelines are kept
    show(tab, page_of(tmp_path, log, *LIMITS)[0], tmp_path)
    assert names(tab) == [f"r{n}" for n in range(502, 490, -1)]
    tab.click(point("r0"))
    tab.until(f"{SHOWN}[0] === 'No timeline is kept for this point.'")
    tab.click(BACK)
    tab.until(f"{SHOWN}.length === 24")


def test_colours_follow_the_scheme(
    tab: Browser, one_of_each: tuple[Page, Record], tmp_path: Path
) -> None:
    page, _ = one_of_each
    seen = []
    for dark in (False, True):
        show(tab, page, tmp_path, dark=dark)
        seen.append(
            tab.value(
                "[document.body, document.querySelector('.points_marks path')]"
                ".flatMap(e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).stroke])"
            )
        )
    light, dark_colours = seen
    assert light[0] == "rgb(246, 247, 248)"
    assert dark_colours[0] == "rgb(17, 20, 24)"
    assert light[3] != dark_colours[3]


def test_nothing_that_a_log_says_is_run(tab: Browser, attacked: Page, tmp_path: Path) -> None:
    file = show(tab, attacked, tmp_path)
    assert set(names(tab)) <= {shortened(plain(evil)).strip() for evil in EVIL}
    tab.click("document.querySelector('.points_marks path')")
    tab.until(f"{SHOWN}.length === 2")
    assert tab.complaints == []
    assert tab.requested == [file.as_uri()]
    assert tab.value("document.title") == attacked.texts("title")[0]
