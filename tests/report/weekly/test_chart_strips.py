"""Where strips put their marks."""

import pytest

from tests.report.html import data
from tokengap.report.weekly.chart_strips import Mark, Plot, Strip, around, from_0, strips, ticks


def plot(*slots: int, of: int = 4, target: float | None = None) -> Plot:
    marks = [Mark(n, 0.5, 0.25, 1.5, "meets", {"when": str(n)}) for n in slots]
    return Plot([f"s{n}" for n in range(of)], marks, (0.0, 1.0), {0.5: "half"}, target)


def test_marks_lie_in_their_slot_and_within_their_strip() -> None:
    drawn = strips([Strip("a", "", (plot(0, 3), plot(1))), Strip("b", "", (plot(), plot()))], "")
    marks = data(drawn, "y_low")
    first, last, right = sorted(marks[:3], key=lambda row: row["x"])
    end = (1 - 0.13) / 2  # two plots as wide, and the gutter
    assert first["x"] == pytest.approx(end * 0.5 / 4)
    assert last["x"] == pytest.approx(end * 3.5 / 4)
    assert right["x"] == pytest.approx(end + 0.13 + end * 1.5 / 4)
    assert (first["y"], first["y_low"], first["y_high"]) == (34 + 29, 34 + 43.5, 34)  # 58 high
    assert drawn["height"] == 2 * (34 + 58)


def test_a_line_ends_where_a_slot_is_empty() -> None:
    drawn = strips([Strip("a", "", (plot(0, 1, 3), plot()))], "")
    lines = {row["when"]: row["line"] for row in data(drawn, "line")}
    assert lines["0"] == lines["1"] != lines["3"]


def test_a_target_is_drawn_over_both_plots_and_named_between() -> None:
    both = (plot(0, target=0.75), plot(0, target=0.75))
    drawn = strips([Strip("a", "", both, between="75 %")], "")
    rules = [row for row in data(drawn, "from", "to", "y") if "label" not in row]
    assert [row["y"] for row in rules] == [34 + 14.5] * 2
    (name,) = (row for row in data(drawn, "label") if row["label"] == "75 %")
    assert name["y"] == 34 + 14.5


@pytest.mark.parametrize(
    ("domain", "marks"),
    [((0.9, 1.0), [0.9, 0.95, 1.0]), ((0.0, 0.07), [0.0, 0.05]), ((0.988, 0.9965), [0.99, 0.995])],
)
def test_ticks_are_few_and_round(domain: tuple[float, float], marks: list[float]) -> None:
    assert ticks(domain) == marks


def test_domains_hold_their_values() -> None:
    low, high = around([0.9, 1.0], most=1.0)
    assert low < 0.9
    assert high == 1.0
    assert around([0.5])[0] < 0.5 < around([0.5])[1]
    assert from_0([]) == (0.0, 1.0)
    assert from_0([2.0])[1] == pytest.approx(2.2)
