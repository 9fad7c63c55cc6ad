"""Chart of one budget: what TTFT and the first gap are made of, each beside its limit."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.handoff import Handoff, Limits
from tokengap.handoff.links import Exact
from tokengap.report.layers import TEXT, Layer, Spec, over, specification
from tokengap.report.theme import MS, MS_FROM_0, squares
from tokengap.units import format_ms

_ROW: Final = 62  # pixels from bar to bar
PARTS: Final = squares(
    {
        "prefill": "ttft",
        "step": "met",
        "overhead": "average",
        "transfer waited for": "handoff",
    }
)
"""What a bar is made of; the part of a transfer that is hidden adds nothing to it."""


def terms_rows(handoff: Handoff, colocated_ns: Exact | None) -> list[Row]:
    """Each part of each bar, one after another; times in ns."""
    exposed_ns = handoff.transfer_ns - handoff.overlap_ns
    pause = [("overhead", handoff.overhead_ns), ("transfer waited for", exposed_ns)]
    step = [("step", handoff.step_ns)]
    prefill = [("prefill", handoff.prefill_ns)]
    bars = (
        {"TTFT": prefill + pause, "first gap": step}
        if handoff.withheld
        else {"TTFT": prefill, "first gap": pause + step}
    )
    if colocated_ns is not None:
        bars["one shared worker"] = prefill + step
    return [row for bar, parts in bars.items() for row in _in_order(bar, parts)]


def _in_order(bar: str, parts: Sequence[tuple[str, Exact]]) -> Iterator[Row]:
    at_ns = Fraction(0)
    for part, lasts_ns in parts:
        if lasts_ns:
            end_ns = at_ns + lasts_ns
            yield {
                "bar": bar,
                "part": part,
                "from_ns": float(at_ns),
                "to_ns": float(end_ns),
                "lasts": format_ms(lasts_ns),
            }
            at_ns = end_ns


def terms_chart(rows: Sequence[Row], limits: Limits) -> Spec:
    """Bars of `terms_rows`, with the limits on them as lines."""
    bars = list(dict.fromkeys(row["bar"] for row in rows))
    limited = [
        {"bar": bar, "limit": float(limit_ns) / MS, "says": f"limit {format_ms(limit_ns)}"}
        for bar, limit_ns in (("TTFT", limits.ttft_ns), ("first gap", limits.worst_gap_ns))
        if limit_ns is not None and bar in bars
    ]
    most = max([row["to_ns"] / MS for row in rows] + [row["limit"] for row in limited])
    scale = alt.Scale(domain=[0, most * 1.12 or 1], nice=False)
    axis = alt.Axis(title=None, labelExpr=MS_FROM_0, tickCount=6)
    y = alt.Y(
        "bar:N",
        sort=bars,
        scale=alt.Scale(paddingInner=0.55, paddingOuter=0.75),
        axis=alt.Axis(title=None, domain=False, ticks=False, grid=False, labelPadding=8),
    )
    data = [row | {"from": row["from_ns"] / MS, "to": row["to_ns"] / MS} for row in rows]
    colour = alt.Scale(domain=list(PARTS), range=[place.colour for place in PARTS.values()])
    drawn = (
        over(data)
        .mark_bar()
        .encode(
            x=alt.X("from:Q", scale=scale, axis=axis),
            x2="to",
            y=y,
            color=alt.Color("part:N", scale=colour, legend=None),
            tooltip=[alt.Tooltip("part:N"), alt.Tooltip("lasts:N", title="lasts")],
        )
    )
    layers = [drawn, *_totals(data, bars, scale, y), *_limits(limited, scale, y)]
    return specification(layers, _ROW * len(bars), "TTFT and first gap by their terms.")


def _totals(data: Sequence[Row], bars: Sequence[str], scale: alt.Scale, y: alt.Y) -> list[Layer]:
    ends = [{"bar": bar, "end": max(d["to"] for d in data if d["bar"] == bar)} for bar in bars]
    named = [end | {"says": format_ms(Fraction(end["end"]) * MS)} for end in ends]
    text = over(named).mark_text(align="left", baseline="middle", dx=6, **TEXT)
    return [text.encode(x=alt.X("end:Q", scale=scale), y=y, text="says:N")]


def _limits(limited: Sequence[Row], scale: alt.Scale, y: alt.Y) -> list[Layer]:
    if not limited:
        return []
    x = alt.X("limit:Q", scale=scale)
    ticks = over(limited).mark_tick(thickness=2, size=_ROW * 0.8, color="var(--ink)")
    text = over(limited).mark_text(align="center", baseline="bottom", dy=-_ROW * 0.4 - 1, **TEXT)
    return [ticks.encode(x=x, y=y), text.encode(x=x, y=y, text="says:N")]
