"""Chart of load and gaps over time: plots that stand on one another over one time axis."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import (
    TEXT,
    Draw,
    Layer,
    Limits,
    Panel,
    Spec,
    horizontal_limit,
    in_ms,
    over,
    stacked,
)
from tokengap.report.theme import COUNT_LABEL, MS, PLACES, domain
from tokengap.report.words import interval
from tokengap.units import format_count, format_duration

SERIES: Final = {
    "arrivals": "arrivals, requests",
    "running_streams": "running streams, most at once",
    "prefill_tokens": "prompt tokens in prefill, most at once",
}
"""Columns of the query `load_over_time` that have a plot of their own, and what it is called."""
_GAPS_HEIGHT: Final = 190
_SERIES_HEIGHT: Final = 62
_S: Final = 1_000_000_000  # ns
_UNITS: Final = ((300, 1, "s"), (5 * 3600, 60, "min"), (float("inf"), 3600, "h"))
"""(seconds that a span in this unit stays under, seconds of the unit, its name)."""
_DATES: Final = ((600, "%H:%M:%S"), (2 * 86_400, "%H:%M"), (float("inf"), "%Y-%m-%d"))
"""(seconds that a span stays under, how its ticks are written)."""


def load_chart(rows: Sequence[Row], limits: Limits) -> Spec:
    """Gaps above what was asked of the servers meanwhile.

    rows: of the query `load_over_time`, at least one. limits: those drawn among the gaps; a
    longest gap over the one on the worst gap stands out.
    """
    clock = _Clock(rows)
    worst_ns = limits.get("worst_gap")
    data = [_stretch(row, clock, worst_ns) for row in rows]
    panels = [
        Panel(title, _SERIES_HEIGHT, _series(data, column, clock))
        for column, title in SERIES.items()
        if rows[0][column] is not None
    ]
    if any(d["longest"] for d in data):
        panels.insert(0, _gaps(data, limits, clock))
    return stacked(panels, "Gaps and load over time.", [_hover(data, clock)])


class _Clock:
    """The time axis: UTC where the clock knows the date, else the time since the first stamp."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.start_ns: int = rows[0]["start_ns"]
        self.end_ns: int = rows[-1]["end_ns"]
        self.dated = rows[0]["clock_kind"] == "wall"
        span_s = (self.end_ns - self.start_ns) / _S
        self.unit_s, self.unit = next((s, name) for under, s, name in _UNITS if span_s < under)
        self.written = next(text for under, text in _DATES if span_s < under)

    def at(self, ns: int) -> float:
        """Where a time lies on the axis."""
        return ns / MS if self.dated else (ns - self.start_ns) / _S / self.unit_s

    def named(self, ns: int) -> str:
        """A time in words."""
        if self.dated:
            return f"{datetime.fromtimestamp(ns / _S, UTC):%Y-%m-%d %H:%M:%S} UTC"
        return f"{format_duration(ns - self.start_ns)} after the start"

    def channel(self, field: str) -> alt.X:
        """The x channel, the same for all plots."""
        ends = [self.at(self.start_ns), self.at(self.end_ns)]
        if not self.dated:
            axis = alt.Axis(
                title=f"time since the first stamp, {self.unit}", grid=False, tickCount=8,
                labelExpr=f"datum.label + ' {self.unit}'",
            )  # fmt: skip
            return alt.X(f"{field}:Q", scale=alt.Scale(domain=ends, nice=False), axis=axis)
        first, last = (f"{datetime.fromtimestamp(ns / _S, UTC):%Y-%m-%d}" for ns in self._ends())
        days = first if first == last else f"{first} to {last}"
        axis = alt.Axis(
            title=f"time, UTC, {days}", grid=False, tickCount=8,
            labelExpr=f"utcFormat(datum.value, '{self.written}')",
        )  # fmt: skip
        scale = alt.Scale(type="utc", domain=ends, nice=False)
        return alt.X(f"{field}:T", scale=scale, axis=axis)

    def _ends(self) -> tuple[int, int]:
        return self.start_ns, self.end_ns


