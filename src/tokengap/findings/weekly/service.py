"""One service's week, put together from what was gathered."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np

from tokengap.findings.audit import Row
from tokengap.findings.weekly.gathered import TREND_WEEKS, WORST_SHOWN, Gathered
from tokengap.findings.weekly.hours import Hours, hours_of
from tokengap.findings.weekly.late import late_of
from tokengap.slo.model import Goal, Service, SloFile
from tokengap.store.records import Part
from tokengap.utc import day_of
from tokengap.weekly.budget import budget, burns
from tokengap.weekly.calendar import Week
from tokengap.weekly.cost import Work, resources
from tokengap.weekly.coverage import coverage
from tokengap.weekly.headroom import headroom
from tokengap.weekly.model import (
    Change,
    Contributor,
    Excluded,
    HiddenStalls,
    Kept,
    Promise,
    ServiceWeek,
    Trend,
    WorstRequest,
)
from tokengap.weekly.series import Series

STALLED: Final = ("tpot", "worst_gap")
CAUSE: Final = "cause"
CONTRIBUTORS_SHOWN: Final = 5
"""Of each dimension."""


@dataclass(frozen=True)
class Subject:
    """A service, and everything that is known for its week. until: how far the week has come."""

    file: SloFile
    service: Service
    week: Week
    until: datetime
    found: Gathered
    parts: Sequence[Part]
    work: Mapping[Week, Work]

    @property
    def numbers(self) -> set[int]:
        """Numbers of the service's profiles."""
        return {p.number for p in self.found.profiles if p.service.name == self.service.name}

    def own(self, rows: Iterable[Row]) -> list[Row]:
        """Those of the rows that are about the service."""
        numbers = self.numbers
        return [row for row in rows if row["profile"] in numbers]

    def hours(self) -> Hours:
        """The counts of the service's hours."""
        profiles = [p for p in self.found.profiles if p.number in self.numbers]
        return hours_of(self.found.hours, self.found.first, self.week.after, profiles)


@dataclass(frozen=True)
class _Held:
    """An objective of the week, hour by hour, and the version that held on each day."""

    goal: Goal
    series: Series
    by_day: dict[date, Goal]


def goals_of(service: Service, week: Week) -> list[Goal]:
    """The last version in force of each objective that held on a day of the week."""
    latest: dict[object, Goal] = {}
    for day in week.days:
        latest |= {goal.key: goal for goal in service.on(day)}
    keys = dict.fromkeys(goal.key for goal in service.goals)
    return [latest[key] for key in keys if key in latest]


def service_week(subject: Subject, changes: Mapping[Goal | object, Change]) -> ServiceWeek:
    """All about the service; changes: of each of its goals, by key."""
    week, hours = subject.week, subject.hours()
    held = [_Held(goal, *hours.promise(goal.key)) for goal in goals_of(subject.service, week)]
    promises = [_promise(subject, each, changes[each.goal.key]) for each in held]
    own = hours.of_week(week)
    whole = hours.whole()
    places = subject.own(subject.found.places)
    return ServiceWeek(
        service=subject.service,
        vantage=subject.found.vantages.get(subject.service.name),
        origins=sorted({row["origin"] for row in places}),
        offered=int(hours.total("offered")[own].sum()),
        not_offered=int(hours.total("not_offered")[own].sum()),
        coverage=coverage(
            hours.total("offered")[own] + hours.total("not_offered")[own],
            week,
            subject.until,
            subject.file.exclusions_of(subject.service.name),
        ),
        promises=promises,
        whole=whole.kept(week.first, week.after),
        stalls=_stalls(subject, hours),
        contributors=list(_contributors(subject)),
        worst=_worst(subject),
        trend=[_trend(subject, hours, whole, each) for each in week.up_to(TREND_WEEKS)],
        headroom=headroom(
            hours.total("offered")[own],
            [(each.goal, each.series.met[own], each.series.applies[own]) for each in held],
        ),
        excluded=list(_excluded(subject)),
        late=late_of(subject.parts, subject.own(subject.found.sources)),
        daily=_daily(promises, held, week),
        notes=list(_notes(subject)),
    )


def _promise(subject: Subject, held: _Held, change: Change) -> Promise:
    week, goal, series = subject.week, held.goal, held.series
    earlier = any(held.by_day.get(day, goal) != goal for day in week.days)
    return Promise(
        goal=goal,
        changed_on=goal.start if earlier else None,
        kept=series.kept(week.first, week.after),
        budget=budget(series, held.by_day, subject.service.window, week),
        burn=burns(series, week),
        change=change,
        history=[(each, series.kept(each.first, each.after)) for each in week.up_to(TREND_WEEKS)],
    )


def _daily(
    promises: Sequence[Promise], held: Sequence[_Held], week: Week
) -> list[tuple[date, Mapping[str, Kept]]]:
    days: dict[date, dict[str, Kept]] = {}
    for promise, each in zip(promises, held, strict=True):
        for day, kept in each.series.days(week):
            days.setdefault(day, {})[promise.name] = kept
    return [(day, days[day]) for day in sorted(days)]


