"""Worst gap and average against response length as a page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.handoff import assumptions
from tokengap.handoff.links import Exact
from tokengap.report.banner import Banner, Tile
from tokengap.report.forms import assumed_note
from tokengap.report.handoff.lengths import (
    LengthsReport,
    length_rows,
    summary,
    table_rows,
    trace_line,
)
from tokengap.report.handoff.page import STATED, compose
from tokengap.report.layers import (
    PANEL_TITLE,
    TEXT,
    Draw,
    Layer,
    Panel,
    Spec,
    in_ms,
    limit_name,
    over,
    stacked,
)
from tokengap.report.section import Key, Section, Table
from tokengap.report.theme import COUNT_LABEL, MS, SHARE_LABEL, SQUARE, Place, domain, ticks
from tokengap.report.whole import Report
from tokengap.units import format_count, format_duration, format_ms

_HEIGHT: Final = 260
_SHARE_HEIGHT: Final = 120
_SHORTEST: Final = 2
_LONGEST: Final = 5_000
_POINTS: Final = 160
_LINES: Final = {
    "worst gap": Place("worst gap", "var(--hidden)", SQUARE),
    "average TPOT": Place("average TPOT", "var(--met)", SQUARE),
}


def lengths_page(report: LengthsReport) -> Report:
    """The page of `handoff lengths`."""
    section = Section(
        "handoff_lengths",
        "Worst gap and average against the response's length",
        "one handoff in each response",
        STATED,
        legend=_legend(report),
        chart=_chart(report),
        data=list(length_rows(report, _drawn(report))),
        table=Table(("output tokens", "worst gap", "average TPOT", ""), table_rows(report), ("",)),
        notes=[assumed_note(assumptions(report.handoff))],
    )
    least = report.hidden_from.value
    title = "what the average hides"
    if least is not None:
        title = f"hidden from {format_count(int(least))} tokens on"
    told = trace_line(report)
    banner = Banner(
        "stall" if least is not None else "open",
        summary(report),
        [told] if told else [],
        [Tile("Promised", _promised(report), [])],
    )
    return compose("lengths", title, banner, (section,))


def _promised(report: LengthsReport) -> list[str]:
    given = (("tpot", report.limits.tpot_ns), ("worst_gap", report.limits.worst_gap_ns))
    return [limit_name(name, round(ns)) for name, ns in given if ns is not None]


def _legend(report: LengthsReport) -> list[Key]:
    gap, step = report.handoff.first_gap_ns, report.handoff.step_ns
    return [
        Key(_LINES["worst gap"], "worst gap", format_ms(gap)),
        Key(_LINES["average TPOT"], "average TPOT", f"towards the step, {format_ms(step)}"),
    ]


def _drawn(report: LengthsReport) -> list[int]:
    """Lengths from 2 on, evenly on a logarithmic axis."""
    longest = max(report.lengths[-1], _LONGEST)
    ratio = longest / _SHORTEST
    steps = (_SHORTEST * ratio ** (place / (_POINTS - 1)) for place in range(_POINTS))
    return sorted({round(step) for step in steps} | set(report.lengths))


def _chart(report: LengthsReport) -> Spec:
    found = list(length_rows(report, _drawn(report)))
    tokens = domain([row["output_tokens"] for row in found], 0.0, 0.0)
    x = alt.X(
        "output_tokens:Q",
        scale=alt.Scale(type="log", domain=tokens, nice=False),
        axis=alt.Axis(
            title="output tokens", values=ticks(*tokens), labelExpr=COUNT_LABEL, grid=False
        ),
    )
    panels = [Panel("per response", _HEIGHT, _times(report, found, x))]
    if report.responses is not None and report.responses.known:
        known = report.responses.known
        name = f"responses of the trace at least as long, n {format_count(known)}"
        panels.append(Panel(name, _SHARE_HEIGHT, _shares(found, known, x)))
    return stacked(panels, "Worst gap and average TPOT against response length.", _from(report, x))


def _times(report: LengthsReport, found: Sequence[Row], x: alt.X) -> Draw:
    data = [
        {
            "output_tokens": row["output_tokens"],
            "time": row[f"{key}_ns"] / MS,
            "line": line,
            "says": format_duration(row[f"{key}_ns"]),
        }
        for row in found
        for line, key in (("worst gap", "worst_gap"), ("average TPOT", "tpot"))
    ]
    limits = {"worst_gap": report.limits.worst_gap_ns, "tpot": report.limits.tpot_ns}
    values = [d["time"] for d in data] + [float(ns) / MS for ns in limits.values() if ns]

    def draw(pixels: list[int]) -> Sequence[Layer]:
        channel = _upright(in_ms("time", "", domain(values, 0.08, 0.12)), pixels)
        colours = alt.Scale(domain=list(_LINES), range=[each.colour for each in _LINES.values()])
        line = over(data).mark_line(strokeWidth=2.2)
        drawn = line.encode(
            x=x,
            y=alt.Y(**channel),
            color=alt.Color("line:N", scale=colours, legend=None),
            tooltip=[alt.Tooltip("line:N"), alt.Tooltip("says:N", title="time")],
        )
        return [*_limit_lines(limits), drawn]

    return draw


def _limit_lines(limits: Mapping[str, Exact | None]) -> Iterator[Layer]:
    """Both limits, named at the right, where the average has come down; one line for one value."""
    shared = limits["worst_gap"] == limits["tpot"]
    for name, limit_ns in limits.items():
        if limit_ns is None or (shared and name == "tpot"):
            continue
        both = f"both ≤ {format_duration(limit_ns)}"
        line = over([{"limit": float(limit_ns) / MS}]).encode(y="limit:Q")
        named = line.mark_text(
            text=both if shared else limit_name(name, round(limit_ns)),
            align="right",
            baseline="bottom",
            dy=-4,
            **TEXT,
        )
        yield line.mark_rule(stroke="var(--ink)", strokeDash=[5, 4])
        yield named.encode(x=alt.value(alt.ExprRef("width - 8")))


def _upright(channel: dict[str, Any], pixels: list[int]) -> dict[str, Any]:
    channel["scale"].range = pixels
    channel["axis"].title = None
    channel["axis"].orient = "left"
    return channel


def _shares(found: Sequence[Row], known: int, x: alt.X) -> Draw:
    data = [
        {"output_tokens": row["output_tokens"], "share": row["responses_as_long"] / known}
        for row in found
    ]

    def draw(pixels: list[int]) -> Sequence[Layer]:
        axis = alt.Axis(title=None, orient="left", tickCount=3, labelExpr=SHARE_LABEL)
        y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1], range=pixels), axis=axis)
        area = over(data).mark_area(
            color="var(--steady)", line={"color": "var(--undecided)"}, interpolate="step-before"
        )
        return [area.encode(x=x, y=y)]

    return draw


def _from(report: LengthsReport, x: alt.X) -> list[Layer]:
    """Where hiding begins, over all plots."""
    least = report.hidden_from.value
    if least is None:
        return []
    words = f"hidden from {format_count(int(least))} tokens on"
    at = over([{"output_tokens": int(least), "says": words}]).encode(x=x)
    named = at.mark_text(align="left", baseline="bottom", dx=6, dy=-4, **TEXT)
    rule = at.mark_rule(color="var(--ink)", strokeWidth=1.5)
    return [
        rule.encode(y=alt.value(PANEL_TITLE), y2=alt.value(alt.ExprRef("height"))),
        named.encode(y=alt.value(PANEL_TITLE + _HEIGHT), text="says:N"),
    ]
