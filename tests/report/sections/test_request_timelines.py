from pathlib import Path
from typing import Any

import pytest

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, page_of, request
from tests.report.html import Page, data

TITLE = "The worst requests from start to end"
BURST = [10] * 80 + [600] + [1] * 60
"""After 600 ms the tokens come at once: they were made on time."""


def chart(page: Page) -> dict[str, Any]:
    return page.chart("request_timelines")


def legend(page: Page) -> list[str]:
    return page.section(TITLE).texts("li")


def test_a_request_is_drawn_from_start_to_end(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [request("a", BURST), request("b", [10] * 5)], *LIMITS)
    fields = ("rank", "name", "kind", "facts")
    heads = [tuple(row[f] for f in fields) for row in data(chart(page), "facts")]
    assert heads[1:] == [  # the first says that nothing is kept
        (1, "a", "delivery_pause", "600 ms after token 81: delivery pause"),
        (2, "b", "longest", "10 ms after token 1: over no limit"),
    ]
    # TTFT 100 ms, 80 gaps of 10 ms, the pause, 60 gaps of 1 ms
    drawn = [row for row in data(chart(page), "start") if row["rank"] == 1]
    assert sorted((row["start"], row["end"], row["kind"], row["what"]) for row in drawn) == [
        (0, 100, "ttft", "TTFT"),
        (100, 900, "steady", "80 gaps, the longest 10 ms"),
        (900, 1500, "delivery_pause", "gap after delivery 81: delivery pause"),
        (1500, 1560, "steady", "60 gaps, the longest 1 ms"),
    ]
    assert [row["took"] for row in drawn if row["kind"] == "delivery_pause"] == ["600 ms"]


def test_the_legend_counts_what_the_colours_stand_for(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [request("a", BURST), request("b", [10] * 5)], *LIMITS)
    assert legend(page) == [
        "TTFT: 2",
        "gaps between those: 144",  # 80 + 60 of a, 4 of b
        "longest gap of its request, over no limit: 1",
        "delivery pause: 1",
    ]


def test_every_point_leads_to_its_timeline_or_to_none(one_of_each: tuple[Page, Record]) -> None:
    page, _ = one_of_each
    points = data(page.chart("average_against_worst"), "request", "place")
    names = {row["rank"]: row["name"] for row in data(chart(page), "name", "rank")}
    assert {names[point["timeline"]] for point in points} == {p["request"] for p in points}
    assert len({point["timeline"] for point in points}) == len(points) == 6


def test_a_point_without_a_timeline_says_so(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [request(f"r{n}", [10, 20 + n]) for n in range(503)], *LIMITS)
    points = data(page.chart("average_against_worst"), "request", "place")
    by_name = {point["request"]: point["timeline"] for point in points}
    assert by_name["r502"] == 1  # the longest gap
    assert by_name["r3"] == 500
    assert len({by_name[name] for name in ("r0", "r1", "r2")}) == 3  # each is picked alone
    assert max(by_name[name] for name in ("r0", "r1", "r2")) < 0
    assert data(chart(page), "name", "rank")[0]["name"] == "No timeline is kept for this point."


@pytest.mark.parametrize(("limits", "why"), [((), ""), (LIMITS[2:], ": over no limit")])
def test_without_a_long_gap_the_longest_is_marked(
    tmp_path: Path, limits: tuple[str, ...], why: str
) -> None:
    page, _ = page_of(tmp_path, [request("a", [10, 20, 10])], *limits)
    (row,) = (row for row in data(chart(page), "start") if row["kind"] == "longest")
    assert (row["start"], row["end"], row["what"]) == (110, 130, f"gap after delivery 2{why}")


def test_how_a_cause_is_known_shows(tmp_path: Path) -> None:
    log = [request("a", [610] + [10] * 19)]
    page, _ = page_of(tmp_path, log, *LIMITS, "--last-prefill-token", "1")
    (row,) = (row for row in data(chart(page), "start") if row["kind"] == "handoff")
    assert row["solid"] == 0.5  # declared
    assert row["what"] == "gap after delivery 1: handoff (declared)"


def test_long_gaps_that_do_not_stand_alone_are_counted(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [request("slow", [600 + n for n in range(30)])], *LIMITS)
    notes = page.section(TITLE).texts("p", "remark")
    assert notes[-1].startswith("14 further gaps over their limit lie between those")  # 30 - 16
    (steady,) = (row for row in data(chart(page), "start") if row["kind"] == "steady")
    assert steady["what"] == "14 gaps, the longest 613 ms, 14 over their limit"


def test_without_an_origin_the_axis_counts_from_the_first_token(tmp_path: Path) -> None:
    log = [request("a", [10, 600], sent_ns=None)]
    page, _ = page_of(tmp_path, log, *LIMITS)
    axes = (layer["encoding"]["x"].get("axis") for layer in chart(page)["layer"])
    titles = [axis["title"] for axis in axes if axis]
    assert titles == ["time since the first token"]
    assert min(row["start"] for row in data(chart(page), "start")) == 0
