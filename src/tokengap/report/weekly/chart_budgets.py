"""Chart of error budgets: what was spent before, what this week, and what is left."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import TEXT, Layer, Spec, over, specification
from tokengap.report.theme import SHARE_LABEL, squares

PARTS: Final = squares({"earlier": "ttft", "this week": "met", "over": "hidden", "left": "steady"})
"""Parts of a bar, and their marks in the legend."""
_STEP: Final = 46  # pixels from row to row
_MOST: Final = 2.0  # budgets that the axis holds
_THICK: Final = 14
_NAME, _BAR = -9, 9  # pixels from the middle of a row
_LETTER: Final = 7  # pixels, at most, of what stands at the right


def budgets_chart(rows: Sequence[Row]) -> Spec:
    """One bar a promise.

    rows: each with name, said, and the parts of its budget that were spent_before and
    spent_this_week, 1 being all of it.
    """
    drawn = pieces(rows)
    most = max(1.0, *(piece["end"] for piece in drawn))
    layers = [_bars(drawn, most), *_whole(most), *_names(rows)]
    return specification(
        layers, _STEP * len(rows), "Error budgets: spent before, this week, and left.", framed=False
    )


def pieces(rows: Sequence[Row]) -> list[Row]:
    """The parts of all bars, each of a kind of `PARTS`."""
    return [piece for rank, row in enumerate(rows) for piece in _pieces(rank, row)]


def _pieces(rank: int, row: Row) -> Iterator[Row]:
    before, week = row["spent_before"], row["spent_this_week"]
    spent = before + week
    ends = {
        "earlier": (0.0, min(before, 1.0)),
        "this week": (min(before, 1.0), min(spent, 1.0)),
        "over": (1.0, spent),
        "left": (min(spent, 1.0), 1.0),
    }
    for part, (start, end) in ends.items():
        if start < min(end, _MOST):
            yield {
                "rank": rank, "part": part, "start": start, "end": min(end, _MOST),
                "name": row["name"], "said": row["said"],
            }  # fmt: skip


def _y() -> alt.Y:
    return alt.Y("rank:O", axis=None, scale=alt.Scale(padding=0))


def _x(field: str, most: float, **axis: Any) -> alt.X:
    shown = alt.Axis(title="share of the error budget", labelExpr=SHARE_LABEL, **axis)
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, most], nice=False), axis=shown)


def _bars(drawn: Sequence[Row], most: float) -> Layer:
    colours = alt.Scale(domain=[*PARTS], range=[place.colour for place in PARTS.values()])
    return (
        over(drawn)
        .mark_bar(height=_THICK, yOffset=_BAR)
        .encode(
            x=_x("start", most, tickCount=alt.ExprRef("ceil(width / 160)")),
            x2="end",
            y=_y(),
            fill=alt.Fill("part:N", scale=colours, legend=None),
            tooltip=[
                alt.Tooltip("name:N", title="promise"),
                alt.Tooltip("said:N", title="budget"),
            ],
        )
    )


def _whole(most: float) -> Iterator[Layer]:
    """Where a budget ends, if bars go on."""
    if most > 1:
        line = over([{"whole": 1.0}]).encode(x=alt.X("whole:Q"))
        yield line.mark_rule(stroke="var(--ink)", strokeDash=[5, 4])
        yield line.mark_text(
            text="the whole budget", align="center", baseline="bottom", dy=-4, **TEXT
        ).encode(y=alt.value(0))


def _names(rows: Sequence[Row]) -> Iterator[Layer]:
    named = over([{"rank": rank, **row} for rank, row in enumerate(rows)]).encode(y=_y())
    limit = alt.ExprRef(f"width - {_LETTER * (1 + max(len(row['said']) for row in rows))}")
    look: dict[str, Any] = {"baseline": "middle", "yOffset": _NAME, **TEXT}
    yield named.mark_text(align="left", fontWeight=600, limit=limit, **look).encode(
        x=alt.value(0), text="name:N"
    )
    yield named.mark_text(align="right", **look).encode(x=alt.value("width"), text="said:N")
