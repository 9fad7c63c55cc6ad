"""The weekly report's numbers: every service of an SLO file, from the rows that a store keeps."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from tokengap.errors import InputError
from tokengap.findings.weekly.changes import asked_of, compared
from tokengap.findings.weekly.gathered import TREND_WEEKS, Gathered, first_day, gather
from tokengap.findings.weekly.service import Subject, goals_of, service_week
from tokengap.library.catalogue import Catalogue
from tokengap.library.latency_rows import (
    facts_of,
    keep_latency,
    worked_out,
)
from tokengap.slo.model import SloFile
from tokengap.store.connect import Declared
from tokengap.store.records import UNDATED, Part
from tokengap.store.tables import Store
from tokengap.utc import HOUR_NS, day_of, hour_number, hour_start
from tokengap.weekly.calendar import Week
from tokengap.weekly.model import Weekly

__all__ = ["weekly"]


def weekly(store: Store, file: SloFile, week: Week, catalogue: Catalogue, scratch: Path) -> Weekly:
    """Judge one week of the store by the file; what it lacks of latency rows is made and kept.

    An older version of the store is only read: what it lacks is worked out into `scratch`.
    InputError if the store has no data on a wall clock, or none of the week's time yet.
    """
    now = store.at(store.version)  # writers may go on: all of the report is of one version
    parts = now.live_parts()
    if not any(part.day not in {None, UNDATED} for part in parts):
        raise InputError(f"{store.root}: no stream on a wall clock, so none belongs to a week")
    if (until := _until(parts)) <= hour_start(week.first_hour):
        raise InputError(
            f"{week}: has not begun; the store's data ends before {until:%Y-%m-%d %H:%M}"
        )
    groups: dict[Declared, list[str]] = {}
    for service in file.services:
        groups.setdefault(facts_of(service), []).append(service.name)
    if store.is_latest:
        keep_latency(store, catalogue, list(groups), scratch)
    found = {
        name: gathered
        for facts, names in groups.items()
        for gathered in [_gathered(now, file, names, week, catalogue, facts, scratch)]
        for name in names
    }
    return _put_together(now, file, week, until, parts, found)


def _gathered(
    store: Store,
    file: SloFile,
    names: Sequence[str],
    week: Week,
    catalogue: Catalogue,
    facts: Declared,
    scratch: Path,
) -> Gathered:
    span = (str(first_day(file, week)), str(week.last))
    days = worked_out(store, catalogue, facts, scratch, span)
    return gather(store, days, file, names, week, catalogue, facts, scratch)


def _put_together(
    store: Store,
    file: SloFile,
    week: Week,
    until: datetime,
    parts: Sequence[Part],
    found: Mapping[str, Gathered],
) -> Weekly:
    work = _work(found, week)
    subjects = [
        Subject(file, service, week, until, found[service.name], parts, work)
        for service in file.services
    ]
    asked = {
        (subject.service.name, goal.key): asked_of(subject.found, subject.service, goal, week)
        for subject in subjects
        for goal in goals_of(subject.service, week)
    }
    changes, comparisons = compared(asked)
    return Weekly(
        week=week,
        store_version=store.version or 0,
        ended=until >= hour_start(hour_number(week.after)),
        services=[
            service_week(
                subject,
                {
                    key: each
                    for (name, key), each in changes.items()
                    if name == subject.service.name
                },
            )
            for subject in subjects
        ],
        unmatched=next(iter(found.values())).unmatched,
        comparisons=comparisons,
        undated=sum(part.streams for part in parts if part.day == UNDATED),
        rejects=_rejects(store, week, parts),
    )


def _rejects(store: Store, week: Week, parts: Sequence[Part]) -> int:
    days = {str(day) for day in week.days}
    counts = store.reject_counts()
    return sum(counts.get(load, 0) for load in {p.load_id for p in parts if p.day in days})


def _until(parts: Sequence[Part]) -> datetime:
    """How far the store knows the time: by its last load, or by its last request."""
    known = [part.loaded_ns for part in parts] + [part.last_origin_ns for part in parts]
    last_ns = max(ns for ns in known if ns is not None)
    return hour_start(last_ns // HOUR_NS + 1)


def _work(
    found: Mapping[str, Gathered], week: Week
) -> dict[Week, dict[tuple[str, str | None], int]]:
    """Tokens by service and deployment, of each week of the trend."""
    work: dict[Week, dict[tuple[str, str | None], int]] = {
        each: {} for each in week.up_to(TREND_WEEKS)
    }
    for name, gathered in found.items():
        own = {p.number for p in gathered.profiles if p.service.name == name}
        for row in gathered.work:
            of_week = work.get(Week.of(day_of(row["day"])))
            if row["profile"] in own and of_week is not None:
                key = (name, row["deployment"])
                of_week[key] = of_week.get(key, 0) + row["work_tokens"]
    return work
