"""Charts of an audit as Vega-Lite specifications: rows in, a JSON value out."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from tokengap.findings.audit import Row
from tokengap.report.layers import (
    LINE,
    TEXT,
    Layer,
    Limits,
    Spec,
    horizontal_limit,
    in_ms,
    over,
    specification,
    vertical_limit,
)
from tokengap.report.theme import MS, PLACES, SHARE_LABEL, domain, ticks
from tokengap.report.words import interval, plain, position, shortened
from tokengap.units import format_count, format_duration, format_share

Corner = tuple[str, Sequence[str]]
"""A key of `PLACES`, and the lines that name the place."""

_MAP_HEIGHT: Final = 440
_SURVIVAL_HEIGHT: Final = 340
_AREA: Final = 56  # square pixels of a mark that is one request
_AREAS: Final = [16, 240]  # of the lightest and the heaviest mark where marks are shared
_LIMIT_ROOM: Final = 0.15  # of an axis, on either side of a limit
_ONE_READ_NS: Final = 100_000
_RATIOS: Final = {1: "worst gap = average", 10: "10 times", 100: "100 times"}


def stall_map(marks: Sequence[Row], limits: Limits, corners: Mapping[str, Corner]) -> Spec:
    """Average TPOT against worst gap, one mark per row.

    marks: rows of the query `stall_map`, each with its `place`, a key of `PLACES`; at least one.
    and the rank of its `timeline`.
    limits: on tpot and worst_gap. corners: what `top left`, `bottom right` and so on stand for.
    """
    data = [_mark(row) for row in marks]
    x = domain(_seen([d["tpot"] for d in data], limits.get("tpot")), 0.06, 0.06)
    y = domain(_seen([d["worst"] for d in data], limits.get("worst_gap")), 0.12, 0.18)
    layers: list[Layer] = [] if limits else _ratios(x, y)
    if "tpot" in limits:
        layers += vertical_limit("tpot", limits["tpot"], x, dy=-6)
    if "worst_gap" in limits:
        layers += horizontal_limit("worst_gap", limits["worst_gap"])
    layers += [_corner(where, *corner) for where, corner in corners.items()]
    layers += [_whiskers(data), _points(data, x, y)]  # on top: no name hides a mark
    drawn = format_count(sum(d["requests"] for d in data))
    return specification(
        layers, _MAP_HEIGHT, f"Average TPOT against worst gap of {drawn} requests."
    )


def _seen(values: list[float], limit_ns: int | None) -> list[float]:
    """The values, and a limit with some room on either side of it."""
    if limit_ns is None:
        return values
    limit = limit_ns / MS
    room = domain([*values, limit], 0, _LIMIT_ROOM)[1] / max(*values, limit)
    return [*values, limit / room, limit * room]


def _mark(row: Row) -> Row:
    low, high = row["tpot_low_ns"], row["tpot_high_ns"]
    return {
        "place": row["place"],
        "tpot": high / MS,
        "low": (low or high) / MS,
        "worst": row["worst_gap_low_ns"] / MS,
        "requests": row["requests"],
        "timeline": row["timeline"],
        "request": shortened(plain(row["request_id"])),
        "average": interval(low, high),
        "longest": interval(row["worst_gap_low_ns"], row["worst_gap_high_ns"]),
        "falls": position(row),
    }


def _points(data: Sequence[Row], x: Sequence[float], y: Sequence[float]) -> Layer:
    present = {d["place"] for d in data}
    places = [place for place in PLACES.values() if place.key in present]
    keys = [place.key for place in places]
    most = max(d["requests"] for d in data)
    areas = _AREAS if most > 1 else [_AREA, _AREA]
    picked = alt.selection_point(name="point", fields=["timeline"], toggle=False)
    area = alt.Scale(type="linear", domain=[1, max(most, 2)], range=areas)
    return (
        over(sorted(data, key=lambda d: (keys.index(d["place"]), -d["requests"])))
        .mark_point(fillOpacity=0.55, cursor="pointer")
        .encode(
            x=alt.X(**in_ms("tpot", "average TPOT, per request", x)),
            y=alt.Y(**in_ms("worst", "worst gap, per request", y)),
            fill=alt.Fill(**_by_place(keys, [place.fill for place in places])),
            stroke=alt.Stroke(**_by_place(keys, [place.colour for place in places])),
            shape=alt.Shape(**_by_place(keys, [place.path for place in places])),
            size=alt.Size("requests:Q", scale=area, legend=None),
            strokeWidth=alt.when(picked, empty=False).then(alt.value(4)).otherwise(alt.value(1.3)),
            tooltip=[
                alt.Tooltip("request:N", title="request"),
                alt.Tooltip("average:N", title="average TPOT"),
                alt.Tooltip("longest:N", title="worst gap"),
                alt.Tooltip("falls:N", title="worst gap falls"),
                alt.Tooltip("requests:Q", title="requests behind the mark"),
            ],
        )
        .properties(name="points")
        .add_params(picked)
    )


def _by_place(keys: list[str], looks: list[str]) -> dict[str, Any]:
    return {"shorthand": "place:N", "scale": alt.Scale(domain=keys, range=looks), "legend": None}


def _whiskers(data: Sequence[Row]) -> Layer:
    """From the least to the most the average can be, where marks are single requests."""
    open_averages = [
        {key: d[key] for key in ("low", "tpot", "worst")}
        for d in data
        if d["requests"] == 1 and d["low"] < d["tpot"]
    ]
    return (
        over(open_averages)
        .mark_rule(stroke="var(--muted)", opacity=0.6)
        .encode(x="low:Q", x2="tpot:Q", y="worst:Q")
    )


def _ratios(x: Sequence[float], y: Sequence[float]) -> list[Layer]:
    """Lines where the worst gap is so many times the average, as far as the plot goes."""
    layers: list[Layer] = []
    for ratio, name in _RATIOS.items():
        ends = max(x[0], y[0] / ratio), min(x[1], y[1] / ratio)
        if ends[0] >= ends[1]:
            continue
        line = [{"tpot": end, "worst": end * ratio} for end in ends]
        at = {"x": "tpot:Q", "y": "worst:Q"}
        layers += [
            over(line)
            .mark_line(stroke="var(--muted)", strokeDash=[2, 4], strokeWidth=1)
            .encode(**at),
            over(line[1:])
            .mark_text(text=name, align="right", baseline="top", dx=-14, dy=6, **TEXT)
            .encode(**at),
        ]
    return layers


def _corner(where: str, place: str, lines: Sequence[str]) -> Layer:
    top, left = where.startswith("top"), where.endswith("left")
    return (
        over([{}])
        .mark_text(
            text=list(lines),
            align="left" if left else "right",
            baseline="top" if top else "line-bottom",
            dx=8 if left else -8,
            dy=8 if top else 6 - LINE * len(lines),
            lineHeight=LINE,
            fontWeight=600,
            fill=PLACES[place].colour,
            **TEXT,
        )
        .encode(x=alt.value(0 if left else "width"), y=alt.value(0 if top else "height"))
    )


def survival(steps: Sequence[Row], limits: Limits) -> Spec:
    """The share of gaps longer than x.

    steps: rows of the query `gap_survival`, the last above 0 ns. limits: those drawn as lines.
    """
    data = _curve(steps)
    x = domain([*(d["gap"] for d in data), *(ns / MS for ns in limits.values())], 0, 0.05)
    layers: list[Layer] = [_stairs(data, x), *_longest(data[-1])]
    for number, (statistic, limit_ns) in enumerate(limits.items()):
        layers += vertical_limit(statistic, limit_ns, x, dy=-6 - LINE * number)
    return specification(
        layers, _SURVIVAL_HEIGHT, "Share of gaps that are longer than a given length."
    )


def axis_start_ns(steps: Sequence[Row]) -> float:
    """Where the axis of gaps starts: shorter ones came in one read, and would fill half of it."""
    lengths: list[int] = [row["gap_ns"] for row in steps if row["gap_ns"] > 0]
    return max(lengths[0] / 1.2, min(_ONE_READ_NS, lengths[-1] / 10))


def _curve(steps: Sequence[Row]) -> list[Row]:
    """From the start of the axis to the longest gap, which is drawn at the share before it."""
    total = sum(row["gaps"] for row in steps)
    start_ns = axis_start_ns(steps)
    left = [row for row in steps if row["gap_ns"] <= start_ns]
    drawn = left[-1]["longer"] if left else total
    points = [_point(start_ns, drawn, drawn, total)]
    for row in steps[len(left) :]:
        drawn = row["longer"] or drawn
        points.append(_point(row["gap_ns"], drawn, row["longer"], total))
    return points


def _point(gap_ns: float, drawn: int, longer: int, total: int) -> Row:
    longer_of_all = f"{format_count(longer)} of {format_count(total)}"
    return {
        "gap": gap_ns / MS,
        "share": drawn / total,
        "length": format_duration(gap_ns),
        "longer": f"{longer_of_all} ({format_share(longer / total)})",
    }


def _stairs(data: Sequence[Row], x: Sequence[float]) -> Layer:
    share = [data[-1]["share"] / 3, 1]
    powers = [tick for tick in ticks(*share) if f"{tick:e}".startswith("1")]
    axis = alt.Axis(title="share of gaps longer than x", values=powers, labelExpr=SHARE_LABEL)
    scale = alt.Scale(type="log", domain=share, nice=False)
    return (
        over(data)
        .mark_line(
            interpolate="step-after", stroke="var(--met)", strokeWidth=2, point={"opacity": 0}
        )
        .encode(
            x=alt.X(**in_ms("gap", "gap between two deliveries", x)),
            y=alt.Y("share:Q", scale=scale, axis=axis),
            tooltip=[
                alt.Tooltip("length:N", title="gap"),
                alt.Tooltip("longer:N", title="longer gaps"),
            ],
        )
    )


def _longest(end: Row) -> tuple[Layer, Layer]:
    """The longest gap of all, marked and named."""
    at = over([end]).encode(x="gap:Q", y="share:Q")
    colour = PLACES["hidden"].colour
    return (
        at.mark_point(shape=PLACES["hidden"].path, fill=colour, stroke=colour, opacity=1, size=70),
        at.mark_text(
            text=f"worst gap {end['length']}",
            align="right",
            baseline="top",
            dy=9,
            fontWeight=600,
            fill=colour,
            **TEXT,
        ),
    )
