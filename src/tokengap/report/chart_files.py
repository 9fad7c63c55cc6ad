"""Every chart as files of its own: PNG, SVG and Vega-Lite JSON.

On the page a chart takes its colours, its width and its heading from around it. A file has nothing
around it, so these are written into the specification: the light theme, on white.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import altair as alt

from tokengap.report import render
from tokengap.report.chart_legend import WIDTH, legend_layers
from tokengap.report.layers import Spec
from tokengap.report.section import Section
from tokengap.report.whole import Report

_ROOT: Final = re.compile(r":root\s*{(.*?)}", re.DOTALL)
_VARIABLE: Final = re.compile(r"--([\w-]+):\s*([^;]+);")
_USED: Final = re.compile(r"var\(--([\w-]+)\)")
_SYMBOLS: Final = re.compile("[\u2500-\u25ff]")
_SYMBOL_FONT: Final = "DejaVu Sans, system-ui, sans-serif"
"""A renderer of pictures takes one font for a whole text: one that has its marks as well."""
_ROWS: Final = frozenset({"datasets", "values"})
"""Parts of a specification that hold rows: text of a log is left as it is."""


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


def light() -> dict[str, str]:
    """Colours of the page's light theme by the name of their variable."""
    style = (files("tokengap") / "report" / "page.css").read_text("utf-8")
    found = _ROOT.search(style)
    return dict(_VARIABLE.findall(found[1] if found else ""))


def standalone(section: Section, colours: Mapping[str, str]) -> Spec:
    """A section's chart with all that it takes from the page."""
    chart = section.chart or {}
    whole = chart | {"layer": [*chart["layer"], *legend_layers(section.legend, chart["height"])]}
    spec: Spec = _resolved(whole, colours)
    config = spec.get("config", {}) | {"background": colours["card"]}
    return {
        "$schema": alt.SCHEMA_URL,
        "title": _title(section, colours),
        "padding": 16,
        **spec,
        "config": config,
    }


def _resolved(part: Any, colours: Mapping[str, str]) -> Any:
    """The same part of a specification, with colours and widths for variables of the page."""
    if isinstance(part, dict):
        whole = part | ({"font": _SYMBOL_FONT} if _SYMBOLS.search(str(part.get("text"))) else {})
        return {
            key: value if key in _ROWS else _width(key, _resolved(value, colours))
            for key, value in whole.items()
        }
    if isinstance(part, list):
        return [_resolved(each, colours) for each in part]
    if isinstance(part, str):
        return _USED.sub(lambda used: colours[used[1]], part)
    return part


def _width(key: str, value: Any) -> Any:
    return WIDTH if key == "width" and value == "container" else value


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
