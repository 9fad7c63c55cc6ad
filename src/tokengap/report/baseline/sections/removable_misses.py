"""Which missed limits separation could have kept at most, and which chunked prefill."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

import altair as alt

from tokengap.baseline import STALL_STEPS, Misses
from tokengap.findings.audit import Row
from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.words import MISS_COLUMNS, all_misses, miss_name, miss_rows, scope
from tokengap.report.layers import TEXT, Spec, over, specification
from tokengap.report.section import Key, Section, Table
from tokengap.report.theme import SHARE_LABEL, squares
from tokengap.units import format_count, format_share

_ROW: Final = 46  # pixels from bar to bar
_NAMED_FROM: Final = 0.06  # of a bar: a narrower part has no room for its count
PARTS: Final = squares(
    {
        "separation or chunks": "met",
        "separation only": "handoff",
        "chunks only": "delivery",
        "neither": "hidden",
    }
)
"""What could have kept a missed limit, at most."""


def removable_misses(found: Baseline) -> Section:
    """A bar for each limit, in the shares of those who miss it."""
    told = [misses for misses in all_misses(found) if misses.missed]
    data = [part for misses in told for part in _parts(misses)]
    return Section(
        "removable_misses",
        "What could help, at most",
        f"n {format_count(found.any.missed)} requests, {miss_name(found.any)}",
        scope(found),
        legend=list(_legend(data)),
        chart=_chart(data) if data else None,
        data=[asdict(misses) for misses in told],
        table=Table(MISS_COLUMNS, list(miss_rows(found)), ("limit",)) if told else None,
        notes=list(_notes(found)) if told else ["No request misses a limit, or stalls."],
    )


def _legend(data: Sequence[Row]) -> Iterator[Key]:
    """The parts, with the requests of the last bar: any limit, where there are several."""
    last = {d["part"]: d["requests"] for d in data if d["bar"] == data[-1]["bar"]}
    present = {d["part"] for d in data}
    for part, place in PARTS.items():
        if part in present:
            yield Key(place, part, format_count(last.get(part, 0)))


def _notes(found: Baseline) -> Iterator[str]:
    if not found.objectives:
        yield f"No limit is given: a gap over {STALL_STEPS} of its stream's own steps is a stall."
    yield (
        "Separation: each gap as long as it was, less the prefills of other requests in it. "
        f"Chunks: with no more of them than one chunk of {format_count(found.chunk_tokens)} "
        "tokens. Both are at most: the work is done somewhere, and a handoff takes time as well."
    )


def _parts(misses: Misses) -> Iterator[Row]:
    either = misses.missed - misses.neither
    both = misses.apart + misses.chunked - either
    counts = (both, misses.apart - both, misses.chunked - both, misses.neither)
    start = 0
    for part, count in zip(PARTS, counts, strict=True):
        if count:
            share = count / misses.missed
            yield {
                "bar": f"{miss_name(misses)}: {format_count(misses.missed)}",
                "part": part,
                "from": start / misses.missed,
                "to": (start + count) / misses.missed,
                "middle": (start + count / 2) / misses.missed,
                "requests": count,
                "says": format_count(count) if share > _NAMED_FROM else "",
                "share": format_share(share),
            }
        start += count


def _chart(data: Sequence[Row]) -> Spec:
    bars = list(dict.fromkeys(d["bar"] for d in data))
    axis = alt.Axis(
        title="share of those who miss it", values=[0, 0.25, 0.5, 0.75, 1], labelExpr=SHARE_LABEL
    )
    scale = alt.Scale(domain=[0, 1], nice=False)
    labels = alt.Axis(
        title=None, domain=False, ticks=False, grid=False, labelPadding=8, labelLimit=220,
        labelColor="var(--ink)",
    )  # fmt: skip
    y = alt.Y("bar:N", sort=bars, axis=labels, scale=alt.Scale(padding=0.35))
    colour = alt.Scale(domain=list(PARTS), range=[place.colour for place in PARTS.values()])
    drawn = (
        over(data)
        .mark_bar(opacity=0.85)
        .encode(
            x=alt.X("from:Q", scale=scale, axis=axis),
            x2="to",
            y=y,
            color=alt.Color("part:N", scale=colour, legend=None),
            tooltip=[
                alt.Tooltip("part:N", title="could help"),
                alt.Tooltip("requests:Q"),
                alt.Tooltip("share:N"),
            ],
        )
    )
    named = over(data).mark_text(fontWeight=600, **TEXT)
    text = named.encode(x=alt.X("middle:Q", scale=scale), y=y, text="says:N")
    return specification(
        [drawn, text], _ROW * len(bars) + 20, "Missed limits by what could have kept them.",
        framed=False,
    )  # fmt: skip
