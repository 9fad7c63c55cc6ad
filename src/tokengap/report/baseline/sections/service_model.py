"""What work costs, fitted from the trace: prefills by their prompts, decode steps by load."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import altair as alt
import numpy as np

from tokengap.findings.audit import Row
from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.words import SERVICE_COLUMNS, scope, service_notes, service_rows
from tokengap.report.layers import Layer, Spec, in_ms, over, specification
from tokengap.report.section import Key, Section, Table
from tokengap.report.theme import CIRCLE, COUNT_LABEL, MS, SQUARE, Place, domain, powers_of_2
from tokengap.units import format_count, format_duration

_HEIGHT: Final = 320
_DRAWN: Final = 2_000
_LINE_POINTS: Final = 60
_READING: Final = (
    "Prefill of S tokens whose squares add up to Q: fixed + per token * S + per squared token * Q. "
    "Decode step of B requests that hold T tokens: fixed + per token held * T + per request * B."
)
_ONE: Final = Place("one", "var(--met)", CIRCLE)
_SEVERAL: Final = Place("several", "var(--met)", CIRCLE, hollow=True)
_FITTED: Final = Place("fitted", "var(--hidden)", SQUARE)


def service_model(found: Baseline) -> Section:
    """Prefills against their tokens, the fitted line of one prompt, and all coefficients."""
    service = found.service
    data = _prefills(found) if service.prefill is not None else []
    return Section(
        "service_model",
        "Cost of work",
        f"n {format_count(service.prefill_line.rows)} prefill steps and "
        f"{format_count(service.decode_line.rows)} requests",
        scope(found),
        legend=list(_legend(found, data)),
        chart=_chart(found, data) if data else None,
        data=data,
        table=Table(
            SERVICE_COLUMNS, list(service_rows(found)), (*SERVICE_COLUMNS[:2], "not identified")
        ),
        notes=[_READING, *service_notes(found)],
    )


def _legend(found: Baseline, data: Sequence[Row]) -> Iterator[Key]:
    for place, says, is_one in ((_ONE, "of one prompt", True), (_SEVERAL, "of several", False)):
        if count := sum(row["is_one"] is is_one for row in data):
            yield Key(place, says, f"{format_count(count)} prefill steps")
    if found.service.prefill is not None:
        yield Key(_FITTED, "fitted", "one prompt, nothing else running")


def _prefills(found: Baseline) -> list[Row]:
    """Each step: evenly chosen ones of many."""
    prefills = found.prefills
    count = len(prefills.tokens)
    chosen = np.linspace(0, count - 1, min(count, _DRAWN)).astype(np.int64)
    return [
        {
            "tokens": int(prefills.tokens[at]),
            "time_ns": int(prefills.time_ns[at]),
            "running": int(prefills.running[at]),
            "is_one": bool(prefills.squares[at] == prefills.tokens[at] ** 2),
        }
        for at in chosen
        if prefills.tokens[at] > 0 and prefills.time_ns[at] > 0
    ]


def _chart(found: Baseline, data: Sequence[Row]) -> Spec:
    seen = [
        row | {"time": row["time_ns"] / MS, "lasted": format_duration(row["time_ns"])}
        for row in data
    ]
    x = domain([row["tokens"] for row in seen], 0.05, 0.05)
    line = list(_line(found, x))
    y = domain([row["time"] for row in (*seen, *line)], 0.08, 0.08)
    axis = alt.Axis(
        title="prompt tokens in the step", values=powers_of_2(*x), labelExpr=COUNT_LABEL, grid=False
    )
    scale = alt.Scale(type="log", domain=x, nice=False)
    at: dict[str, Any] = {
        "x": alt.X("tokens:Q", scale=scale, axis=axis),
        "y": alt.Y(**in_ms("time", "prefill", y)),
    }
    points = over(seen).mark_point(stroke=_ONE.colour, fillOpacity=0.5, strokeWidth=1, size=34)
    fill = alt.condition("datum.is_one", alt.value(_ONE.colour), alt.value("transparent"))
    tooltip = [
        alt.Tooltip("tokens:Q", title="prompt tokens"),
        alt.Tooltip("lasted:N", title="took"),
        alt.Tooltip("running:Q", title="requests beside it"),
    ]
    layers: list[Layer] = [points.encode(**at, fill=fill, tooltip=tooltip)]
    if line:
        drawn = over(line).mark_line(stroke=_FITTED.colour, strokeWidth=2.2, clip=True)
        layers.append(drawn.encode(**at))
    return specification(layers, _HEIGHT, "Time of each prefill step against its prompt tokens.")


def _line(found: Baseline, ends: Sequence[float]) -> Iterator[Row]:
    prefill = found.service.prefill
    if prefill is None:
        return
    for tokens in np.geomspace(ends[0], ends[1], _LINE_POINTS):
        took = prefill.ns(float(tokens), float(tokens) ** 2) / MS
        if took > 0:
            yield {"tokens": float(tokens), "time": took}
