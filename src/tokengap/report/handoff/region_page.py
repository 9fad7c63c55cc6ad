"""The budget over two parameters as a page: a heat map with the boundary of what passes."""

from collections.abc import Iterable, Iterator, Sequence
from math import isnan, log
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.handoff.links import Exact
from tokengap.handoff.region import Axis, Edge
from tokengap.report.banner import Banner, Tile
from tokengap.report.forms import assumed_note
from tokengap.report.handoff.page import STATED, compose
from tokengap.report.handoff.region import RegionReport, assumed, cells, summary
from tokengap.report.handoff.scales import Scaled
from tokengap.report.layers import TEXT, Layer, Spec, limit_name, over, specification
from tokengap.report.section import Key, Section
from tokengap.report.theme import CIRCLE, SQUARE, Place
from tokengap.report.whole import Report
from tokengap.units import format_count, format_duration

_ROW: Final = 46  # pixels of a cell's height, where few cells are drawn
_HEIGHTS: Final = (180, 460)
_NAMED_CELLS: Final = 140  # more cells than this are too small for a number in each
_FRAMED_CELLS: Final = 500  # in more cells than this, frames would be most of what is seen
_DRAWN_CELLS: Final = 6_000
_LINE_POINTS: Final = 81
_FAINT, _STRONG = 0.16, 0.78
_MET: Final = Place("met", "var(--met)", SQUARE)
_MISSED: Final = Place("missed", "var(--hidden)", SQUARE)
_DOT: Final = Place("observed", "var(--ink)", CIRCLE, hollow=True)


def region_page(report: RegionReport) -> Report:
    """The page of `handoff region`."""
    section = Section(
        "handoff_region",
        f"First gap, {report.varied}",
        f"{format_count(report.swept.met.size)} points",
        STATED,
        legend=list(_legend(report)),
        chart=_chart(report),
        data=list(cells(report)),
        notes=[*_notes(report), assumed_note(assumed(report))],
    )
    limits = [
        limit_name(name, round(limit_ns))
        for name in ("ttft", "worst_gap", "tpot")
        if (limit_ns := getattr(report.limits, f"{name}_ns")) is not None
    ]
    tiles = [Tile("Promised", limits, [])] if limits else []
    says = summary(report).removesuffix("; * misses one") + "."
    banner = Banner("open", says.replace("..", "."), [], tiles)
    return compose("region", report.varied, banner, (section,))


def _legend(report: RegionReport) -> Iterator[Key]:
    met = int(report.swept.met.sum())
    if report.judged:
        yield Key(_MET, "keeps every promise", format_count(met))
        yield Key(_MISSED, "misses one", format_count(report.swept.met.size - met))
    if report.handoffs is not None:
        placed = len(report.placed)
        yield Key(_DOT, "observed handoffs", format_count(placed))


def _notes(report: RegionReport) -> Iterator[str]:
    yield "The darker a cell, the longer its first gap."
    if report.swept.met.size > _DRAWN_CELLS:
        yield "Not every point is drawn; the CSV and JSON hold them all."
    if report.handoffs is None:
        return
    left = len(report.handoffs.handoffs) - len(report.placed)
    yield (
        f"Observed handoffs by boundary {report.handoffs.boundary}, {report.handoffs.sizes_from}: "
        "each at the bandwidth at which this budget would take as long as it took."
    )
    if left:
        yield f"{format_count(left)} handoffs took no longer than what is fixed, and have no place."
    yield from report.handoffs.left_out


def _chart(report: RegionReport) -> Spec:
    rows = len(report.y.values)
    height = min(max(_ROW * rows, _HEIGHTS[0]), _HEIGHTS[1])
    x, y = Scaled(report.x), Scaled(report.y)
    marks = list(_marks(report))
    layers = [_heat(marks, x, y, height), *_line(report, x, y, height)]
    if len(marks) <= _NAMED_CELLS:
        layers.append(_names(marks, x, y, height))
    layers += _dots(report, x, y, height)
    return specification(layers, height, f"First gap, {report.varied}.")


def _channels(x: Scaled, y: Scaled, height: int, fields: Sequence[str]) -> dict[str, Any]:
    across, up = fields
    return {
        "x": alt.X(**x.channel(across)),
        "y": alt.Y(**y.channel(up, [height, 0])),
    }


