"""Attainment with its intervals, and the objective that binds."""

from pathlib import Path
from typing import Any

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, ONE_OF_EACH, page_of, request
from tests.report.html import Page, data

TITLE = "Objectives"
STALLS = [request(f"s{n}", [10] * 19 + [610]) for n in range(3)]
SLOW = [request("slow", [60] * 10)]


def dots(page: Page) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in data(page.chart("objectives"), "attainment", "low", "high")}


def test_each_share_has_its_interval(one_of_each: tuple[Page, Record]) -> None:
    page, report = one_of_each
    found = dots(page)
    assert {name: row["value"] for name, row in found.items()} == {
        "average TPOT ≤ 50 ms": "42.9 %",  # 3 of 3 + 2 + 2
        "worst gap ≤ 500 ms": "42.9 %",  # 3 of 3 + 3 + 1
        "all of them": "25 %",  # 2 of 8
    }
    for row, expected in zip(found.values(), [*report["objectives"], report], strict=True):
        shown = [row[key] for key in ("low", "attainment", "high")]
        assert shown == [expected[key] for key in ("low", "attainment", "high")]
        assert shown == sorted(shown)


def test_the_binding_objective_is_named_and_marked(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [*STALLS, *SLOW, request("fine", [10])], *LIMITS)
    binding = "Binding: worst gap ≤ 500 ms, alone missed by 3 of 4 not good"
    assert page.section(TITLE).texts("p", "remark")[0].startswith(f"{binding} (◆).")
    assert any(binding in tile for tile in page.texts("div", "tile"))
    assert {name: row["kind"] for name, row in dots(page).items()} == {
        "average TPOT ≤ 50 ms": "one",
        "worst gap ≤ 500 ms": "binding",
        "all of them": "all",
    }


def test_objectives_that_bind_alike_are_both_named(one_of_each: tuple[Page, Record]) -> None:
    (note, *_) = one_of_each[0].section(TITLE).texts("p", "remark")
    assert note.startswith(
        "Binding: average TPOT ≤ 50 ms, alone missed by 1 of 6 not good, as often as worst gap"
    )


def test_where_all_is_kept_nothing_binds(tmp_path: Path) -> None:
    page, report = page_of(tmp_path, [request("fine", [10])], *LIMITS)
    assert report["binding"] is None
    assert "Binding" not in " ".join(page.texts("p"))


def test_an_objective_that_applies_to_none_has_no_dot(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [request("single", [])], *LIMITS, "--limit", "ttft=1s")
    found = dots(page)
    assert found["average TPOT ≤ 50 ms"]["value"] == "applies to no request"
    assert found["TTFT ≤ 1 s"]["attainment"] == 1


def test_without_offered_requests_there_is_no_chart(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, ONE_OF_EACH, *LIMITS, "--window", "10s..20s")
    assert page.section(TITLE).charts == []
