"""Parts that both charts are made of.

Text of a log only ever enters as a data value: never as an expression or a field name.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.theme import CONFIG, MS, MS_LABEL, ticks
from tokengap.report.words import NAMES
from tokengap.units import format_duration

Spec = dict[str, Any]
"""A Vega-Lite specification."""
Layer = Any
"""An Altair chart: Altair types what its methods return as Any."""
Limits = Mapping[str, int]
"""Limits in ns by statistic."""
Draw = Callable[[list[int]], Sequence[Layer]]
"""Makes the layers of a panel from the pixels that its y axis goes from and to."""

LINE: Final = 15  # pixels from one line of text to the next
PANEL_TITLE: Final = 34  # pixels above a panel that its title and some air take
TEXT: Final[dict[str, Any]] = {"fontSize": alt.ExprRef("width < 320 ? 10.5 : 12")}
_LABEL_WIDTH: Final = 150  # pixels that the name of a limit and its value may need
_DASHED: Final[dict[str, Any]] = {"stroke": "var(--ink)", "strokeDash": [5, 4]}


def specification(
    layers: Sequence[Layer], height: int, description: str, *, framed: bool = True
) -> Spec:
    """Layers as wide as the page allows, under the page's theme."""
    chart = alt.layer(*layers).properties(width="container", height=height, description=description)
    spec: Spec = chart.to_dict() | {"config": CONFIG}
    del spec["$schema"]  # an address that nothing needs
    return spec if framed else spec | {"view": {"stroke": None}}


@dataclass(frozen=True)
class Panel:
    """One of several plots that stand on one another and share their x axis."""

    title: str
    height: int
    draw: Draw


def stacked(panels: Iterable[Panel], description: str, across: Sequence[Layer] = ()) -> Spec:
    """Panels from top to bottom, each under its title; `across` lies over all of them.

    One layered view, for only that can be as wide as the page allows.
    """
    layers: list[Layer] = []
    top = 0
    for panel in panels:
        top += PANEL_TITLE
        drawn = panel.draw([top + panel.height, top])
        layers += [alt.layer(*drawn), _panel_title(panel.title, top)]
        top += panel.height
    spec = specification([*layers, *across], top, description, framed=False)
    return spec | {"resolve": {"scale": {"y": "independent"}}}


def _panel_title(title: str, top: int) -> Layer:
    named = over([{}]).mark_text(
        text=title, align="left", baseline="bottom", dy=-7, fontWeight=600, **TEXT
    )
    return named.encode(x=alt.value(0), y=alt.value(top))


def over(values: Sequence[Row]) -> alt.Chart:
    """A chart over these rows, which become part of the specification."""
    return alt.Chart(_Rows(values=list(values)))


class _Rows(alt.InlineData):
    """Data that copies of a chart share: Altair copies a chart at every step of making it."""

    def __deepcopy__(self, memo: object) -> Self:
        return self


def in_ms(field: str, title: str, low_high: Sequence[float]) -> dict[str, Any]:
    """A logarithmic channel in ms; every tick names its unit."""
    axis = alt.Axis(title=title, values=ticks(*low_high), labelExpr=MS_LABEL)
    scale = alt.Scale(type="log", domain=list(low_high), nice=False)
    return {"shorthand": f"{field}:Q", "scale": scale, "axis": axis}


def vertical_limit(
    statistic: str, limit_ns: int, x: Sequence[float], dy: int
) -> tuple[Layer, Layer]:
    """A limit on the x axis as a line; its name and value stand `dy` pixels from its top."""
    low, high = x
    limit = limit_ns / MS
    at = math.log(limit / low) / math.log(high / low)
    ends_soon = f"width * {1 - at:.4f} < {_LABEL_WIDTH}"
    line = over([{"limit": limit}]).encode(x="limit:Q")
    named = line.mark_text(
        text=limit_name(statistic, limit_ns),
        align=alt.ExprRef(f"{ends_soon} ? 'right' : 'left'"),
        baseline="bottom",
        dy=dy,
        **TEXT,
    )
    return line.mark_rule(**_DASHED), named.encode(y=alt.value(0))


def horizontal_limit(statistic: str, limit_ns: int) -> tuple[Layer, Layer]:
    """A limit on the y axis as a line, its name and value above its left end."""
    line = over([{"limit": limit_ns / MS}]).encode(y="limit:Q")
    named = line.mark_text(
        text=limit_name(statistic, limit_ns), align="left", baseline="bottom", dx=8, dy=-4, **TEXT
    )
    return line.mark_rule(**_DASHED), named.encode(x=alt.value(0))


def limit_name(statistic: str, limit_ns: int) -> str:
    """A limit in words."""
    return f"{NAMES[statistic]} ≤ {format_duration(limit_ns)}"
