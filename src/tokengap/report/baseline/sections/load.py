"""Arrivals, running streams and prefills over time, with the gaps meanwhile."""

from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.words import arrival_sentence, scope
from tokengap.report.chart_load import load_chart
from tokengap.report.section import Section
from tokengap.units import format_count, format_duration


def load(found: Baseline) -> Section:
    """Load against gaps, on one time axis; why not where no clock is shared."""
    arrived = found.arrivals["requests"]
    limits = {o.statistic: o.limit_ns for o in found.objectives if o.statistic == "worst_gap"}
    if not found.load:
        notes = ["The streams share no clock, or no times: they have no common time axis."]
    else:
        first = found.load[0]
        width = format_duration(first["end_ns"] - first["start_ns"])
        notes = [f"{format_count(len(found.load))} stretches of {width} each."]
    return Section(
        "load",
        "Arrivals and load over time",
        f"n {format_count(arrived)} arrivals",
        scope(found),
        chart=load_chart(found.load, limits) if found.load else None,
        data=found.load,
        notes=[*notes, arrival_sentence(found)],
    )
