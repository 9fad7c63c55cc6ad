"""Three promises side by side on the page."""

from pathlib import Path

import pytest

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, ONE_OF_EACH, page_of, request
from tests.report.html import Page, data

TITLE = "Three promises called TPOT"


def bars(page: Page) -> dict[tuple[str, str, str], str]:
    (chart,) = page.section(TITLE).charts
    rows = data(chart, "count", "average")
    return {(row["average"], row["own_p99"], row["worst"]): row["count"] for row in rows}


def test_all_combinations_are_counted(one_of_each: tuple[Page, Record]) -> None:
    """Own p99 under 50 ms: fine 10; hidden 10 + 0.81 * 600 = 496, slow 60, the others hundreds."""
    page, _ = one_of_each
    found = bars(page)
    assert len(found) == 8 + 2 + 1
    assert {verdicts: count for verdicts, count in found.items() if count != "0"} == {
        ("met", "met", "met"): "1 (14.3 %)",  # fine
        ("met", "missed", "missed"): "1 (14.3 %)",  # hidden
        ("missed", "missed", "met"): "1 (14.3 %)",  # slow
        ("missed", "missed", "missed"): "1 (14.3 %)",  # both
        ("unknown", "missed", "missed"): "1 (14.3 %)",  # possible
        ("unknown", "missed", "met"): "1 (14.3 %)",  # undecided
        ("does not apply", "does not apply", "does not apply"): "1 (14.3 %)",  # single
    }


def test_each_promise_alone_judges_the_same_requests(one_of_each: tuple[Page, Record]) -> None:
    section = one_of_each[0].section(TITLE)
    assert "n 7 completed requests, per request" in section.texts("p", "scope")[0]
    assert [row[:7] for row in section.rows] == [
        ["average TPOT", "≤ 50 ms", "2", "2", "1", "2", "33.3 %"],
        ["own gaps p99", "≤ 50 ms, borrowed", "1", "5", "1", "0", "16.7 %"],
        ["worst gap", "≤ 500 ms", "3", "3", "1", "0", "50 %"],
    ]
    hidden, borrowed, _ = section.texts("p", "remark")
    assert hidden == "Kept on the average and broken on the worst gap: 1 of 7."
    assert borrowed.startswith("No limit is given on own gaps p99, so the one on average TPOT")


def test_with_all_three_limits_nothing_is_borrowed(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, ONE_OF_EACH, *LIMITS, "--limit", "gap_p99=500ms")
    section = page.section(TITLE)
    assert section.rows[1][:4] == ["own gaps p99", "≤ 500 ms", "4", "2"]  # 600, 693 ms over it
    assert not any("No limit" in note for note in section.texts("p", "remark"))


def test_without_a_promise_on_the_average_there_is_no_section(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, ONE_OF_EACH, "--limit", "worst_gap=500ms")
    assert TITLE not in page.texts("h2")


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (
            [request("a", [10], status="failed")],
            "No request completed (1 failed), and only completed ones are shown here.",
        ),
        (
            [request("a", [])],
            "None of 1 completed requests has a gap, so no such promise applies.",
        ),
    ],
)
def test_where_there_is_nothing_to_judge_it_says_why(
    tmp_path: Path, log: list[Record], reason: str
) -> None:
    page, _ = page_of(tmp_path, log, *LIMITS)
    section = page.section(TITLE)
    assert section.texts("p", "empty") == [reason]
    assert section.charts == []
