"""Chart of the three promises: verdicts as a matrix, and beside each row how many requests."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import LINE, TEXT, Layer, Spec, over, specification
from tokengap.report.theme import PLACES, Place
from tokengap.report.words import interval, plain, shortened
from tokengap.units import format_count, format_duration, format_share

COLUMNS: Final = {"average": "tpot", "own_p99": "gap_p99", "worst": "worst_gap"}
"""Columns of the query `tpot_promises`, and the statistic that each is the verdict on."""
VERDICTS: Final = {
    "met": PLACES["meets"],
    "missed": PLACES["hidden"],
    "unknown": PLACES["undecided"],
}
_HEADS: Final = {"average": "average", "own_p99": "own p99", "worst": "worst gap"}
_STEP: Final = 62  # pixels from column to column
_ROW: Final = 27  # pixels from row to row
_BARS_FROM: Final = _STEP * len(COLUMNS) + 8
_LABEL_ROOM: Final = 92  # pixels behind the longest bar


def promises_matrix(rows: Sequence[Row], limits: Mapping[str, int]) -> Spec:
    """One row per combination of verdicts, with a bar for its requests.

    rows: of the query `tpot_promises`. limits: in ns, by statistic.
    """
    total = sum(row["requests"] for row in rows)
    bars = [_bar(number, row, total) for number, row in enumerate(rows)]
    layers = [_lines(bars), *_marks(rows), *_bars(bars), *_heads(limits)]
    return specification(
        layers,
        _ROW * len(rows),
        f"Which of three promises {format_count(total)} completed requests keep.",
        framed=False,
    )


def _y() -> alt.Y:
    return alt.Y("row:O", axis=None, scale=alt.Scale(paddingInner=0.45, paddingOuter=0.25))


def _at(column: str) -> float:
    return _STEP * (list(COLUMNS).index(column) + 0.5)


def _bar(number: int, row: Row, total: int) -> Row:
    counted = format_count(row["requests"])
    part = f" ({format_share(row['requests'] / total)})" if row["requests"] else ""
    return {
        "row": number,
        "requests": row["requests"],
        "count": counted + part,
        "place": _place(row),
        "longest": interval(row["longest_ns"], row["longest_ns"]),
        "request": shortened(plain(row["request_id"] or "-")),
    } | {column: row[column] or "does not apply" for column in COLUMNS}


def _place(row: Row) -> str:
    """A key of `PLACES`, for the bar's colour: what only the average hides stands out."""
    verdicts = [row[column] for column in COLUMNS]
    if "missed" in verdicts:
        return "hidden" if row["average"] == "met" else "both"
    return "meets" if set(verdicts) == {"met"} else "undecided"


def _lines(bars: Sequence[Row]) -> Layer:
    rows = [{"row": bar["row"]} for bar in bars]
    return (
        over(rows)
        .mark_rule(stroke="var(--grid)", strokeWidth=1)
        .encode(y=_y(), x=alt.value(_at("average")), x2=alt.value(_BARS_FROM))
    )


def _marks(rows: Sequence[Row]) -> Iterator[Layer]:
    for verdict, place in VERDICTS.items():
        spots = [
            {"row": number, "at": _at(column)}
            for number, row in enumerate(rows)
            for column in COLUMNS
            if row[column] == verdict
        ]
        if spots:
            yield _spots(spots, place)


def _spots(spots: Sequence[Row], place: Place) -> Layer:
    fill = "var(--card)" if place.hollow else place.colour
    return (
        over(spots)
        .mark_point(
            shape=place.path, fill=fill, stroke=place.colour, opacity=1, size=120, strokeWidth=1.5
        )
        .encode(y=_y(), x=alt.X("at:Q", scale=None, axis=None))
    )


def _bars(bars: Sequence[Row]) -> tuple[Layer, Layer]:
    most = max((bar["requests"] for bar in bars), default=0) or 1
    scale = alt.Scale(
        domain=[0, most],
        range=[_BARS_FROM, alt.ExprRef(f"width - {_LABEL_ROOM}")],
        nice=False,
    )
    x = alt.X("requests:Q", scale=scale, axis=None)
    colours = alt.Scale(domain=[*PLACES], range=[place.colour for place in PLACES.values()])
    fill = alt.Fill("place:N", scale=colours, legend=None)
    drawn = over(bars).encode(y=_y(), x=x, tooltip=_tooltip())
    return (
        drawn.mark_bar(cornerRadiusEnd=2).encode(fill=fill),
        drawn.mark_text(align="left", baseline="middle", dx=7, **TEXT).encode(text="count:N"),
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("count:N", title="requests"),
        *(alt.Tooltip(f"{column}:N", title=_HEADS[column]) for column in COLUMNS),
        alt.Tooltip("longest:N", title="longest worst gap"),
        alt.Tooltip("request:N", title="of request"),
    ]


def _heads(limits: Mapping[str, int]) -> Iterator[Layer]:
    for column, statistic in COLUMNS.items():
        lines = [_HEADS[column], f"≤ {format_duration(limits[statistic])}"]
        yield _head(lines, _at(column), "center", "var(--ink)")
    key = ["completed requests", "● met  ◆ missed", "○ not decided"]
    yield _head(key, _BARS_FROM, "left", "var(--muted)")


def _head(lines: list[str], x: float, align: Any, fill: str) -> Layer:
    return (
        over([{}])
        .mark_text(
            text=lines, align=align, baseline="line-bottom", dy=-6 - LINE * (len(lines) - 1),
            lineHeight=LINE,
            fill=fill, fontWeight=600, fontSize=11,
        )
        .encode(x=alt.value(x), y=alt.value(0))
    )  # fmt: skip
