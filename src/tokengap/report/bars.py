"""Rows of bars, each under a name and a line of facts: readable where a page is narrow.

Rows are told by `rank`. Heads have `name` and `facts`, pieces `start` and `end` in ms; both have
`kind` (a key of `PIECES`) and how `solid` it is.
"""

from collections.abc import Mapping
from typing import Any, Final

import altair as alt

from tokengap.report.layers import TEXT, Layer
from tokengap.report.theme import MS_FROM_0, PIECES

STEP: Final = 58  # pixels from one row to the next
_NAME, _FACTS, _BAR = -18, -2, 16  # pixels from the middle of a row
_THICK: Final = 13
_MARK: Final = 5  # pixels from the left to the middle of a mark


def pieces(rows: alt.Chart, title: str, tooltip: Mapping[str, str]) -> Layer:
    """The bars. title: of the time axis. tooltip: titles by field."""
    axis = alt.Axis(title=title, labelExpr=MS_FROM_0, tickCount=alt.ExprRef("ceil(width / 120)"))
    return rows.mark_bar(height=_THICK, yOffset=_BAR, strokeWidth=1.2).encode(
        x=alt.X("start:Q", axis=axis, scale=alt.Scale(nice=False)),
        x2="end:Q",
        y=_row(),
        **_coloured(),
        tooltip=[alt.Tooltip(f"{field}:N", title=title) for field, title in tooltip.items()],
    )


def heads(rows: alt.Chart) -> tuple[Layer, ...]:
    """The names; the facts, each with a mark of the colour of the bar that they are about."""
    mark = rows.mark_point(
        shape="square", size=64, strokeWidth=1.2, opacity=1, yOffset=_FACTS
    ).encode(x=alt.value(_MARK), y=_row(), **_coloured())
    return (
        _line(rows, "name", 0, _NAME, fontWeight=600),
        mark,
        _line(rows, "facts", 3 * _MARK, _FACTS),
    )


def _line(rows: alt.Chart, field: str, x: int, y: int, **look: Any) -> Layer:
    """A line of text above each bar, cut where the plot ends."""
    return rows.mark_text(
        align="left",
        baseline="middle",
        yOffset=y,
        limit=alt.ExprRef(f"width - {x}"),
        **(TEXT | look),
    ).encode(x=alt.value(x), y=_row(), text=f"{field}:N")


def _row() -> alt.Y:
    return alt.Y("rank:O", axis=None, scale=alt.Scale(padding=0))


def _coloured() -> dict[str, Any]:
    colours = [piece.colour for piece in PIECES.values()]
    by_kind: dict[str, Any] = {"scale": alt.Scale(domain=[*PIECES], range=colours), "legend": None}
    return {
        "fill": alt.Fill("kind:N", **by_kind),
        "stroke": alt.Stroke("kind:N", **by_kind),
        "fillOpacity": alt.FillOpacity("solid:Q", scale=None),
    }
