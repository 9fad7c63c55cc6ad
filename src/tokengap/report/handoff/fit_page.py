"""Overhead and bandwidth from the handoffs of a log as a page: times against bytes, a line."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.banner import Banner, Tile
from tokengap.report.forms import assumed_note
from tokengap.report.handoff.fit import (
    BUDGET_COLUMNS,
    FIT_COLUMNS,
    FitReport,
    assumed,
    budget_rows,
    explained,
    fit_rows,
    handoff_rows,
    summary,
)
from tokengap.report.handoff.page import compose
from tokengap.report.layers import Layer, Spec, in_ms, over, specification
from tokengap.report.section import Key, Section, Table
from tokengap.report.theme import (
    BYTES_LABEL,
    CIRCLE,
    MS,
    SQUARE,
    Place,
    domain,
    powers_of_2,
)
from tokengap.report.whole import Report
from tokengap.units import format_bytes, format_count, format_duration, format_share

_HEIGHT: Final = 340
_LINE_POINTS: Final = 60
_DRAWN: Final = 3_000
_SEEN: Final = Place("seen", "var(--met)", CIRCLE)
_FITTED: Final = Place("fitted", "var(--hidden)", SQUARE)
_NOMINAL: Final = Place("nominal", "var(--handoff)", SQUARE)


def fit_page(report: FitReport) -> Report:
    """The page of `handoff fit`."""
    found = report.whole
    scope = f"boundary {report.handoffs.boundary} · {report.handoffs.sizes_from}"
    rows = list(handoff_rows(report))
    against = Section(
        "handoff_fit",
        "Handoff time against its bytes",
        f"{format_count(len(rows))} handoffs",
        scope,
        legend=list(_legend(report)),
        chart=_chart(report, rows),
        data=rows,
        table=Table(FIT_COLUMNS, list(fit_rows(report)), ("workers", "cannot tell")),
        notes=[assumed_note(assumed(report))],
    )
    budget = Section(
        "budget",
        "The budget redrawn",
        "sizes of the log",
        scope,
        table=Table(BUDGET_COLUMNS, list(budget_rows(report)), ("cache", "verdict")),
    )
    share = "-" if found.explained_share is None else format_share(found.explained_share)
    tiles = [Tile("Explained by bytes", [share], ["of the variance, at most"])]
    banner = Banner("open", summary(report), [explained(report)], tiles)
    return compose("fit", f"{format_count(len(rows))} handoffs", banner, (against, budget), scope)


def _legend(report: FitReport) -> Iterator[Key]:
    yield Key(_SEEN, "handoffs", format_count(len(report.handoffs.handoffs)))
    if report.whole.cannot_tell is None:
        yield Key(_FITTED, "fitted", "overhead and bytes at the fitted rate")
    if report.nominal_bytes_per_s is not None:
        yield Key(_NOMINAL, "nominal", "bytes at the link's rate alone")


def _chart(report: FitReport, rows: Sequence[Row]) -> Spec:
    sizes = domain([row["cache_bytes"] for row in rows], 0.06, 0.06)
    lines = [line for line in _lines(report, sizes) if line["time"] > 0]
    seen = [
        {
            "size": row["cache_bytes"],
            "time": row["handoff_ns"] / MS,
            "request": row["request_id"],
            "lasted": format_duration(row["handoff_ns"]),
            "carried": format_bytes(int(row["cache_bytes"])),
        }
        for row in _thinned(rows)
    ]
    times = domain([mark["time"] for mark in (*seen, *lines)], 0.06, 0.08)
    x = alt.X(
        "size:Q",
        scale=alt.Scale(type="log", domain=sizes, nice=False),
        axis=alt.Axis(
            title="KV cache handed over",
            values=powers_of_2(*sizes),
            labelExpr=BYTES_LABEL,
            grid=False,
        ),
    )
    y = alt.Y(**in_ms("time", f"handoff by boundary {report.handoffs.boundary}", times))
    points = over(seen).mark_point(
        fill="var(--met)", stroke="var(--met)", fillOpacity=0.45, strokeWidth=1, size=34
    )
    tooltip = [
        alt.Tooltip("request:N", title="request"),
        alt.Tooltip("lasted:N", title="handoff"),
        alt.Tooltip("carried:N", title="bytes"),
    ]
    layers = [points.encode(x=x, y=y, tooltip=tooltip), *_drawn_lines(lines, x, y)]
    return specification(layers, _HEIGHT, "Time of each handoff against its bytes.")


def _thinned(rows: Sequence[Row]) -> Sequence[Row]:
    """Every row, or evenly chosen ones by size: more marks would be one blot."""
    if len(rows) <= _DRAWN:
        return rows
    ordered = sorted(rows, key=lambda row: row["cache_bytes"])
    edges = [round(step * len(rows) / _DRAWN) for step in range(_DRAWN + 1)]
    return [
        max(ordered[low:high], key=lambda row: row["handoff_ns"]) for low, high in pairwise(edges)
    ]


def _lines(report: FitReport, sizes: Sequence[float]) -> Iterator[Row]:
    low, high = sizes
    for step in range(_LINE_POINTS):
        size = low * (high / low) ** (step / (_LINE_POINTS - 1))
        fitted_ns = report.whole.time_ns(size)
        if fitted_ns is not None:
            yield {"size": size, "time": fitted_ns / MS, "line": "fitted"}
        if report.nominal_bytes_per_s is not None:
            nominal = size / float(report.nominal_bytes_per_s) * 1000
            yield {"size": size, "time": nominal, "line": "nominal"}


def _drawn_lines(lines: Sequence[Row], x: alt.X, y: alt.Y) -> list[Layer]:
    if not lines:
        return []
    colours = alt.Scale(domain=["fitted", "nominal"], range=[_FITTED.colour, _NOMINAL.colour])
    drawn = over(lines).mark_line(strokeWidth=2.2, clip=True)
    return [drawn.encode(x=x, y=y, color=alt.Color("line:N", scale=colours, legend=None))]
