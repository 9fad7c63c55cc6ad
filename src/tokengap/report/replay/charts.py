"""Charts of a sweep: promises kept, first token against gaps, and queues over time."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import (
    TEXT,
    Draw,
    Layer,
    Panel,
    Spec,
    in_ms,
    over,
    specification,
    stacked,
)
from tokengap.report.theme import CIRCLE, COUNT_LABEL, MS, SHARE_LABEL, SQUARE, Place, domain
from tokengap.units import format_share

if TYPE_CHECKING:
    from tokengap.report.replay.sweep import SweepReport

KINDS: Final = {
    "colocated": Place("colocated", "var(--hidden)", CIRCLE),
    "chunked": Place("chunked", "var(--average)", CIRCLE),
    "split": Place("split", "var(--met)", CIRCLE),
}
POOLS: Final = {
    "prefill": (Place("prefill", "var(--average)", SQUARE), "wait for a prefill, or are in one"),
    "decode": (Place("decode", "var(--met)", SQUARE), "wait for room to decode, or decode"),
}
_ROW: Final = 30  # pixels from arm to arm
_PARETO_HEIGHT: Final = 300
_QUEUE_HEIGHT: Final = 120
_COLOURS: Final = alt.Scale(domain=list(KINDS), range=[place.colour for place in KINDS.values()])
_ROOM: Final = 0.06


def attainment_rows(report: "SweepReport") -> Iterator[Row]:
    """Each arm, best first: its share of good requests with its ends."""
    for each in report.ranked:
        low, high = each.interval
        yield {
            "arm": each.arm.name,
            "kind": each.arm.kind,
            "attainment": each.attainment,
            "low": low,
            "high": high,
            "stable": each.is_stable,
            "goodput_per_s": each.mean(lambda trial: trial.goodput_per_s),
        }


def attainment(rows: Sequence[Row]) -> Spec:
    """A point for each arm, with its interval."""
    names = [row["arm"] for row in rows]
    says = {True: "", False: ", unstable"}
    data = [row | {"says": format_share(row["attainment"]) + says[row["stable"]]} for row in rows]
    axis = alt.Axis(title="good requests", labelExpr=SHARE_LABEL, tickCount=6)
    scale = alt.Scale(domain=[0, 1.12], nice=False)
    y = alt.Y(
        "arm:N",
        sort=names,
        axis=alt.Axis(title=None, domain=False, ticks=False, labelLimit=220, labelPadding=8),
    )
    colour = alt.Color("kind:N", scale=_COLOURS, legend=None)
    axis.values = [0, 0.2, 0.4, 0.6, 0.8, 1]
    span = over(data).mark_rule(strokeWidth=3, opacity=0.45)
    point = over(data).mark_point(filled=True, size=80, opacity=1)
    text = over(data).mark_text(align="left", baseline="middle", dx=10, **TEXT)
    low = alt.X("low:Q", scale=scale, axis=axis)
    at = alt.X("attainment:Q", scale=scale, axis=axis)
    high = alt.X("high:Q", scale=scale, axis=axis)
    layers = [
        span.encode(x=low, x2="high", y=y, color=colour),
        point.encode(x=at, y=y, color=colour),
        text.encode(x=high, y=y, text="says:N"),
    ]
    return specification(layers, _ROW * len(rows), "Share of good requests of each arm.")


def pareto_rows(report: "SweepReport") -> Iterator[Row]:
    """Stable arms: p99 of TTFT, and the share whose worst gap is within its limit."""
    judged = [o.statistic for o in report.case.objectives]
    statistic = "worst_gap" if "worst_gap" in judged else judged[0]
    for each in report.ranked:
        ttft_ns = each.percentile_ns("ttft", 99)
        share = each.attainment_of(statistic)
        if each.is_stable and ttft_ns and share is not None:
            yield {
                "arm": each.arm.name,
                "kind": each.arm.kind,
                "ttft_p99_ns": ttft_ns,
                "statistic": statistic,
                "attainment": share,
            }


def pareto(rows: Sequence[Row]) -> Spec:
    """What an arm pays in its first token for what it keeps of its gaps."""
    data = [row | {"ttft": row["ttft_p99_ns"] / MS} for row in rows]
    x = alt.X(**in_ms("ttft", "p99 of TTFT", domain([d["ttft"] for d in data], 0.08, 0.35)))
    axis = alt.Axis(title=f"{rows[0]['statistic']} within its limit", labelExpr=SHARE_LABEL)
    y = alt.Y("attainment:Q", scale=alt.Scale(domain=[-_ROOM, 1 + _ROOM], nice=False), axis=axis)
    axis.values = [0, 0.2, 0.4, 0.6, 0.8, 1]
    colour = alt.Color("kind:N", scale=_COLOURS, legend=None)
    point = over(data).mark_point(filled=True, size=80, opacity=1)
    names = [  # neighbours' names are apart
        over(data[half::2]).mark_text(align="left", baseline="middle", dx=9, dy=dy, **TEXT)
        for half, dy in enumerate((-7, 7))
    ]
    tooltip = [alt.Tooltip("arm:N")]
    layers = [
        point.encode(x=x, y=y, color=colour, tooltip=tooltip),
        *(name.encode(x=x, y=y, text="arm:N") for name in names),
    ]
    return specification(layers, _PARETO_HEIGHT, "TTFT against the share of gaps within limits.")


def queue_rows(report: "SweepReport") -> Iterator[Row]:
    """Requests in each pool at each look, of the best arm of each kind."""
    seen: set[str] = set()
    for each in report.ranked:
        if each.arm.kind in seen:
            continue
        seen.add(each.arm.kind)
        looks = each.trials[0].queues
        for pool in POOLS:
            for at_s, count in zip(looks["at_s"], looks[pool], strict=True):
                yield {"arm": each.arm.name, "pool": pool, "at_s": at_s, "requests": count}


def queues(rows: Sequence[Row]) -> Spec:
    """A plot for each arm."""
    x = alt.X("at_s:Q", axis=alt.Axis(title="time of the log, s", grid=False))
    panels = [
        Panel(arm, _QUEUE_HEIGHT, _queue([row for row in rows if row["arm"] == arm], x))
        for arm in dict.fromkeys(row["arm"] for row in rows)
    ]
    return stacked(panels, "Requests in each pool over time.")


def _queue(own: Sequence[Row], x: alt.X) -> Draw:
    def draw(pixels: list[int]) -> Sequence[Layer]:
        axis: Any = alt.Axis(title=None, orient="left", tickCount=3, labelExpr=COUNT_LABEL)
        y = alt.Y("requests:Q", scale=alt.Scale(range=pixels), axis=axis)
        colours = alt.Scale(domain=list(POOLS), range=[place.colour for place, _ in POOLS.values()])
        line = over(own).mark_line(strokeWidth=1.8, interpolate="step-after")
        return [line.encode(x=x, y=y, color=alt.Color("pool:N", scale=colours, legend=None))]

    return draw
