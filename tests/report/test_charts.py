import json
from typing import Any

import pytest

from tests.cases.commands import strict_json
from tests.report.html import data, lines, written
from tokengap.report.charts import stall_map, survival

MS = 1_000_000
Row = dict[str, Any]


def mark(place: str = "unjudged", **columns: Any) -> Row:
    """A row of the query `stall_map` with its place: average 20 ms, worst gap 80 ms."""
    row = {
        "trace": "t", "request_id": "a", "attempt": 0, "choice": 0, "tpot_low_ns": 20.0 * MS,
        "tpot_high_ns": 20.0 * MS, "worst_gap_low_ns": 80 * MS, "worst_gap_high_ns": 80 * MS,
        "worst_gap_index": 3, "worst_gap_after_token": 5, "requests": 1, "timeline": 1,
        "place": place,
    }  # fmt: skip
    return row | columns


def steps(*gaps_ms: float) -> list[Row]:
    """Rows of the query `gap_survival`, one gap each."""
    return [
        {"gap_ns": round(gap * MS), "gaps": 1, "longer": len(gaps_ms) - number - 1}
        for number, gap in enumerate(gaps_ms)
    ]


def scale(spec: Row, axis: str) -> list[float]:
    """The domain of an axis."""
    (found,) = (
        layer["encoding"][axis]["scale"]["domain"]
        for layer in spec["layer"]
        if "scale" in layer.get("encoding", {}).get(axis, {})
    )
    low, high = found
    return [low, high]


def shown(spec: Row, channel: str) -> dict[str, str]:
    """What a channel of the marks makes of each place."""
    (found,) = (
        layer["encoding"][channel]["scale"]
        for layer in spec["layer"]
        if channel in layer.get("encoding", {})
    )
    return dict(zip(found["domain"], found["range"], strict=True))


@pytest.mark.parametrize(
    "spec",
    [
        stall_map([mark()], {}, {}),
        stall_map([mark(worst_gap_high_ns=None, tpot_low_ns=None)], {}, {}),
        survival(steps(10, 20), {}),
    ],
    ids=["exact", "bounded", "survival"],
)
def test_a_specification_is_strict_json_without_addresses(spec: Row) -> None:
    text = json.dumps(spec, allow_nan=False)
    assert strict_json(text) == spec
    assert "://" not in text


def test_a_mark_says_what_it_stands_for() -> None:
    spec = stall_map([mark(requests=7, tpot_low_ns=10.0 * MS, worst_gap_high_ns=None)], {}, {})
    (found,) = data(spec, "request")
    assert found["request"] == "a"
    assert found["average"] == "10 ms to 20 ms"
    assert found["longest"] == "≥ 80 ms"
    assert found["falls"] == "after token 5"
    assert found["requests"] == 7
    assert (found["tpot"], found["worst"]) == (20, 80)


def test_a_long_request_id_is_cut() -> None:
    (found,) = data(stall_map([mark(request_id="r" * 500)], {}, {}), "request")
    assert found["request"] == "r" * 47 + "…"


def test_an_open_average_is_drawn_as_a_line_where_marks_are_single() -> None:
    open_average = mark(tpot_low_ns=10.0 * MS)
    shared = mark(tpot_low_ns=10.0 * MS, requests=2)
    spec = stall_map([open_average, shared, mark()], {}, {})
    assert [row for row in data(spec, "low", "tpot") if "request" not in row] == [
        {"low": 10, "tpot": 20, "worst": 80}
    ]


def test_places_differ_in_shape_and_undecided_ones_are_hollow() -> None:
    places = ["meets", "average", "both", "undecided", "possible", "hidden"]
    spec = stall_map([mark(place) for place in reversed(places)], {}, {})
    shapes, fills = shown(spec, "shape"), shown(spec, "fill")
    assert len({shapes[place] for place in ("meets", "average", "both", "hidden")}) == 4
    assert {place for place in places if fills[place] == "transparent"} == {"undecided", "possible"}
    assert [row["place"] for row in data(spec, "request")] == places  # stalls are drawn last


def test_domains_hold_all_marks_and_both_sides_of_a_limit() -> None:
    marks = [mark(), mark(tpot_high_ns=2.0 * MS, worst_gap_low_ns=3000 * MS)]
    spec = stall_map(marks, {"tpot": 50 * MS, "worst_gap": 500 * MS}, {})
    low, high = scale(spec, "x")
    assert low < 2
    assert high > 50
    low, high = scale(spec, "y")
    assert low < 80
    assert high > 3000
    assert lines(spec) == {"x": {50}, "y": {500}}


def test_corners_are_named() -> None:
    corners = {"top left": ("hidden", ["meets average,", "misses worst gap: 3"])}
    spec = stall_map([mark("hidden")], {"tpot": 50 * MS}, corners)
    assert "meets average, misses worst gap: 3" in written(spec)


@pytest.mark.parametrize(
    ("worst_ms", "drawn"),
    [(30, ["worst gap = average"]), (2000, ["worst gap = average", "10 times", "100 times"])],
)
def test_ratios_are_drawn_as_far_as_the_plot_goes(worst_ms: int, drawn: list[str]) -> None:
    low = mark(tpot_high_ns=10.0 * MS, worst_gap_low_ns=15 * MS)
    high = mark(worst_gap_low_ns=worst_ms * MS)  # over an average of 20 ms
    assert written(stall_map([low, high], {}, {})) == drawn


def test_the_curve_ends_at_the_longest_gap_with_the_share_before_it() -> None:
    spec = survival(steps(10, 20, 20.5, 900), {})
    curve = data(spec, "gap", "share")
    assert [(row["gap"], row["share"]) for row in curve[1:5]] == [
        (10, 0.75), (20, 0.5), (20.5, 0.25), (900, 0.25),
    ]  # fmt: skip
    assert curve[0]["share"] == 1
    assert curve[0]["gap"] < 10
    assert curve[4]["longer"] == "0 of 4 (0 %)"
    assert "worst gap 900 ms" in written(spec)
    assert scale(spec, "y")[0] < 0.25


def test_gaps_of_one_read_lie_left_of_the_axis_and_keep_their_share() -> None:
    spec = survival(steps(0, 0.001, 10, 20), {})
    curve = data(spec, "gap", "share")
    assert (curve[0]["gap"], curve[0]["share"]) == (0.1, 0.5)
    assert scale(spec, "x")[0] == 0.1


def test_equal_gaps_still_make_a_curve() -> None:
    spec = survival([{"gap_ns": 10 * MS, "gaps": 5, "longer": 0}], {"worst_gap": 50 * MS})
    assert {row["share"] for row in data(spec, "gap", "share")} == {1}
    assert lines(spec) == {"x": {50}, "y": set()}
