"""Charts of the handoff: its stages one after another, and its length against what it carries."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

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
from tokengap.report.theme import BYTES_LABEL, COUNT_LABEL, MS, MS_LABEL, domain, powers_of_2, ticks
from tokengap.report.words import plain, shortened
from tokengap.units import format_bytes, format_count, format_duration

SIZES: Final = {
    "kv_bytes": ("KV cache handed over", format_bytes),
    "prompt_tokens": ("prompt tokens", format_count),
}
"""Measures of the query `handoff_by_size`: what it is called, and how a value is shown."""
_BAR: Final = 25  # pixels from bar to bar
_SCATTER_HEIGHT: Final = 190
_LABEL_ROOM: Final = 70  # pixels behind the longest bar
_LOOKS: Final = {
    "stage": ("var(--met)", "var(--met)"),
    "unaccounted": ("var(--grid)", "var(--undecided)"),
    "beside the sum": ("transparent", "var(--undecided)"),
    "whole": ("var(--both)", "var(--both)"),
}
"""Fill and stroke of a bar, by what it is."""


def waterfall(bars: Sequence[Row]) -> Spec:
    """Medians of stages, each where the ones before it end.

    bars: each with boundary, stage, kind (a key of `_LOOKS`), from_ns, p50_ns, max_ns, requests;
    those of a boundary together, at least one.
    """
    data = [_bar(bar) for bar in bars]
    ends = [d["to"] for d in data]
    scale = alt.Scale(
        domain=[0, max(ends) or 1], range=[0, alt.ExprRef(f"width - {_LABEL_ROOM}")], nice=False
    )
    label = f"datum.value ? {MS_LABEL} : '0'"
    axis = alt.Axis(title="median over requests", labelExpr=label, tickCount=5, grid=False)
    starts, ends_at = (alt.X(f"{end}:Q", scale=scale, axis=axis) for end in ("from", "to"))
    panels = []
    for boundary in dict.fromkeys(d["boundary"] for d in data):
        own = [d for d in data if d["boundary"] == boundary]
        panels.append(Panel(f"boundary {boundary}", _BAR * len(own), _bars(own, starts, ends_at)))
    return stacked(panels, "Median stages of the handoff, by boundary.")


def _bar(bar: Row) -> Row:
    return {
        "boundary": bar["boundary"],
        "stage": bar["stage"],
        "from": bar["from_ns"] / MS,
        "to": (bar["from_ns"] + bar["p50_ns"]) / MS,
        "median": format_duration(bar["p50_ns"]),
        "longest": format_duration(bar["max_ns"]),
        "kind": bar["kind"],
        "requests": format_count(bar["requests"]),
    }


def _by_kind(looks: Iterable[str]) -> dict[str, Any]:
    scale = alt.Scale(domain=list(_LOOKS), range=list(looks))
    return {"shorthand": "kind:N", "scale": scale, "legend": None}


def _bars(own: Sequence[Row], starts: alt.X, ends: alt.X) -> Draw:
    fills, strokes = zip(*_LOOKS.values(), strict=True)

    def draw(pixels: list[int]) -> Sequence[Layer]:
        scale = alt.Scale(range=pixels[::-1], paddingInner=0.35, paddingOuter=0.15)
        axis = alt.Axis(
            title=None, orient="left", domain=False, ticks=False, grid=False, labelPadding=8,
            labelLimit=130,
        )  # fmt: skip
        y = alt.Y("stage:N", sort=None, scale=scale, axis=axis)
        drawn = over(own).encode(
            x=starts,
            x2="to",
            y=y,
            tooltip=[
                alt.Tooltip("stage:N"),
                alt.Tooltip("median:N", title="median"),
                alt.Tooltip("longest:N", title="longest"),
                alt.Tooltip("requests:N", title="requests"),
                alt.Tooltip("kind:N", title="part of the sum"),
            ],
        )
        named = over(own).encode(x=ends, y=y, text="median:N")
        return [
            drawn.mark_bar(strokeWidth=1).encode(
                fill=alt.Fill(**_by_kind(fills)), stroke=alt.Stroke(**_by_kind(strokes))
            ),
            named.mark_text(align="left", baseline="middle", dx=6, **TEXT),
        ]

    return draw


def by_size(marks: Sequence[Row], limits: Limits) -> Spec:
    """The handoff against what it carries, a plot for each boundary.

    marks: rows of the query `handoff_by_size` of one measure, above 0 ns; at least one.
    limits: in ns by boundary.
    """
    measure = marks[0]["measure"]
    title, shown = SIZES[measure]
    data = [
        {
            "boundary": row["boundary"],
            "size": row["size"],
            "handoff": row["handoff_ns"] / MS,
            "requests": row["requests"],
            "request": shortened(plain(row["request_id"])),
            "lasted": format_duration(row["handoff_ns"]),
            "carried": shown(row["size"]),
        }
        for row in marks
    ]
    x = _size(measure, title, [row["size"] for row in marks])
    panels = []
    for boundary in dict.fromkeys(row["boundary"] for row in marks):
        own = [d for d in data if d["boundary"] == boundary]
        drawn = format_count(sum(d["requests"] for d in own))
        name = f"handoff by boundary {boundary}, n {drawn}"
        panels.append(Panel(name, _SCATTER_HEIGHT, _scatter(own, x, limits.get(boundary))))
    return stacked(panels, f"Handoff against {title}, by boundary.")


def _size(measure: str, title: str, sizes: Sequence[int]) -> alt.X:
    """The x channel: logarithmic where all sizes are above 0."""
    label = BYTES_LABEL if measure == "kv_bytes" else COUNT_LABEL
    if min(sizes) <= 0:
        axis = alt.Axis(title=title, labelExpr=label, grid=False, tickCount=6)
        return alt.X("size:Q", scale=alt.Scale(zero=True), axis=axis)
    ends = domain([float(size) for size in sizes], 0.06, 0.06)
    axis = alt.Axis(title=title, labelExpr=label, grid=False, values=_round(measure, ends))
    scale = alt.Scale(type="log", domain=ends, nice=False)
    return alt.X("size:Q", scale=scale, axis=axis)


def _round(measure: str, ends: Sequence[float]) -> list[float]:
    """Ticks within: powers of two of bytes, round counts."""
    if measure != "kv_bytes":
        return ticks(*ends)
    return powers_of_2(*ends)


def _scatter(own: Sequence[Row], x: alt.X, limit_ns: int | None) -> Draw:
    values = [d["handoff"] for d in own] + ([] if limit_ns is None else [limit_ns / MS])
    y = domain(values, 0.1, 0.15)
    most = max(d["requests"] for d in own)

    def draw(pixels: list[int]) -> Sequence[Layer]:
        channel = in_ms("handoff", "", y)
        channel["scale"].range = pixels
        channel["axis"].title = None
        channel["axis"].orient = "left"
        areas = [14, 200] if most > 1 else [34, 34]
        size = alt.Scale(type="linear", domain=[1, max(most, 2)], range=areas)
        points = (
            over(own)
            .mark_point(fill="var(--met)", stroke="var(--met)", fillOpacity=0.5, strokeWidth=1)
            .encode(
                x=x,
                y=alt.Y(**channel),
                size=alt.Size("requests:Q", scale=size, legend=None),
                tooltip=[
                    alt.Tooltip("request:N", title="request"),
                    alt.Tooltip("lasted:N", title="handoff"),
                    alt.Tooltip("carried:N", title="size"),
                    alt.Tooltip("requests:Q", title="requests behind the mark"),
                ],
            )
        )
        drawn = [] if limit_ns is None else [*horizontal_limit("handoff_gap", limit_ns)]
        return [*drawn, points]

    return draw
