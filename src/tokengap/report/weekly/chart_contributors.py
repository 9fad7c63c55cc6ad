"""Chart of contributors: a bar for a value's part in the misses, a line for that in requests."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import TEXT, Spec, over, specification
from tokengap.report.theme import PLACES, SHARE_LABEL

_STEP: Final = 40  # pixels from row to row
_THICK: Final = 12
_NAME, _BAR = -8, 8  # pixels from the middle of a row
_SAID_ROOM: Final = 120


def contributors_chart(rows: Sequence[Row]) -> Spec:
    """One bar a row.

    rows: each with name, said, bad_share and offered_share, the latter None where it means nothing.
    """
    data = [{"rank": rank, **row} for rank, row in enumerate(rows)]
    y = alt.Y("rank:O", axis=None, scale=alt.Scale(padding=0))
    axis = alt.Axis(
        title="share of requests", labelExpr=SHARE_LABEL, values=[0, 0.25, 0.5, 0.75, 1]
    )
    scale = alt.Scale(domain=[0, 1], nice=False)
    colours = alt.Scale(
        domain=["gathers", "spread"], range=[PLACES["hidden"].colour, PLACES["meets"].colour]
    )
    tooltip = [alt.Tooltip("name:N", title="of"), alt.Tooltip("said:N", title="misses")]
    drawn = over(data).encode(y=y)
    look: dict[str, Any] = {"baseline": "middle", "yOffset": _NAME, **TEXT}
    limit = alt.ExprRef(f"width - {_SAID_ROOM}")
    layers = [
        drawn.mark_bar(height=_THICK, yOffset=_BAR).encode(
            x=alt.X("bad_share:Q", scale=scale, axis=axis),
            fill=alt.Fill("kind:N", scale=colours, legend=None),
            tooltip=tooltip,
        ),
        over([row for row in data if row["offered_share"] is not None])
        .mark_tick(thickness=3, height=_THICK + 8, yOffset=_BAR, stroke=None, fill="var(--ink)")
        .encode(x=alt.X("offered_share:Q", scale=scale, axis=axis), y=y, tooltip=tooltip),
        drawn.mark_text(align="left", fontWeight=600, limit=limit, **look).encode(
            x=alt.value(0), text="name:N"
        ),
        drawn.mark_text(align="right", **look).encode(x=alt.value("width"), text="said:N"),
    ]
    return specification(
        layers, _STEP * len(data), "Parts in the misses and in all requests.", framed=False
    )
