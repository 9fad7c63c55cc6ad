from pathlib import Path
from typing import Any

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, page_of, request
from tests.report.html import Page, data, lines, written

TITLE = "Where in the stream the worst gap falls"


def chart(page: Page) -> dict[str, Any]:
    return page.chart("worst_gap_places")


def test_every_request_is_counted_where_its_worst_gap_falls(
    one_of_each: tuple[Page, Record],
) -> None:
    page, _ = one_of_each
    # Worst gaps: fine 10 ms after delivery 1, hidden 610 after 20, slow 60 after 1, both 700 after
    # 2, possible 600 and undecided 400 after 1. Cells of length: 10 to 15.8, 39.8 to 63.1,
    # 398 to 631 and 631 to 1000 ms.
    cells = {(row["place"], row["longest"]): row["requests"] for row in data(chart(page), "place")}
    assert cells == {
        ("1", "10 ms, fine"): 1, ("1", "60 ms, slow"): 1, ("1", "600 ms, possible"): 2,
        ("2", "700 ms, both"): 1, ("17 to 32", "610 ms, hidden"): 1,
    }  # fmt: skip
    section = page.section(TITLE)
    assert section.texts("p", "scope")[0].startswith("n 6 completed requests, per request")
    first, left = section.texts("p", "remark")
    assert first.startswith("It is the first gap in 4 of 6 requests (66.7 %).")
    assert left.startswith("Left out: 1 of 7 completed requests")  # single


def test_places_that_nothing_hit_are_on_the_axis(one_of_each: tuple[Page, Record]) -> None:
    (places,) = {
        tuple(layer["encoding"]["x"]["scale"]["domain"])
        for layer in chart(one_of_each[0])["layer"]
        if "scale" in layer["encoding"].get("x", {})
    }
    assert places == ("1", "2", "3 to 4", "5 to 8", "9 to 16", "17 to 32")


def test_the_limit_is_drawn_and_named(one_of_each: tuple[Page, Record]) -> None:
    spec = chart(one_of_each[0])
    assert lines(spec) == {"x": set(), "y": {500}}
    assert written(spec) == ["worst gap ≤ 500 ms"]


def test_a_limit_far_from_all_gaps_is_in_the_plot(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [request("a", [10, 20])], *LIMITS)
    (low, high) = next(
        layer["encoding"]["y"]["scale"]["domain"]
        for layer in chart(page)["layer"]
        if "scale" in layer["encoding"].get("y", {})
    )
    assert low < 20
    assert high > 500
