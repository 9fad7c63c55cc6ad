from pathlib import Path
from typing import Any

import pytest

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, page_of, request
from tests.report.html import Page, data

TITLE = "Why gaps were long"
HELD_BACK = request("held back", [10] * 80 + [600] + [1] * 60, sent_ns=0)
"""After 600 ms the tokens come at once: a pause in delivery, 590 ms beyond its step."""


def chart(page: Page) -> dict[str, Any]:
    return page.chart("causes")


def drawn(page: Page) -> list[tuple[Any, ...]]:
    fields = ("name", "kind", "start", "end", "solid")
    return [tuple(row[f] for f in fields) for row in data(chart(page), "start")]


def heads(page: Page) -> list[tuple[str, str]]:
    return [(row["name"], row["facts"]) for row in data(chart(page), "facts")]


def test_a_bar_is_as_long_as_the_time_lost(tmp_path: Path) -> None:
    page, report = page_of(tmp_path, [HELD_BACK, request("fine", [10] * 9)], *LIMITS)
    assert drawn(page) == [("delivery pause, measured", "delivery_pause", 0, 590, 1)]
    assert heads(page) == [("delivery pause, measured", "590 ms lost, 100 %: 1 gap of 1 request")]
    assert report["causes"][0]["excess_ns"] == 590_000_000
    section = page.section(TITLE)
    assert section.texts("li") == ["delivery pause: 590 ms"]
    assert section.texts("p", "remark")[0].startswith(
        "These gaps took 600 ms together, of which the streams' own steady steps would have taken "
        "10 ms anyway"
    )


def test_how_sure_a_claim_is_shows_in_its_bar(tmp_path: Path) -> None:
    # The handoff of 610 ms takes 600 ms beyond the step, and is known from an option.
    log = [request("a", [610] + [10] * 19)]
    page, _ = page_of(tmp_path, log, *LIMITS, "--last-prefill-token", "1")
    assert drawn(page) == [("handoff, declared", "handoff", 0, 600, 0.5)]


def test_a_cause_is_drawn_in_its_parts_the_cause_itself_first(tmp_path: Path) -> None:
    # 50 ms of the gap pass before the preemption, 10 of them a steady step.
    mark = {"kind": "preempted", "t_ns": (100 + 800 + 50) * 1_000_000}
    log = [request("a", [10] * 80 + [700] + [10] * 80, marks=[mark])]
    page, _ = page_of(tmp_path, log, *LIMITS)
    assert [row[1:4] for row in drawn(page)] == [
        ("preemption", 0, 650),
        ("unexplained", 650, 690),
    ]
    shares = [row["share"] for row in data(chart(page), "start")]
    assert shares == ["94.2 %", "5.8 %"]  # of 690 ms


def test_rows_are_those_of_the_table(one_of_each: tuple[Page, Record]) -> None:
    page, _ = one_of_each
    rows = page.section(TITLE).rows
    lost = [(row[6], row[7]) for row in rows]
    assert [tuple(facts.split(": ")[0].split(" lost, ")) for _, facts in heads(page)] == lost


@pytest.mark.parametrize(("limit", "has_place"), [("worst_gap=1s", True), ("tpot=50ms", False)])
def test_without_long_gaps_there_is_no_chart(tmp_path: Path, limit: str, has_place: bool) -> None:
    page, _ = page_of(tmp_path, [request("fine", [10] * 9)], "--limit", limit)
    assert (TITLE in page.texts("h2")) is has_place
    if has_place:
        assert page.section(TITLE).texts("p", "empty") == ["No gap is over its limit."]
        assert page.section(TITLE).charts == []
