"""How uneven arrivals are, seen through windows of several lengths."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.words import WINDOW_COLUMNS, arrival_sentence, scope, window_rows
from tokengap.report.layers import TEXT, Spec, in_ms, over, specification
from tokengap.report.section import Section, Table
from tokengap.report.theme import MS, domain, ticks
from tokengap.units import format_count, format_duration

_HEIGHT: Final = 260


def arrivals(found: Baseline) -> Section:
    """The dispersion index by the length of the window; why not where arrivals are few."""
    data = [row for row in found.bursts if row["dispersion"] and row["dispersion"] > 0]
    return Section(
        "arrivals",
        "Burstiness of arrivals",
        f"n {format_count(found.arrivals['requests'])} arrivals",
        scope(found),
        chart=_chart(data) if len(data) > 1 else None,
        data=found.bursts,
        table=Table(WINDOW_COLUMNS, list(window_rows(found)), ()) if found.bursts else None,
        notes=[
            arrival_sentence(found),
            "Dispersion is the variance of the arrivals in a window over their mean: 1 if arrivals "
            "are independent, 0 if evenly spaced, more if they come in bursts. Where it grows with "
            "the window, the rate itself drifts."
            if found.bursts
            else "Too few arrivals, or all at once: there are no windows to count them in.",
        ],
    )


def _chart(rows: Sequence[Row]) -> Spec:
    data = [
        {
            "window": row["window_ns"] / MS,
            "dispersion": row["dispersion"],
            "length": format_duration(row["window_ns"]),
            "index": f"{row['dispersion']:.2f}",
            "peak": f"{row['peak_to_mean']:.2f}",
        }
        for row in rows
    ]
    x = domain([d["window"] for d in data], 0.06, 0.06)
    y = domain([*(d["dispersion"] for d in data), 1], 0.1, 0.1)
    scale = alt.Scale(type="log", domain=y, nice=False)
    axis = alt.Axis(title="dispersion index", values=ticks(*y), format="~g")
    up = alt.Y("dispersion:Q", scale=scale, axis=axis)
    across = alt.X(**in_ms("window", "window", x))
    tooltip = [
        alt.Tooltip("length:N", title="window"),
        alt.Tooltip("index:N", title="dispersion"),
        alt.Tooltip("peak:N", title="peak to mean"),
    ]
    one = over([{"one": 1}]).encode(y="one:Q")
    line = over(data).mark_line(
        stroke="var(--met)", strokeWidth=2, point={"size": 60, "fill": "var(--met)", "opacity": 1}
    )
    layers = [
        one.mark_rule(stroke="var(--ink)", strokeDash=[5, 4]),
        one.mark_text(
            text="independent arrivals", align="left", baseline="bottom", dx=8, dy=-4, **TEXT
        ).encode(x=alt.value(0)),
        line.encode(x=across, y=up, tooltip=tooltip),
    ]
    return specification(layers, _HEIGHT, "Dispersion of arrivals by the length of the window.")
