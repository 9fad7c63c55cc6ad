"""How long prompts and answers are, and how far one goes with the other."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.words import LENGTH_COLUMNS, dependence_sentence, length_rows, scope
from tokengap.report.layers import TEXT, Spec, over, specification
from tokengap.report.section import Section, Table
from tokengap.report.theme import COUNT_LABEL, powers_of_2
from tokengap.units import format_count

_HEIGHT: Final = 360
_FAINT, _STRONG = 0.12, 0.95
_NAMED_CELLS: Final = 60


def lengths(found: Baseline) -> Section:
    """A map of prompt against answer, and the percentiles of each."""
    cells = [row for row in found.grid if row["prompt_step"] >= 0 and row["output_step"] >= 0]
    return Section(
        "lengths",
        "Lengths of prompts and answers together",
        f"n {format_count(found.dependence['requests'])} answers of completed requests",
        scope(found),
        chart=_chart(cells) if cells else None,
        data=found.grid,
        table=Table(LENGTH_COLUMNS, list(length_rows(found)), ("tokens",)),
        notes=[
            dependence_sentence(found),
            *(["The darker a cell, the more requests."] if cells else []),
        ],
    )


def _chart(cells: Sequence[Row]) -> Spec:
    most = max(row["requests"] for row in cells)
    marks = [_cell(row, most) for row in cells]
    ends = {
        side: [min(m[f"{side}_from"] for m in marks), max(m[f"{side}_to"] for m in marks)]
        for side in ("prompt", "output")
    }

    def channel(field: str, side: str, title: str) -> dict[str, Any]:
        axis = alt.Axis(
            title=title, values=powers_of_2(*ends[side]), labelExpr=COUNT_LABEL, grid=False
        )
        scale = alt.Scale(type="log", domain=ends[side], nice=False)
        return {"shorthand": f"{field}:Q", "scale": scale, "axis": axis}

    x, y = "prompt tokens", "answer tokens"
    drawn = over(marks).mark_rect(fill="var(--met)", stroke="var(--card)", strokeWidth=1)
    layers = [
        drawn.encode(
            x=alt.X(**channel("prompt_from", "prompt", x)),
            x2="prompt_to",
            y=alt.Y(**channel("output_from", "output", y)),
            y2="output_to",
            opacity=alt.Opacity("strength:Q", scale=None),
            tooltip=[
                alt.Tooltip("prompts:N", title=x),
                alt.Tooltip("outputs:N", title=y),
                alt.Tooltip("count:N", title="requests"),
            ],
        )
    ]
    if len(marks) <= _NAMED_CELLS:
        named = over(marks).mark_text(fontWeight=600, **TEXT)
        layers.append(
            named.encode(
                x=alt.X(**channel("prompt_middle", "prompt", x)),
                y=alt.Y(**channel("output_middle", "output", y)),
                text="count:N",
            )
        )
    return specification(layers, _HEIGHT, "Requests by the lengths of prompt and answer.")


def _cell(row: Row, most: int) -> Row:
    made: Row = {
        "count": format_count(row["requests"]),
        "strength": _FAINT + (_STRONG - _FAINT) * row["requests"] / most,
    }
    for side in ("prompt", "output"):
        step = row[f"{side}_step"]
        low, high = 2 ** (step / 2), 2 ** ((step + 1) / 2)
        made |= {
            f"{side}_from": low,
            f"{side}_to": high,
            f"{side}_middle": 2 ** ((step + 0.5) / 2),
            f"{side}s": f"{format_count(round(low))} to {format_count(round(high))}",
        }
    return made
