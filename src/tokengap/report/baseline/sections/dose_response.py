"""How long gaps are by the prompt tokens that their worker computed meanwhile."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

import altair as alt

from tokengap.baseline import Dose
from tokengap.findings.audit import Row
from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.words import DOSE_COLUMNS, between, dose_name, dose_rows, scope
from tokengap.report.layers import TEXT, Layer, Spec, in_ms, over, specification
from tokengap.report.section import Key, Section, Table
from tokengap.report.theme import CIRCLE, COUNT_LABEL, MS, SQUARE, Place, domain, powers_of_2
from tokengap.units import format_count, format_duration

_HEIGHT: Final = 340
_THIN_BLOCKS: Final = 5
_SOLID: Final = Place("dose", "var(--hidden)", CIRCLE)
_THIN: Final = Place("thin", "var(--hidden)", CIRCLE, hollow=True)
_CALM: Final = Place("calm", "var(--met)", SQUARE)


def dose_response(found: Baseline) -> Section:
    """The curve with its intervals, above the gaps that no prefill was beside."""
    exposed = [dose for dose in found.doses if dose.dose_step > 0]
    return Section(
        "dose_response",
        "Gaps by the prompt tokens computed beside them",
        f"n {format_count(found.effect.gaps)} gaps, per gap",
        scope(found),
        legend=list(_legend(found, exposed)),
        chart=_chart(found, exposed) if exposed else None,
        data=[_flat(dose) for dose in found.doses],
        table=Table(DOSE_COLUMNS, list(dose_rows(found)), (DOSE_COLUMNS[0],))
        if found.doses
        else None,
        notes=list(_notes(found))
        if exposed
        else ["No gap has a prefill of another request beside it that this log shows."],
    )


def _flat(dose: Dose) -> Row:
    row = asdict(dose)
    for name in ("gap_ns", "beyond_ns"):
        ends = row.pop(name)
        row |= {name: ends["value"], f"{name}_low": ends["low"], f"{name}_high": ends["high"]}
    return row


def _legend(found: Baseline, exposed: Sequence[Dose]) -> Iterator[Key]:
    calm = next((dose for dose in found.doses if dose.dose_step == 0), None)
    if exposed:
        count = format_count(found.effect.exposed_gaps)
        yield Key(_SOLID, "beside a prefill", f"{count} gaps, mean and 95 % interval")
    if any(_is_thin(dose) for dose in exposed):
        yield Key(_THIN, "thin", f"from fewer than {_THIN_BLOCKS} blocks of time")
    if calm:
        yield Key(_CALM, "without", f"{format_count(calm.gaps)} gaps")


def _is_thin(dose: Dose) -> bool:
    return dose.blocks < _THIN_BLOCKS


def _notes(found: Baseline) -> Iterator[str]:
    effect = found.effect
    yield (
        "The prompt tokens of other requests that the gap's worker computed within it; each prompt "
        "counts evenly over its prefill. Intervals are of resampled blocks of time, for one stall "
        "hits many streams at once."
    )
    added = effect.added_ns_per_token
    if added.value is not None:
        yield (
            f"On average, a token beside a gap makes it {format_duration(added.value)} longer "
            f"({between(added)})."
        )


def _chart(found: Baseline, exposed: Sequence[Dose]) -> Spec:
    calm = found.effect.calm_gap_ns
    marks = [_mark(dose) for dose in exposed]
    lengths = [mark[end] for mark in marks for end in ("low", "gap", "high")]
    x = domain([mark["dose"] for mark in marks], 0.08, 0.08)
    y = domain([*lengths, *([calm.value / MS] if calm.value else [])], 0.08, 0.12)
    axis = alt.Axis(
        title="prompt tokens of other requests computed within the gap",
        values=powers_of_2(*x), labelExpr=COUNT_LABEL, grid=False,
    )  # fmt: skip
    scale = alt.Scale(type="log", domain=x, nice=False)
    across = alt.X("dose:Q", scale=scale, axis=axis)
    up = alt.Y(**in_ms("gap", "mean gap", y))
    at = {"x": across, "y": alt.Y(**in_ms("low", "mean gap", y)), "y2": "high"}
    tooltip = [
        alt.Tooltip("tokens:N", title="prompt tokens"),
        alt.Tooltip("mean:N", title="mean gap"),
        alt.Tooltip("between:N", title="95 % interval"),
        alt.Tooltip("gaps:N"),
        alt.Tooltip("blocks:N", title="blocks of time"),
    ]
    points = over(marks).mark_point(size=80, stroke=_SOLID.colour, strokeWidth=1.6, opacity=1)
    fill = alt.condition("datum.thin", alt.value("var(--card)"), alt.value(_SOLID.colour))
    layers: list[Layer] = [
        *_without(found),
        over(marks)
        .mark_line(stroke=_SOLID.colour, strokeWidth=1.4, opacity=0.5)
        .encode(x=across, y=up),
        over(marks).mark_rule(stroke=_SOLID.colour, strokeWidth=2, opacity=0.65).encode(**at),
        points.encode(x=across, y=up, fill=fill, tooltip=tooltip),
    ]
    return specification(layers, _HEIGHT, "Mean gap by the prompt tokens computed beside it.")


def _mark(dose: Dose) -> Row:
    gap_ns = dose.gap_ns.value or 0
    return {
        "dose": dose.dose_tokens,
        "gap": gap_ns / MS,
        "low": (dose.gap_ns.low or gap_ns) / MS,
        "high": (dose.gap_ns.high or gap_ns) / MS,
        "thin": _is_thin(dose),
        "tokens": dose_name(dose.dose_step),
        "mean": format_duration(gap_ns),
        "between": between(dose.gap_ns),
        "gaps": format_count(dose.gaps),
        "blocks": format_count(dose.blocks),
    }


def _without(found: Baseline) -> Iterator[Layer]:
    calm_ns = found.effect.calm_gap_ns.value
    if calm_ns:
        line = over([{"calm": calm_ns / MS}]).encode(y="calm:Q")
        yield line.mark_rule(stroke=_CALM.colour, strokeDash=[5, 4], strokeWidth=1.6)
        yield line.mark_text(
            text=f"no prefill beside it: {format_duration(calm_ns)}", align="right",
            baseline="bottom", dx=-8, dy=-4, fill=_CALM.colour, fontWeight=600, **TEXT,
        ).encode(x=alt.value("width"))  # fmt: skip
