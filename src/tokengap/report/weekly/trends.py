"""Goodput and what it costs, over twelve weeks; how much load the promises bear."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tokengap.findings import Finding
from tokengap.findings.audit import Row
from tokengap.report.section import Section, Table
from tokengap.report.weekly.chart_strips import Mark, Plot, Strip, from_0, strips, ticks
from tokengap.report.weekly.words import statistic_name
from tokengap.report.words import plain
from tokengap.units import format_count
from tokengap.weekly.calendar import Week
from tokengap.weekly.model import ServiceWeek, Trend, Weekly

WEEKS: Final = 12
_COLUMNS: Final = (
    "service", "week", "offered", "good", "good/s", "hours with data", "GPUs", "cost",
    "per good request", "power",
)  # fmt: skip
_HOW: Final = (
    "Left: good requests per second. Right: cost of a good request, where deployments have one; it "
    "is of whole deployments over the whole week, spare capacity included."
)


def goodput(weekly: Weekly, scope: str) -> Section | None:
    """Good requests a second, and the cost of each; None without an hour of data."""
    told = [of for of in weekly.services if any(each.hours_seen for each in of.trend)]
    if not told:
        return None
    rows = [_row(of, of.trend[-1]) for of in weekly.services if of.trend]
    return Section(
        "goodput",
        "Goodput and cost, twelve weeks",
        "good requests per second of the hours with data",
        scope,
        chart=strips(
            [_strip(weekly.week, of) for of in told], "Goodput and cost per good request."
        ),
        data=[_data(of, each) for of in weekly.services for each in of.trend],
        table=Table(_COLUMNS, rows, ("service", "week"), tight=True),
        notes=[_HOW],
    )


def _strip(week: Week, of: ServiceWeek) -> Strip:
    weeks = list(week.up_to(WEEKS))
    found = {weeks.index(each.week): each for each in of.trend if each.week in weeks}
    rates = {n: rate for n, each in found.items() if (rate := each.goodput_per_s) is not None}
    costs = {n: cost for n, each in found.items() if (cost := each.cost_per_good) is not None}
    last = of.trend[-1]
    price, rate = last.cost_per_good, last.goodput_per_s
    paid = "no cost given" if price is None else f"{_money(price, last)} per good"
    served = "-" if rate is None else f"{rate:.3g} good/s"
    return Strip(
        f"{plain(of.service.name)} · {served}",
        paid,
        (
            _plot(weeks, rates, {n: f"{each:.3g}/s" for n, each in rates.items()}),
            _plot(weeks, costs, {n: _money(cost, found[n]) for n, cost in costs.items()}),
        ),
    )


def _plot(weeks: Sequence[Week], values: Mapping[int, float], said: Mapping[int, str]) -> Plot:
    domain = from_0(values.values())
    marks = [
        Mark(n, value, value, value, "meets", {"when": str(weeks[n]), "value": said[n]})
        for n, value in sorted(values.items())
    ]
    names = [str(week).partition("-")[2] for week in weeks]
    return Plot(names, marks, domain, {t: f"{t:g}" for t in ticks(domain)} if marks else {})


def _money(cost: float, each: Trend) -> str:
    return f"{cost:.3g} {_unit(each)}".strip()


def _unit(each: Trend) -> str:
    return plain(each.currency or "")


def _row(of: ServiceWeek, each: Trend) -> list[str]:
    rate, price = each.goodput_per_s, each.cost_per_good
    return [
        plain(of.service.name),
        str(each.week),
        format_count(each.offered),
        format_count(each.good),
        "-" if rate is None else f"{rate:.3g}",
        format_count(each.hours_seen),
        "-" if each.gpus is None else f"{each.gpus:.3g}",
        "-" if each.cost is None else f"{format_count(round(each.cost))} {_unit(each)}".strip(),
        "-" if price is None else _money(price, each),
        "-" if each.power_w is None else f"{format_count(round(each.power_w))} W",
    ]


def _data(of: ServiceWeek, each: Trend) -> Row:
    return {
        "service": of.service.name,
        "week": str(each.week),
        "offered": each.offered,
        "good": each.good,
        "hours_seen": each.hours_seen,
        "goodput_per_s": each.goodput_per_s,
        "gpus": each.gpus,
        "cost": each.cost,
        "currency": each.currency,
        "cost_per_good": each.cost_per_good,
        "power_w": each.power_w,
    }


def headroom(weekly: Weekly, scope: str) -> Section | None:
    """How much load the promises were kept under; None where that is not known."""
    said = [line for of in weekly.services for line in headroom_lines(of)]
    if not said:
        return None
    found = [Finding("headroom", "note", line) for line in said]
    return Section("headroom", "Capacity headroom", "", scope, findings=found)


def headroom_lines(of: ServiceWeek) -> Iterator[str]:
    """What a service's hours say about load, in a sentence."""
    found = of.headroom
    if found is None:
        return
    name = statistic_name(of.service, found.statistic)
    usual, peak = format_count(round(found.usual_per_h)), format_count(found.peak_per_h)
    seen = f"{usual} requests in the usual hour, {peak} in the fullest"
    up_to = found.kept_up_to_per_h
    if up_to is None:
        bears = f"{name} was missed in the quieter half too, so load is not what breaks it"
    elif found.breaks:
        bears = f"{name} gives way first: kept in hours of up to {format_count(up_to)} requests"
        bears += ", missed in fuller ones"
    else:
        bears = f"{name} was kept in the fullest hours too, so its end was not seen"
    yield f"{plain(of.service.name)}: {seen}; {bears}."
