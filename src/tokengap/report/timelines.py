"""The worst requests from start to end: a row for each request, a bar for each piece of it."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import TEXT, Layer, Spec, over, specification
from tokengap.report.theme import BASES, MS, MS_FROM_0, PIECES

ROWS: Final = 12
"""Requests that are shown until one is picked."""
_SHOWN: Final = (
    f"picked === 0 ? datum.rank > 0 && datum.rank <= {ROWS}"
    " : picked > 0 ? datum.rank === picked : datum.rank === 0"
)
_NOT_KEPT: Final[Row] = {
    "rank": 0, "name": "No timeline is kept for this point.",
    "facts": "The note below says which are."
}  # fmt: skip
_STEP: Final = 58  # pixels from one request to the next
_NAME, _FACTS, _BAR = -18, -2, 16  # pixels from the middle of a row
_THICK: Final = 13


def timelines(heads: Sequence[Row], pieces: Sequence[Row], since: str) -> Spec:
    """Each request as a row of bars, the longest gap first.

    heads: a row per request: rank, and in words name and facts. pieces: rank, kind (a key of
    `PIECES`), basis (of `BASES`), start_ns, end_ns, and in words request, what, took, begins.
    since: what the time counts from. The parameter `picked` is the rank of the one request that is
    shown; 0 for the worst ones, below for a point of which no timeline is kept. `step` is the
    height of a row.
    """
    layers = [_bars(pieces, since), _name(heads), _facts(heads)]
    height = _STEP * min(ROWS, len(heads))
    drawn = specification(layers, height, f"Where the time of {len(heads)} requests went.")
    params = [{"name": "picked", "value": 0}, {"name": "step", "value": _STEP}]
    return drawn | {"params": params}


def _bars(pieces: Sequence[Row], since: str) -> Layer:
    quiet = ("steady", "ttft")
    drawn = [
        {key: value for key, value in row.items() if not key.endswith("_ns")}
        | {"start": row["start_ns"] / MS, "end": row["end_ns"] / MS, "solid": BASES[row["basis"]]}
        for row in sorted(pieces, key=lambda row: row["kind"] not in quiet)
    ]
    axis = alt.Axis(title=since, labelExpr=MS_FROM_0, tickCount=alt.ExprRef("ceil(width / 120)"))
    return (
        over(drawn)
        .transform_filter(_SHOWN)
        .mark_bar(height=_THICK, yOffset=_BAR, strokeWidth=1.2)
        .encode(
            x=alt.X("start:Q", axis=axis, scale=alt.Scale(nice=False)),
            x2="end:Q",
            y=_row(),
            fill=alt.Fill("kind:N", **by_kind()),
            stroke=alt.Stroke("kind:N", **by_kind()),
            fillOpacity=alt.FillOpacity("solid:Q", scale=None),
            tooltip=[
                alt.Tooltip("request:N", title="request"),
                alt.Tooltip("what:N", title="what"),
                alt.Tooltip("took:N", title="took"),
                alt.Tooltip("begins:N", title="begins at"),
            ],
        )
    )


def by_kind() -> dict[str, Any]:
    """The colours of `PIECES`; the page's legend names them."""
    colours = [piece.colour for piece in PIECES.values()]
    return {"scale": alt.Scale(domain=[*PIECES], range=colours), "legend": None}


def _row() -> alt.Y:
    return alt.Y("rank:O", axis=None, scale=alt.Scale(padding=0))


def _written(heads: Sequence[Row], field: str, y: int, **look: Any) -> Layer:
    """A line of text above each bar, cut where the plot ends."""
    return (
        over([_NOT_KEPT, *heads])
        .transform_filter(_SHOWN)
        .mark_text(
            align="left",
            baseline="middle",
            yOffset=y,
            limit=alt.ExprRef("width"),
            **(TEXT | look),
        )
        .encode(x=alt.value(0), y=_row(), text=f"{field}:N")
    )


def _name(heads: Sequence[Row]) -> Layer:
    return _written(heads, "name", _NAME, fontWeight=600)


def _facts(heads: Sequence[Row]) -> Layer:
    return _written(heads, "facts", _FACTS)
