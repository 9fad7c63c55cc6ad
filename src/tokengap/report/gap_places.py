"""Where in the stream the worst gap falls: a cell for each place and length, with its number."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import Layer, Limits, Spec, horizontal_limit, in_ms, over, specification
from tokengap.report.theme import MS
from tokengap.units import format_count, format_duration

_CELL: Final = 27  # pixels that a cell is high, where there is room
_HEIGHTS: Final = (240, 480)
_LENGTHS: Final = 10**0.2  # from one cell to the next
_SIZE: Final = alt.ExprRef("width < 320 ? 10 : 12")
_PLACE_LABEL: Final = (
    "width < 480 && indexof(datum.label, ' to ') > 0"
    " ? '≤' + peek(split(datum.label, ' to ')) : datum.label"
)
_SHADES: Final = [0.1, 0.6]  # so that the number can be read on all of them


def gap_places(cells: Sequence[Row], limits: Limits) -> Spec:
    """A heat map; cells: rows of the query `worst_gap_places`, with `name` of the longest gap.

    limits: those drawn as lines.
    """
    lines_ms = [ns / MS for ns in limits.values()]
    low = min([*(row["low_ns"] / MS for row in cells), *(at / _LENGTHS for at in lines_ms)])
    high = max([*(row["high_ns"] / MS for row in cells), *(at * _LENGTHS for at in lines_ms)])
    places = alt.X(
        "place:O",
        scale=alt.Scale(domain=_places(cells), padding=0),
        axis=alt.Axis(
            title="worst gap follows delivery",
            labelAngle=0,
            labelExpr=_PLACE_LABEL,
            labelFontSize=_SIZE,
            labelSeparation=2,
            grid=False,
        ),
    )
    at = over([_cell(row) for row in cells]).encode(
        x=places, y=alt.Y(**in_ms("low", "worst gap, per request", [low, high]))
    )
    return specification(
        [_shades(at, cells), *_lines(limits), _numbers(at)],
        _height(low, high),
        "How many worst gaps fall at each place of the stream, by length.",
    )


def _places(cells: Sequence[Row]) -> list[str]:
    """Every place up to the last one, hit or not."""
    ends = [1]
    while ends[-1] < max(row["last_gap"] for row in cells):
        ends.append(2 * ends[-1])
    return [_place(end) for end in ends]


def _place(last_gap: int) -> str:
    first = last_gap // 2 + 1
    return format_count(last_gap) if first == last_gap else f"{first} to {last_gap}"


def _cell(row: Row) -> Row:
    return {
        "place": _place(row["last_gap"]),
        "low": row["low_ns"] / MS,
        "high": row["high_ns"] / MS,
        "middle": (row["low_ns"] * row["high_ns"]) ** 0.5 / MS,
        "requests": row["requests"],
        "count": format_count(row["requests"]),
        "lengths": f"{format_duration(row['low_ns'])} to {format_duration(row['high_ns'])}",
        "longest": f"{format_duration(row['longest_ns'])}, {row['name']}",
    }


def _shades(at: Layer, cells: Sequence[Row]) -> Layer:
    most = max(row["requests"] for row in cells)
    shade = alt.Scale(type="sqrt", domain=[1, max(2, most)], range=_SHADES)
    return at.mark_rect(fill="var(--met)", stroke="var(--card)", strokeWidth=1).encode(
        y2="high:Q",
        fillOpacity=alt.FillOpacity("requests:Q", scale=shade, legend=None),
        tooltip=[
            alt.Tooltip("place:N", title="after delivery"),
            alt.Tooltip("lengths:N", title="worst gap"),
            alt.Tooltip("count:N", title="requests"),
            alt.Tooltip("longest:N", title="the longest"),
        ],
    )


def _lines(limits: Limits) -> Iterator[Layer]:
    """Limits as lines, named above the plot: within, names would hide numbers."""
    for statistic, limit_ns in limits.items():
        line, name = horizontal_limit(statistic, limit_ns)
        yield line
        yield name.encode(y=alt.value(0))


def _numbers(at: Layer) -> Layer:
    """How many requests, in each cell."""
    return (
        at.mark_text(fontSize=_SIZE).encode(y="middle:Q", text="count:N").properties(name="counts")
    )


def _height(low: float, high: float) -> int:
    rows = math.log(high / low, _LENGTHS)
    return round(min(max(_CELL * rows, _HEIGHTS[0]), _HEIGHTS[1]))
