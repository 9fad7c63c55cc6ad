"""Chart of attainment: a dot for each objective, and a line for its interval."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import TEXT, Spec, over, specification
from tokengap.report.theme import PLACES, SHARE_LABEL
from tokengap.units import format_share

_ROW: Final = 30  # pixels from row to row
_LABEL_ROOM: Final = 62  # pixels behind 100 %
_MARKS: Final = {"one": "meets", "binding": "hidden", "all": "both"}
"""Which place's mark stands for what: one objective, the binding one, all of them together."""


def attainment_chart(rows: Sequence[Row]) -> Spec:
    """Attainment with its 95 % interval, one row each, in this order.

    rows: each with name, kind (a key of `_MARKS`), attainment, low, high; the latter NULL where
    the objective applies to no request.
    """
    data = [_row(row) for row in rows]
    domain, names = [0, 1], [row["name"] for row in rows]
    scale = alt.Scale(domain=domain, range=[0, alt.ExprRef(f"width - {_LABEL_ROOM}")], nice=False)
    axis = alt.Axis(
        title="share of requests that kept it", values=[0, 0.25, 0.5, 0.75, 1],
        labelExpr=SHARE_LABEL,
    )  # fmt: skip
    labels = alt.Axis(
        title=None, domain=False, ticks=False, labelPadding=8, labelLimit=170,
        labelColor="var(--ink)",
    )  # fmt: skip
    y = alt.Y("name:N", sort=names, axis=labels, scale=alt.Scale(padding=0.4))
    tooltip = [
        alt.Tooltip("name:N", title="objective"),
        alt.Tooltip("value:N", title="attainment"),
        alt.Tooltip("between:N", title="95 % interval"),
    ]
    told = over([d for d in data if d["attainment"] is not None])
    places = [PLACES[key] for key in _MARKS.values()]
    colours = [place.colour for place in places]
    stroke = alt.Stroke(**_by_kind(colours))
    x = {end: alt.X(f"{end}:Q", scale=scale, axis=axis) for end in ("low", "attainment", "label")}
    layers = [
        told.mark_rule(strokeWidth=2, opacity=0.65).encode(
            x=x["low"], x2="high", y=y, stroke=stroke, tooltip=tooltip
        ),
        told.mark_point(size=90, opacity=1, strokeWidth=1).encode(
            x=x["attainment"],
            y=y,
            stroke=stroke,
            fill=alt.Fill(**_by_kind(colours)),
            shape=alt.Shape(**_by_kind([place.path for place in places])),
            tooltip=tooltip,
        ),
        over(data)
        .mark_text(align="left", baseline="middle", dx=9, fontWeight=600, **TEXT)
        .encode(x=x["label"], y=y, text="value:N"),
    ]
    return specification(
        layers, _ROW * len(data), "Share of requests that kept each objective.", framed=False
    )


def _row(row: Row) -> Row:
    told = row["attainment"] is not None
    return {
        **{key: row[key] for key in ("name", "kind", "attainment", "low", "high")},
        "label": row["high"] if told else 0,
        "value": format_share(row["attainment"]) if told else "applies to no request",
        "between": f"{format_share(row['low'])} to {format_share(row['high'])}" if told else "-",
    }


def _by_kind(looks: list[str]) -> dict[str, Any]:
    scale = alt.Scale(domain=list(_MARKS), range=looks)
    return {"shorthand": "kind:N", "scale": scale, "legend": None}
