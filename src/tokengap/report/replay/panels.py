"""Charts of a sweep with a plot for each thing: queues over time, the log over its replay."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.replay.workload import MS_PER_S
from tokengap.report.layers import (
    Draw,
    Layer,
    Panel,
    Spec,
    in_ms,
    over,
    stacked,
)
from tokengap.report.theme import COUNT_LABEL, MS, SHARE_LABEL, SQUARE, Place, domain
from tokengap.report.words import NAMES

if TYPE_CHECKING:
    from tokengap.report.replay.sweep import SweepReport

POOLS: Final = {
    "prefill": (Place("prefill", "var(--average)", SQUARE), "wait for a prefill, or are in one"),
    "decode": (Place("decode", "var(--met)", SQUARE), "wait for room to decode, or decode"),
}
OVERLAID: Final = {
    "log": (Place("log", "var(--undecided)", SQUARE), "what was measured"),
    "replay": (Place("replay", "var(--hidden)", SQUARE), "the same arrivals, by the model"),
}
_HEIGHT: Final = 120


def overlay_rows(curves: Mapping[str, Sequence[Sequence[float]]]) -> Iterator[Row]:
    """Percentiles of the log and of its replay, by measure."""
    for measure, pair in curves.items():
        for whose, values in zip(OVERLAID, pair, strict=True):
            for percentile, ns in enumerate(values):
                yield {"measure": measure, "whose": whose, "percentile": percentile, "ns": ns}


def overlay(rows: Sequence[Row]) -> Spec:
    """The share of requests that waited no longer, a plot for each measure."""
    shown = [row for row in rows if row["ns"] > 0]
    ends = domain([row["ns"] / MS for row in shown], 0.04, 0.06)
    channel = in_ms("ms", "no longer than", ends)
    data = [row | {"ms": row["ns"] / MS, "share": row["percentile"] / 100} for row in shown]
    panels = [
        Panel(NAMES[measure], _HEIGHT, _curve(data, measure, alt.X(**channel)))
        for measure in dict.fromkeys(row["measure"] for row in rows)
    ]
    return stacked(panels, "The log and its replay, side by side.")


def _curve(data: Sequence[Row], measure: str, x: alt.X) -> Draw:
    own = [row for row in data if row["measure"] == measure]
    colours = alt.Scale(
        domain=list(OVERLAID), range=[place.colour for place, _ in OVERLAID.values()]
    )

    def draw(pixels: list[int]) -> Sequence[Layer]:
        axis = alt.Axis(title=None, orient="left", tickCount=3, labelExpr=SHARE_LABEL)
        y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1], range=pixels), axis=axis)
        line = over(own).mark_line(strokeWidth=2)
        return [line.encode(x=x, y=y, color=alt.Color("whose:N", scale=colours, legend=None))]

    return draw


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


def queues(rows: Sequence[Row], faults: Sequence[Row]) -> Spec:
    """A plot for each arm; over all of them the faults, each with from_s and to_s."""
    last_s = max(row["at_s"] for row in rows)
    scale = alt.Scale(domain=[0, last_s], nice=False)
    x = alt.X("at_s:Q", scale=scale, axis=alt.Axis(title="time of the log, s", grid=False))
    panels = [
        Panel(arm, _HEIGHT, _queue([row for row in rows if row["arm"] == arm], x))
        for arm in dict.fromkeys(row["arm"] for row in rows)
    ]
    return stacked(panels, "Requests in each pool over time.", _broken(faults, last_s, scale))


def fault_rows(report: "SweepReport") -> Iterator[Row]:
    """What broke, and when; to_s is None where it was never mended."""
    for fault in report.case.faults:
        what = getattr(fault, "worker", "transfers")
        ends = fault.until_ms < inf
        yield {
            "fault": f"{type(fault).__name__} {what}",
            "from_s": fault.at_ms / MS_PER_S,
            "to_s": fault.until_ms / MS_PER_S if ends else None,
        }


def _broken(faults: Sequence[Row], last_s: float, scale: alt.Scale) -> list[Layer]:
    if not faults:
        return []
    data = [row | {"to_s": last_s if row["to_s"] is None else row["to_s"]} for row in faults]
    span = over(data).mark_rect(color="var(--hidden)", opacity=0.14, clip=True)
    tooltip = [alt.Tooltip("fault:N", title="fault")]
    return [span.encode(x=alt.X("from_s:Q", scale=scale), x2="to_s", tooltip=tooltip)]


def _queue(own: Sequence[Row], x: alt.X) -> Draw:
    def draw(pixels: list[int]) -> Sequence[Layer]:
        axis: Any = alt.Axis(title=None, orient="left", tickCount=3, labelExpr=COUNT_LABEL)
        y = alt.Y("requests:Q", scale=alt.Scale(range=pixels), axis=axis)
        colours = alt.Scale(domain=list(POOLS), range=[place.colour for place, _ in POOLS.values()])
        line = over(own).mark_line(strokeWidth=1.8, interpolate="step-after")
        return [line.encode(x=x, y=y, color=alt.Color("pool:N", scale=colours, legend=None))]

    return draw
