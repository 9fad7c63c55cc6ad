"""Small multiples over time: strips that stand on one another, each of two plots side by side.

One form for attainment, goodput and cost. Places are worked out here, in pixels from the top and in
parts of the width, so that a chart of any number of strips is a handful of layers.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import TEXT, Layer, Spec, over, specification
from tokengap.report.theme import PLACES, Place

_TITLE: Final = 34  # pixels above a strip that its title and some air take
_HEIGHT: Final = 58
_FOOT: Final = 6  # pixels from the last strip to the names of days and weeks
_TICK_ROOM: Final = 52  # pixels to the left of the first plot
_RIGHT_ROOM: Final = 10
_GUTTER: Final = 0.13  # part of the width between the two plots
_LETTER: Final = 7  # pixels, at most, of what stands at a title's right
_WIDE: Final = 640  # pixels from which on every slot is named
_EVERY: Final = 3  # slots of which one is named where it is narrower
_STEPS: Final = (1, 2, 5)
_MOST_TICKS: Final = 3


@dataclass(frozen=True)
class Mark:
    """A value in a slot of a plot, with its interval. told: what a tooltip says, by title."""

    slot: int
    value: float
    low: float
    high: float
    place: str
    told: Mapping[str, str]


@dataclass(frozen=True)
class Plot:
    """Marks over slots with a scale of their own. target: where a dashed line lies."""

    slots: Sequence[str]
    marks: Sequence[Mark]
    domain: tuple[float, float]
    ticks: Mapping[float, str]
    target: float | None = None


@dataclass(frozen=True)
class Strip:
    """Two plots under one title. said: at its right. between: names the line, between the plots."""

    title: str
    said: str
    plots: tuple[Plot, Plot]
    between: str = ""


def strips(drawn: Sequence[Strip], description: str) -> Spec:
    """The chart. At least one strip; all have the same slots."""
    tops = [_TITLE + n * (_HEIGHT + _TITLE) for n in range(len(drawn))]
    height = tops[-1] + _HEIGHT
    placed = [
        _Placed(strip, plot, region, top, side)
        for strip, top in zip(drawn, tops, strict=True)
        for side, (plot, region) in enumerate(zip(strip.plots, _regions(strip), strict=True))
    ]
    layers = [
        *_frames(placed),
        *_targets(placed),
        *_marks([row for each in placed for row in each.marks()]),
        *_titles(drawn, tops),
        *_slots(drawn[0], height),
    ]
    return specification(layers, height, description, framed=False)


@dataclass(frozen=True)
class _Placed:
    strip: Strip
    plot: Plot
    region: tuple[float, float]
    top: int
    side: int

    def x(self, slot: int) -> float:
        start, end = self.region
        return start + (end - start) * (slot + 0.5) / len(self.plot.slots)

    def y(self, value: float) -> float:
        low, high = self.plot.domain
        part = (min(max(value, low), high) - low) / (high - low)
        return self.top + _HEIGHT * (1 - part)

    def marks(self) -> Iterator[Row]:
        line, last = 0, -1
        for mark in self.plot.marks:
            line += mark.slot != last + 1  # a line ends where a slot is empty
            last = mark.slot
            yield {
                "x": self.x(mark.slot),
                "y": self.y(mark.value),
                "y_low": self.y(mark.low),
                "y_high": self.y(mark.high),
                "place": mark.place,
                "line": f"{self.top} {self.side} {line}",
                "name": self.strip.title,
                **mark.told,
            }


def _regions(strip: Strip) -> tuple[tuple[float, float], tuple[float, float]]:
    """Parts of the width that the plots take, as many slots as they have."""
    left, right = (len(plot.slots) for plot in strip.plots)
    end = (1 - _GUTTER) * left / (left + right)
    return (0.0, end), (end + _GUTTER, 1.0)


def _x(field: str) -> alt.X:
    ends: list[Any] = [_TICK_ROOM, alt.ExprRef(f"width - {_RIGHT_ROOM}")]
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, 1], range=ends, nice=False), axis=None)


def _y(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=None, axis=None)


def _frames(placed: Sequence[_Placed]) -> Iterator[Layer]:
    """Lines of the ticks, and what they stand for."""
    rows = [
        {"from": each.region[0], "to": each.region[1], "y": each.y(tick), "label": label}
        for each in placed
        for tick, label in each.plot.ticks.items()
    ]
    lines = over(rows).encode(x=_x("from"), y=_y("y"))
    yield lines.mark_rule(stroke="var(--grid)").encode(x2="to")
    look: dict[str, Any] = {"fill": "var(--muted)", "fontSize": 11}
    yield lines.mark_text(align="right", baseline="middle", dx=-7, **look).encode(text="label:N")


def _targets(placed: Sequence[_Placed]) -> Iterator[Layer]:
    lines = [each for each in placed if each.plot.target is not None]
    rows = [
        {"from": each.region[0], "to": each.region[1], "y": each.y(each.plot.target or 0.0)}
        for each in lines
    ]
    if rows:
        ruled = over(rows).mark_rule(stroke="var(--ink)", strokeDash=[5, 4])
        yield ruled.encode(x=_x("from"), x2="to", y=_y("y"))
        names = [
            {"x": each.region[1] + _GUTTER / 2, "y": row["y"], "label": each.strip.between}
            for row, each in zip(rows, lines, strict=True)
            if each.side == 0
        ]
        named = over(names).mark_text(baseline="middle", fontWeight=600, fontSize=11)
        yield named.encode(x=_x("x"), y=_y("y"), text="label:N")


def _marks(rows: Sequence[Row]) -> Iterator[Layer]:
    if not rows:
        return
    told = [name for name in rows[0] if name not in _DRAWN]
    tooltip = [alt.Tooltip(f"{name}:N", title=name) for name in told]
    drawn = over(rows).encode(x=_x("x"))
    yield drawn.mark_line(stroke="var(--muted)", strokeWidth=1.2, opacity=0.7).encode(
        y=_y("y"), detail="line:N"
    )
    yield drawn.mark_rule(stroke="var(--muted)", opacity=0.7).encode(y=_y("y_low"), y2="y_high")
    places = [place for key, place in PLACES.items() if any(row["place"] == key for row in rows)]
    yield drawn.mark_point(opacity=1, size=38).encode(
        y=_y("y"),
        fill=alt.Fill(**_by_place(places, [place.colour for place in places])),
        stroke=alt.Stroke(**_by_place(places, [place.colour for place in places])),
        shape=alt.Shape(**_by_place(places, [place.path for place in places])),
        tooltip=tooltip,
    )


def _by_place(places: Sequence[Place], looks: list[str]) -> dict[str, Any]:
    scale = alt.Scale(domain=[place.key for place in places], range=looks)
    return {"shorthand": "place:N", "scale": scale, "legend": None}


_DRAWN: Final = frozenset({"x", "y", "y_low", "y_high", "place", "line"})


def _titles(drawn: Sequence[Strip], tops: Sequence[int]) -> Iterator[Layer]:
    rows = [
        {"y": top - 9, "title": strip.title, "said": strip.said}
        for strip, top in zip(drawn, tops, strict=True)
    ]
    named = over(rows).encode(y=_y("y"))
    limit = alt.ExprRef(f"width - {_LETTER * (2 + max(len(strip.said) for strip in drawn))}")
    yield named.mark_text(
        align="left", baseline="bottom", fontWeight=600, limit=limit, **TEXT
    ).encode(x=alt.value(0), text="title:N")
    yield named.mark_text(align="right", baseline="bottom", **TEXT).encode(
        x=alt.value("width"), text="said:N"
    )


def _slots(strip: Strip, height: int) -> Iterator[Layer]:
    """The names of slots under the last strip: some of them where it is narrow."""
    sides = [
        _Placed(strip, plot, region, 0, side)
        for side, (plot, region) in enumerate(zip(strip.plots, _regions(strip), strict=True))
    ]
    rows = [
        {"x": side.x(slot), "label": label, "always": _is_always_named(slot, side.plot)}
        for side in sides
        for slot, label in enumerate(side.plot.slots)
    ]
    look: dict[str, Any] = {"fill": "var(--muted)", "fontSize": 11, "baseline": "top"}
    for always in (True, False):
        seen = 1 if always else alt.ExprRef(f"width < {_WIDE} ? 0 : 1")
        named = over([row for row in rows if row["always"] == always])
        if any(row["always"] == always for row in rows):
            yield named.mark_text(opacity=seen, **look).encode(
                x=_x("x"), y=alt.value(height + _FOOT), text="label:N"
            )


def _is_always_named(slot: int, plot: Plot) -> bool:
    return len(plot.slots[slot]) == 1 or (len(plot.slots) - 1 - slot) % _EVERY == 0


def around(values: Iterable[float], *, most: float = math.inf) -> tuple[float, float]:
    """A domain that holds the values with some room, and no more than can be."""
    seen = list(values)
    low, high = min(seen), max(seen)
    room = max((high - low) * 0.2, abs(high) * 1e-3)
    return low - room, min(high + room, most)


def from_0(values: Iterable[float]) -> tuple[float, float]:
    """A domain from 0 over the values."""
    return 0.0, max(values, default=0.0) * 1.1 or 1.0


def ticks(domain: tuple[float, float]) -> list[float]:
    """Two or three round values."""
    low, high = domain
    power = 10.0 ** math.floor(math.log10(high - low) - 1)
    steps = (step * power * 10.0**more for more in range(3) for step in _STEPS)
    return next(found for step in steps if len(found := _multiples(low, high, step)) <= _MOST_TICKS)


def _multiples(low: float, high: float, step: float) -> list[float]:
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [float(f"{number * step:.9g}") for number in numbers]
