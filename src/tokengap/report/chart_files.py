"""Every chart as files of its own: PNG, SVG and Vega-Lite JSON.

On the page a chart takes its colours, its width and its heading from around it. A file has nothing
around it, so these are written into the specification: the light theme, on white.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt

from tokengap.report import render
from tokengap.report.chart_legend import legend_layers
from tokengap.report.layers import Spec
from tokengap.report.resolved import light, resolved
from tokengap.report.section import Section
from tokengap.report.whole import Report


@dataclass(frozen=True)
class Drawn:
    """One chart: its specification, and its picture or why there is none."""

    name: str
    specification: str
    picture: render.Picture | render.RenderError


def chart_files(report: Report) -> Iterator[Drawn]:
    """Every chart of the report."""
    colours = light()
    charted = [section for section in report.sections if section.chart]
    specs = [standalone(section, colours) for section in charted]
    made = render.pictures(specs, _style(colours), render.BOUNDS)
    for section, spec, picture in zip(charted, specs, made, strict=True):
        text = json.dumps(spec, allow_nan=False, ensure_ascii=False, indent=1)
        yield Drawn(section.name, text + "\n", picture)


def standalone(section: Section, colours: Mapping[str, str]) -> Spec:
    """A section's chart with all that it takes from the page."""
    chart = section.chart or {}
    whole = chart | {"layer": [*chart["layer"], *legend_layers(section.legend, chart["height"])]}
    spec = resolved(whole, colours)
    config = spec.get("config", {}) | {"background": colours["card"]}
    return {
        "$schema": alt.SCHEMA_URL,
        "title": _title(section, colours),
        "padding": 16,
        **spec,
        "config": config,
    }


def _title(section: Section, colours: Mapping[str, str]) -> dict[str, Any]:
    """What the page writes over the chart."""
    return {
        "text": section.title,
        "subtitle": f"{section.samples} · {section.scope}",
        "anchor": "start",
        "frame": "group",
        "fontSize": 17,
        "color": colours["ink"],
        "subtitleFontSize": 12,
        "subtitleColor": colours["muted"],
        "offset": 28,
    }


def _style(colours: Mapping[str, str]) -> str:
    """The halo that keeps names readable where they cross lines, as on the page."""
    return (
        ".mark-text text { paint-order: stroke; stroke: "
        f"{colours['card']}; stroke-width: 4px; stroke-linejoin: round; }}"
    )