def _marks(report: RegionReport) -> Iterator[Row]:
    """Each drawn cell: its corners, its colour, and what it says."""
    swept = report.swept
    across, up = _kept(report.x), _kept(report.y)
    gaps = [float(gap) for gap in swept.first_gap_ns.ravel() if not isnan(gap)]
    low, high = (min(gaps), max(gaps)) if gaps else (1.0, 1.0)
    for row, top, bottom in up:
        for column, left, right in across:
            gap = float(swept.first_gap_ns[row, column])
            yield {
                "left": left,
                "right": right,
                "bottom": top,
                "top": bottom,
                "x": float(report.x.values[column]),
                "y": float(report.y.values[row]),
                "met": bool(swept.met[row, column]),
                "strength": _strength(gap, low, high),
                "gap": "-" if isnan(gap) else format_duration(gap),
                "says": f"{Scaled(report.y).shown(report.y.values[row])}, "
                f"{Scaled(report.x).shown(report.x.values[column])}",
            }


def _kept(axis: Axis) -> list[tuple[int, float, float]]:
    """Places of the values that are drawn, and where their cells end."""
    ends = Scaled(axis).ends
    skip = 1 + (len(axis.values) - 1) // int(_DRAWN_CELLS**0.5)
    places = range(0, len(axis.values), skip)
    return [(at, ends[at], ends[min(at + skip, len(axis.values))]) for at in places]


def _strength(gap: float, low: float, high: float) -> float:
    if isnan(gap) or low <= 0 or high <= low:
        return _FAINT
    return _FAINT + (_STRONG - _FAINT) * log(gap / low) / log(high / low)


def _heat(marks: Sequence[Row], x: Scaled, y: Scaled, height: int) -> Layer:
    colours = alt.Scale(domain=[True, False], range=["var(--met)", "var(--hidden)"])
    drawn = over(marks).mark_rect(
        stroke="var(--card)", strokeWidth=1 if len(marks) <= _FRAMED_CELLS else 0
    )
    return drawn.encode(
        **_channels(x, y, height, ("left", "bottom")),
        x2="right",
        y2="top",
        color=alt.Color("met:N", scale=colours, legend=None),
        opacity=alt.Opacity("strength:Q", scale=None),
        tooltip=[alt.Tooltip("gap:N", title="first gap"), alt.Tooltip("says:N", title="at")],
    )


def _names(marks: Sequence[Row], x: Scaled, y: Scaled, height: int) -> Layer:
    text = over(marks).mark_text(**TEXT)
    return text.encode(**_channels(x, y, height, ("x", "y")), text="gap:N")


def _line(report: RegionReport, x: Scaled, y: Scaled, height: int) -> list[Layer]:
    """The boundary of what passes, found along either axis: each misses what runs along it."""
    if not report.judged:
        return []
    along = list(_joined(report.boundary(x.fine(_LINE_POINTS)), ("x", "y")))
    upright = list(_joined(report.boundary_upright(y.fine(_LINE_POINTS)), ("y", "x")))
    drawn = []
    for points, order in ((along, "x"), (upright, "y")):
        if points:
            line = over(points).mark_line(color="var(--ink)", strokeWidth=2.5, clip=True)
            channels = _channels(x, y, height, ("x", "y"))
            drawn.append(line.encode(**channels, detail="passes_below:N", order=f"{order}:Q"))
    return drawn


def _joined(found: Iterable[tuple[Exact, Edge]], names: tuple[str, str]) -> Iterator[Row]:
    """Points of a line; those are joined that have what passes on the same side."""
    for at, edge in found:
        yield {
            names[0]: float(at),
            names[1]: float(edge.value),
            "passes_below": edge.passes_below,
        }


def _dots(report: RegionReport, x: Scaled, y: Scaled, height: int) -> list[Layer]:
    swapped = report.x.parameter.name == "cache"
    data = [
        {
            "x": one.size_bytes if swapped else rate,
            "y": rate if swapped else one.size_bytes,
            "request": one.request,
            "lasted": format_duration(one.time_ns),
        }
        for one, rate in report.placed
    ]
    if not data:
        return []
    dots = over(data).mark_point(
        shape="circle", size=34, stroke="var(--ink)", fill="var(--card)", strokeWidth=1.2, clip=True
    )
    return [
        dots.encode(
            **_channels(x, y, height, ("x", "y")),
            tooltip=[
                alt.Tooltip("request:N", title="request"),
                alt.Tooltip("lasted:N", title="handoff"),
            ],
        )
    ]
