"""The promises day by day over the week, and week by week before it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Final

from tokengap.report.section import Key, Section
from tokengap.report.theme import PLACES, Place
from tokengap.report.weekly.chart_strips import Mark, Plot, Strip, around, strips, ticks
from tokengap.report.weekly.promised import Promised, drawn, left_undrawn, promised
from tokengap.report.weekly.words import day_name, kept_share, span_share
from tokengap.slo.meaning import percent
from tokengap.units import counted, format_count
from tokengap.weekly.calendar import Week
from tokengap.weekly.model import Kept, Weekly

WEEKS: Final = 12
_HOW: Final = (
    "Left: days of the week, Monday to Sunday. Right: weeks, this one last. Lines through marks "
    "are 95 % intervals, dashed lines are the targets of now; limits are those of the time. No "
    "mark: no data."
)
_DASHES: Final = Place("target", "var(--ink)", "M-1.4,0H-0.4M0.4,0H1.4")
_KEPT, _MISSED = "meets", "hidden"


def history(weekly: Weekly, scope: str) -> Section:
    """Each promise's share of requests against its target."""
    told = [each for each in promised(weekly) if any(k.applies for _, k in each.promise.history)]
    made = [_strip(weekly.week, each) for each in drawn(told)]
    marks = [mark for strip in made for plot in strip.plots for mark in plot.marks]
    notes = [_HOW, *left_undrawn(told)]
    return Section(
        "history",
        "Day by day, and week by week",
        counted(len(made), "promise"),
        scope,
        legend=list(_legend(marks)),
        chart=strips(made, "Share of requests that kept each promise, by day and by week.")
        if made
        else None,
        data=[row for each in told for row in _rows(each)],
        notes=notes if made else ["No week of these has a request under a promise."],
    )


def _legend(marks: Sequence[Mark]) -> Iterator[Key]:
    for key, says in ((_KEPT, "target reached"), (_MISSED, "below the target")):
        if count := sum(mark.place == key for mark in marks):
            yield Key(PLACES[key], says, format_count(count))
    if marks:
        yield Key(_DASHES, "dashed line", "target")


def _strip(week: Week, each: Promised) -> Strip:
    goal, promise = each.promise.goal, each.promise
    days = {day: kept[promise.name] for day, kept in each.of.daily if promise.name in kept}
    weeks = dict(promise.history)
    target = float(goal.target)
    shares = [s for kept in (*days.values(), *weeks.values()) if (s := kept.attainment) is not None]
    domain = around([target, *shares], most=1.0)
    labels = {tick: f"{tick * 100:.9g} %" for tick in ticks(domain)}
    shown = list(week.up_to(WEEKS))
    left = _marks({week.days.index(day): (day_name(day), k) for day, k in days.items()}, each)
    right = _marks({shown.index(at): (str(at), k) for at, k in weeks.items() if at in shown}, each)
    return Strip(
        f"{each.service} · {each.name}",
        kept_share(promise.kept, goal.target),
        (
            Plot([f"{day:%a}"[0] for day in week.days], left, domain, labels, target),
            Plot(
                [_week_label(at) for at in shown], right, domain, dict.fromkeys(labels, ""), target
            ),
        ),
        between=percent(goal.target),
    )


def _week_label(week: Week) -> str:
    return str(week).partition("-")[2]


def _marks(found: Mapping[int, tuple[str, Kept]], each: Promised) -> list[Mark]:
    target = each.promise.goal.target
    return [
        Mark(
            slot,
            share,
            kept.low or 0.0,
            1.0 if kept.high is None else kept.high,
            _KEPT if share >= float(target) else _MISSED,
            {
                "when": when,
                "kept": kept_share(kept, target),
                "95 % interval": span_share(kept.low, kept.high, target),
                "of requests": format_count(kept.applies),
            },
        )
        for slot, (when, kept) in sorted(found.items())
        if (share := kept.attainment) is not None
    ]


def _rows(each: Promised) -> Iterator[dict[str, object]]:
    told: list[tuple[date | Week, Kept]] = [
        (day, kept[each.promise.name]) for day, kept in each.of.daily if each.promise.name in kept
    ]
    for when, kept in (*told, *each.promise.history):
        yield {
            "service": each.service,
            "promise": each.promise.name,
            "when": str(when),
            "offered": kept.applies,
            "good": kept.met,
            "attainment": kept.attainment,
            "low": kept.low,
            "high": kept.high,
            "target": float(each.promise.goal.target),
        }