def _stretch(row: Row, clock: _Clock, worst_ns: int | None) -> Row:
    longest_ns, p99_ns = row["longest_gap_ns"], row["gap_p99_high_ns"]
    middle_ns = (row["start_ns"] + row["end_ns"]) // 2
    return {
        "from": clock.at(row["start_ns"]),
        "to": clock.at(row["end_ns"]),
        "middle": clock.at(middle_ns),
        "zero": 0,
        **{column: row[column] for column in SERIES},
        "longest": longest_ns / MS if longest_ns else None,
        "p99": p99_ns / MS if p99_ns else None,
        "over": worst_ns is not None and (longest_ns or 0) > worst_ns,
        "when": clock.named(row["start_ns"]),
        "gap": interval(longest_ns, longest_ns),
        "most": interval(p99_ns, p99_ns),
        "gaps": format_count(row["gaps"]),
    } | {f"{column} shown": _shown(row[column]) for column in SERIES}


def _shown(count: int | None) -> str:
    return "-" if count is None else format_count(count)


def _gaps(data: Sequence[Row], limits: Limits, clock: _Clock) -> Panel:
    drawn = [d for d in data if d["longest"]]
    values = [v for d in drawn for v in (d["longest"], d["p99"]) if v]
    y = domain([*values, *(ns / MS for ns in limits.values())], 0.08, 0.16)
    over_limit = "  ◆ over limit" if "worst_gap" in limits else ""

    def draw(pixels: list[int]) -> Sequence[Layer]:
        channel = in_ms("longest", "", y)
        channel["scale"].range = pixels
        channel["axis"].title = None
        channel["axis"].orient = "left"
        return [
            *(part for name, ns in limits.items() for part in horizontal_limit(name, ns)),
            over(data)
            .transform_filter("datum.p99 > 0")
            .mark_rule(stroke=PLACES["both"].colour, strokeWidth=2)
            .encode(x=clock.channel("from"), x2="to", y="p99:Q"),
            *_longest(data, alt.Y(**channel), clock),
        ]

    return Panel(f"gaps:  ● longest{over_limit}  ━ p99", _GAPS_HEIGHT, draw)


def _longest(data: Sequence[Row], y: alt.Y, clock: _Clock) -> Iterator[Layer]:
    for asked, key in (("!datum.over", "meets"), ("datum.over", "hidden")):
        place = PLACES[key]
        yield (
            over(data)
            .transform_filter(f"datum.longest > 0 && {asked}")
            .mark_point(shape=place.path, fill=place.colour, stroke=None, opacity=0.9, size=22)
            .encode(x=clock.channel("middle"), y=y)
        )
    top = max(data, key=lambda d: d["longest"] or 0)
    late = top["middle"] - data[0]["from"] > data[-1]["to"] - top["middle"]
    yield (
        over([{key: top[key] for key in ("middle", "longest")}])
        .mark_text(
            text=top["gap"], align="right" if late else "left", baseline="bottom",
            dx=-6 if late else 6, dy=-3, fontWeight=600,
            fill=PLACES["hidden" if top["over"] else "meets"].colour, **TEXT,
        )
        .encode(x=clock.channel("middle"), y=y)
    )  # fmt: skip


def _series(data: Sequence[Row], column: str, clock: _Clock) -> Draw:
    most = max(d[column] for d in data)

    def draw(pixels: list[int]) -> Sequence[Layer]:
        top = max(most, 1)
        axis = alt.Axis(title=None, orient="left", values=[0, top], labelExpr=COUNT_LABEL)
        scale = alt.Scale(domain=[0, top], range=pixels, nice=False)
        y = alt.Y(f"{column}:Q", scale=scale, axis=axis)
        bars = over(data).transform_filter(f"datum.{column} > 0")
        bars = bars.mark_rect(fill="var(--met)", opacity=0.75)
        return [bars.encode(x=clock.channel("from"), x2="to", y=y, y2="zero")]

    return draw


def _hover(data: Sequence[Row], clock: _Clock) -> Layer:
    """Over the whole height of a stretch of time: all that is known of it."""
    told: Mapping[str, str] = {
        "when": "from",
        "gap": "longest gap",
        "most": "p99 of gaps",
        "gaps": "gaps ended",
        **{f"{column} shown": title for column, title in SERIES.items()},
    }
    return (
        over(data)
        .mark_rect(opacity=0)
        .encode(
            x=clock.channel("from"),
            x2="to",
            y=alt.value(0),
            y2=alt.value("height"),
            tooltip=[alt.Tooltip(f"{field}:N", title=title) for field, title in told.items()],
        )
    )