def _stalls(subject: Subject, hours: Hours) -> HiddenStalls | None:
    def judged(week: Week) -> bool:
        return any(
            all(statistic in profile.goals(day) for statistic in STALLED)
            for profile in hours.profiles
            for day in week.days
        )

    week, before = subject.week, subject.week.back(1)
    if not judged(week):
        return None
    own, earlier = hours.of_week(week), hours.of_week(before)
    counts = {name: hours.total(name) for name in ("hidden", "possible", "completed")}
    seen = judged(before) and bool(counts["completed"][earlier].sum())
    return HiddenStalls(
        count=int(counts["hidden"][own].sum()),
        possible=int(counts["possible"][own].sum()),
        completed=int(counts["completed"][own].sum()),
        before=int(counts["hidden"][earlier].sum()) if seen else None,
        completed_before=int(counts["completed"][earlier].sum()) if seen else None,
    )


def _contributors(subject: Subject) -> Iterator[Contributor]:
    """Of each dimension, the values with most bad requests beyond their part of the load."""
    counts: dict[str, dict[str | None, Counter[str]]] = {}
    for row in subject.own(subject.found.contributors):
        value = counts.setdefault(row["dimension"], {}).setdefault(row["value"], Counter())
        value.update(offered=row["offered"], bad=row["bad"])
    for row in subject.own(subject.found.causes):
        counts.setdefault(CAUSE, {}).setdefault(row["cause"], Counter()).update(offered=1, bad=1)
    for dimension, values in counts.items():
        if set(values) == {None} or (len(values) == 1 and dimension != CAUSE):
            continue  # all of them tell nothing of a part
        offered, bad = (sum(each[name] for each in values.values()) for name in ("offered", "bad"))
        made = [
            Contributor(
                dimension,
                value,
                each["offered"],
                each["bad"],
                each["offered"] / offered,
                each["bad"] / bad if bad else 0.0,
            )
            for value, each in values.items()
            if each["bad"]
        ]
        made.sort(key=lambda each: (-each.bad_share + _due(each), str(each.value)))
        yield from made[:CONTRIBUTORS_SHOWN]


def _due(each: Contributor) -> float:
    """The part of the bad requests that its load alone would make; a cause has no load."""
    return 0.0 if each.dimension == CAUSE else each.offered_share


def _worst(subject: Subject) -> list[WorstRequest]:
    causes = {
        (row["trace"], row["request_id"]): row["cause"] for row in subject.own(subject.found.causes)
    }
    rows = subject.own(subject.found.worst)
    rows.sort(key=lambda row: (-row["ratio"], row["trace"], row["request_id"]))
    return [
        WorstRequest(
            trace=row["trace"],
            request_id=row["request_id"],
            began=_moment(row["began_ns"]),
            statistic=row["statistic"],
            value_ns=row["value_ns"],
            limit_ns=row["limit_ns"],
            missed=row["missed"],
            prompt_tokens=row["prompt_tokens"],
            output_tokens=row["output_tokens"],
            tenant=row["tenant"],
            model=row["model"],
            worker=row["worker"],
            cause=causes.get((row["trace"], row["request_id"])),
        )
        for row in rows[:WORST_SHOWN]
    ]


def _trend(subject: Subject, hours: Hours, whole: Series, week: Week) -> Trend:
    own = hours.of_week(week)
    kept = whole.kept(week.first, week.after)
    seen = hours.total("offered")[own] + hours.total("not_offered")[own] > 0
    part = resources(subject.file, subject.service.name, subject.work.get(week, {}), week)
    return Trend(
        week=week,
        offered=kept.applies,
        good=kept.met,
        hours_seen=int(np.count_nonzero(seen)),
        gpus=part.gpus,
        cost=part.cost,
        currency=part.currency,
        power_w=part.power_w,
    )


def _excluded(subject: Subject) -> Iterator[Excluded]:
    counts: dict[object, int] = {}
    spans = {}
    for row in subject.own(subject.found.excluded):
        span = row["span"]
        key = (span.start, span.end, span.reason)
        spans[key] = span
        counts[key] = counts.get(key, 0) + row["requests"]
    for key, span in spans.items():
        yield Excluded(span.start, span.end, span.reason, counts[key])


def _notes(subject: Subject) -> Iterator[str]:
    if days := subject.found.declared_otherwise:
        yield (
            f"{len(days)} days from {min(days)} are judged by rows that were made under other "
            "declarations, and their streams are pruned."
        )
    vantage = subject.found.vantages.get(subject.service.name)
    elsewhere = [
        row["day"] for row in subject.found.vantages_by_day if vantage not in row["vantages"]
    ]
    if vantage is not None and elsewhere:
        first = day_of(min(elsewhere))
        yield (
            f"{len(elsewhere)} days from {first} have no row of the {vantage}: what other vantages "
            "saw of them is left out."
        )


def _moment(ns: int | None) -> datetime | None:
    if ns is None:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ns // 1000)
