"""A sweep as a page: the recommendation, arms side by side, what they trade, and what flips it."""

from collections.abc import Iterator, Sequence
from typing import Any

from tokengap.findings.audit import Row
from tokengap.report.banner import Banner, Tile
from tokengap.report.forms import assumed_note
from tokengap.report.layers import limit_name
from tokengap.report.replay import charts, panels
from tokengap.report.replay.sweep import SweepReport, assumed, rankings
from tokengap.report.replay.sweep_text import (
    VALIDATION_COLUMNS,
    WAIT_COLUMNS,
    flip_lines,
    kept_columns,
    kept_rows,
    summary,
    validation_rows,
    wait_rows,
)
from tokengap.report.section import Key, Section, Table
from tokengap.report.whole import Report
from tokengap.report.words import NAMES
from tokengap.units import format_count, format_share


def sweep_page(report: SweepReport) -> Report:
    """The page of `replay sweep`."""
    rate = f"{report.case.workload.rate_per_s:.3g} requests/s"
    scope = f"{report.matching.words} · {rate} · {report.drawings} drawings"
    sections = [
        _arms(report, scope),
        *_validated(report, scope),
        _waits(report, scope),
        _pareto(report, scope),
        *_splits(report, scope),
        _queues(report, scope),
        _rankings(report, scope),
        *_flips(report, scope),
    ]
    title = report.source or f"{format_count(len(report.case.workload))} requests"
    return Report("replay sweep", title, scope, _banner(report), sections)


def _banner(report: SweepReport) -> Banner:
    more = [] if report.validation is None else [report.validation.says]
    limits = [limit_name(o.statistic, o.limit_ns) for o in report.case.objectives]
    best = next((each for each in report.found if each.arm.name == report.recommendation.arm), None)
    tiles = [Tile("Promised", limits, [])]
    if best is not None:
        low, high = best.interval
        within = f"{format_share(low)} to {format_share(high)} over drawings"
        tiles.append(Tile("Kept by that arm", [format_share(best.attainment)], [within]))
        if (found := report.capacities.get(best.arm.name)) and found.rate_per_s is not None:
            says = f"with {format_share(report.target)} good"
            tiles.append(Tile("Largest rate", [f"{found.rate_per_s:.3g}/s"], [says]))
    return Banner("open" if best is not None else "missed", summary(report), more, tiles)


def _arms(report: SweepReport, scope: str) -> Section:
    rows = list(charts.attainment_rows(report))
    return Section(
        "replay_arms",
        "Promises kept by each arm",
        f"{format_count(len(report.found))} arms",
        scope,
        legend=_kinds(report),
        chart=charts.attainment(rows),
        data=rows,
        table=Table(kept_columns(report), list(kept_rows(report)), ("arm", "note")),
        notes=[assumed_note(assumed(report))],
    )


def _waits(report: SweepReport, scope: str) -> Section:
    return Section(
        "waits",
        "How long users wait",
        "completed requests, percentiles per request",
        scope,
        table=Table(WAIT_COLUMNS, list(wait_rows(report)), ("arm",)),
        notes=["The first gap of a split holds the handoff; a later one never does."],
    )


def _kinds(report: SweepReport) -> list[Key]:
    kinds = [each.arm.kind for each in report.found]
    return [
        Key(place, name, format_count(kinds.count(name)))
        for name, place in charts.KINDS.items()
        if name in kinds
    ]


def _validated(report: SweepReport, scope: str) -> Iterator[Section]:
    if report.validation is not None:
        rows = list(validation_rows(report.validation))
        drawn = list(panels.overlay_rows(report.validation.curves))
        yield Section(
            "validation",
            "The baseline as it was, against its log",
            f"{len(rows)} numbers",
            scope,
            legend=[Key(place, name, says) for name, (place, says) in panels.OVERLAID.items()],
            chart=panels.overlay(drawn) if drawn else None,
            data=drawn,
            table=Table(VALIDATION_COLUMNS, rows, ("", "reproduced")),
            notes=[report.validation.says],
        )


def _pareto(report: SweepReport, scope: str) -> Section:
    rows = list(charts.pareto_rows(report))
    return Section(
        "replay_pareto",
        "First token against the gaps",
        "a mark for each stable arm",
        scope,
        legend=_kinds(report),
        chart=charts.pareto(rows) if rows else None,
        data=rows,
        notes=[] if rows else ["No arm is stable."],
    )


def _splits(report: SweepReport, scope: str) -> Iterator[Section]:
    rows = list(charts.split_rows(report))
    if len(rows) > 1:
        yield Section(
            "replay_splits",
            "Good requests by how much of it prefills",
            f"{format_count(len(rows))} splits",
            scope,
            chart=charts.splits(rows, charts.best_together(report)),
            data=rows,
        )


def _queues(report: SweepReport, scope: str) -> Section:
    rows: list[Row] = list(panels.queue_rows(report))
    faults = list(panels.fault_rows(report))
    return Section(
        "replay_queues",
        "Requests in each pool over time",
        "the first drawing; the best arm of each kind",
        scope,
        legend=[Key(place, name, says) for name, (place, says) in panels.POOLS.items()],
        chart=panels.queues(rows, faults) if rows else None,
        data=rows,
        notes=list(_queue_notes(rows, faults)),
    )


def _queue_notes(rows: Sequence[Row], faults: Sequence[Row]) -> Iterator[str]:
    if not rows:
        yield "Too few requests for a look at the queues."
    for fault in faults:
        end = "the end" if fault["to_s"] is None else f"{fault['to_s']:g} s"
        yield f"Shaded: {fault['fault']}, from {fault['from_s']:g} s to {end}."


def _rankings(report: SweepReport, scope: str) -> Section:
    by = rankings(report)
    names = [NAMES[statistic] for statistic in by]
    places: list[Any] = list(zip(*by.values(), strict=True))
    rows = [(str(place), *arms) for place, arms in enumerate(places, 1)]
    return Section(
        "rankings",
        "Rankings by each promise alone",
        "",
        scope,
        table=Table(("", *(f"by {name}" for name in names)), rows, [f"by {n}" for n in names]),
        notes=["They need not agree: an average forgives what a worst gap does not."],
    )


def _flips(report: SweepReport, scope: str) -> Iterator[Section]:
    if report.flips:
        yield Section(
            "flips",
            "Until the recommendation flips",
            "leaders of each kind",
            scope,
            notes=list(flip_lines(report)),
        )
