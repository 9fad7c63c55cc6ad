"""What no verdict is about is counted, with the reason."""

from pathlib import Path

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, page_of, request

TITLE = "Definitions and exclusions"


def test_what_was_left_out_is_counted(tmp_path: Path) -> None:
    log: list[Record | str] = [
        request("a", [10], attempt=0, status="failed"),
        request("a", [10], attempt=1),
        request("b", [10], status="in_flight"),
        request("a", [10], attempt=1, vantage="engine"),
        "{",
    ]
    page, _ = page_of(tmp_path, log, *LIMITS)
    assert [row[:2] for row in page.section(TITLE).rows] == [
        ["streams of other vantages", "1"],
        ["requests in flight", "1"],
        ["attempts given up", "1"],
        ["records in quarantine", "1"],
    ]


def test_where_nothing_was_left_out_it_says_so(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [request("a", [10] * 3)], *LIMITS)
    section = page.section(TITLE)
    assert section.rows == []
    assert "Nothing was left out: every stream is of an offered request." in section.html
