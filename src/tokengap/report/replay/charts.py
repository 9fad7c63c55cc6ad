"""Charts of a sweep's arms: promises kept, first token against gaps, goodput of splits."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import (
    TEXT,
    Spec,
    in_ms,
    over,
    specification,
)
from tokengap.report.theme import CIRCLE, MS, SHARE_LABEL, Place, domain
from tokengap.units import format_share

if TYPE_CHECKING:
    from tokengap.report.replay.sweep import SweepReport

KINDS: Final = {
    "colocated": Place("colocated", "var(--hidden)", CIRCLE),
    "chunked": Place("chunked", "var(--average)", CIRCLE),
    "split": Place("split", "var(--met)", CIRCLE),
}
_SPLIT_HEIGHT: Final = 240
_ROW: Final = 30  # pixels from arm to arm
_PARETO_HEIGHT: Final = 300
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


def split_rows(report: "SweepReport") -> Iterator[Row]:
    """Splits: the share of what they take that prefills, and their goodput."""
    by = report.matching.by
    for each in report.ranked:
        if each.arm.kind == "split":
            senders, _ = each.arm.sizes
            share = senders * each.arm.machines[0].takes(by) / each.arm.takes(by)
            goodput = each.mean(lambda trial: trial.goodput_per_s)
            yield {"arm": each.arm.name, "prefill_share": share, "goodput_per_s": goodput}


def best_together(report: "SweepReport") -> float:
    """The best goodput of workers that do both; 0 without any."""
    goodputs = [
        each.mean(lambda trial: trial.goodput_per_s) or 0.0
        for each in report.found
        if each.arm.kind != "split"
    ]
    return max(goodputs, default=0.0)


def splits(rows: Sequence[Row], together_per_s: float) -> Spec:
    """Goodput over how much of the resources prefills; colocated workers as a line."""
    x = alt.X(
        "prefill_share:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(title="share that prefills", labelExpr=SHARE_LABEL, tickCount=5),
    )
    most = max([together_per_s, *(row["goodput_per_s"] or 0.0 for row in rows)])
    y = alt.Y(
        "goodput_per_s:Q",
        scale=alt.Scale(domain=[0, most * 1.15 or 1], nice=False),
        axis=alt.Axis(title="good requests/s"),
    )
    point = over(rows).mark_point(filled=True, size=80, opacity=1, color=KINDS["split"].colour)
    text = over(rows).mark_text(align="left", baseline="middle", dx=9, **TEXT)
    both = over([{"goodput_per_s": together_per_s}])
    line = both.mark_rule(stroke=KINDS["colocated"].colour, strokeDash=[5, 4])
    named = both.mark_text(
        text="best colocated arm", align="left", baseline="bottom", dx=8, dy=-4, **TEXT
    )
    layers = [
        line.encode(y=y),
        named.encode(x=alt.value(0), y=y),
        point.encode(x=x, y=y),
        text.encode(x=x, y=y, text="arm:N"),
    ]
    return specification(layers, _SPLIT_HEIGHT, "Goodput of each split.")
