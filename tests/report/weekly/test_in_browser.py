"""The weekly page as a reader sees it: in a headless Chromium, at two widths, light and dark."""

from pathlib import Path

import pytest

from tests.report.browser import CHROMIUM, Browser
from tests.report.hostile import NAME
from tests.report.weekly.example import weekly
from tests.report.weekly.test_safety import attacked
from tokengap.report.page import page
from tokengap.report.weekly.whole import compose
from tokengap.weekly.model import Weekly

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium and no google-chrome on the PATH"),
]
FIRST_SCREEN: int = 800
"""Pixels of a window that is 1280 wide."""


def show(tab: Browser, folder: Path, week: Weekly, width: int, *, dark: bool = False) -> Path:
    file = folder / "weekly.html"
    file.write_text(page(compose(week)), "utf-8")
    tab.open(file, width=width, dark=dark)
    return file


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)]
)
def test_charts_are_drawn_within_the_page(
    tab: Browser, tmp_path: Path, width: int, *, dark: bool
) -> None:
    file = show(tab, tmp_path, weekly(), width, dark=dark)
    assert tab.complaints == []
    assert tab.requested == [file.as_uri()]
    marks = tab.value(
        "[...document.querySelectorAll('.chart')].map(chart =>"
        " chart.querySelectorAll('.role-mark path, .role-mark text').length)"
    )
    assert len(marks) == 4
    assert all(marks)
    assert tab.value("document.documentElement.scrollWidth") <= width


def test_the_first_screen_answers(tab: Browser, tmp_path: Path) -> None:
    """The verdict, each promise whole, and what is more than a note."""
    show(tab, tmp_path, weekly(), 1280)
    for part in ("h2", "tbody tr:last-child", ".findings .stall", ".findings .unknown"):
        bottom = tab.value(
            f"[...document.querySelectorAll('section:nth-of-type(-n+2) {part}')]"
            ".map(part => part.getBoundingClientRect().bottom).sort((a, b) => a - b).at(-1)"
        )
        assert bottom < FIRST_SCREEN, part
    assert tab.value(
        "(table => table.scrollWidth <= table.clientWidth)(document.querySelector('.table'))"
    )


def test_nothing_that_a_log_says_is_run(tab: Browser, tmp_path: Path) -> None:
    file = show(tab, tmp_path, attacked(), 1280)
    assert tab.complaints == []
    assert tab.requested == [file.as_uri()]
    assert tab.value("document.title") == f"tokengap weekly: 2026-W48: {NAME}"
