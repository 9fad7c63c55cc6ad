"""The kept rows of a store on a connection, judged by what services promise on each day."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

import duckdb
import pyarrow as pa

from tokengap.findings.audit import Row, rows
from tokengap.library.from_kept import show_kept
from tokengap.library.latency_rows import DayRows
from tokengap.slo import STATISTICS
from tokengap.slo.model import MATCHED, Goal, SloFile
from tokengap.slo.profiles import Profile, profiles_of
from tokengap.store.promised import SERVICE_LIMITS, SERVICE_MEMBERS, Promised, bind_promises
from tokengap.utc import DAY_NS, day_number, day_start_ns
from tokengap.weekly.calendar import Week

OUTERMOST: Final = ("client", "gateway", "engine")

Held = Callable[[Profile, date], Mapping[str, Goal]]
"""The goals by which a profile is judged on a day, by statistic."""


@dataclass(frozen=True)
class Judging:
    """A connection on which the relations `promised_*` judge services from kept rows.

    days: the rows of every day. profiles: of the services in question, as far as these days have
    any. vantages: by name of the service, where it is judged: of this week's rows the outermost,
    so that numbers of two vantages are never pooled. unmatched: requests of the week that no
    service of the file takes.
    """

    con: duckdb.DuckDBPyConnection
    days: Sequence[DayRows]
    file: SloFile
    profiles: Sequence[Profile]
    vantages: Mapping[str, str]
    unmatched: int

    def over(self, first: date, after: date, held: Held = Profile.goals) -> None:
        """Judge the days from one until before another, by what held on each or by `held`."""
        dated = [row for row in self.days if str(first) <= row.day < str(after)]
        show_kept(self.con, dated)
        span = [first + timedelta(step) for step in range((after - first).days)]
        members = [
            dict(zip((*MATCHED, "profile"), (*columns, profile.number), strict=True))
            for profile in self.profiles
            for columns in profile.members
        ]
        limits = [row for p in self.profiles for row in self._limits(p, span, held)]
        promised = Promised(
            pa.Table.from_pylist(members, SERVICE_MEMBERS),
            pa.Table.from_pylist(limits, SERVICE_LIMITS),
        )
        bind_promises(self.con, promised)

    def rows(self, query: str) -> list[Row]:
        """The answer to a query of the library."""
        return rows(self.con, query)

    def table(self, query: str) -> Any:
        """The answer as an Arrow table: for what is long."""
        return self.con.sql(query).to_arrow_table()

    def _limits(self, profile: Profile, span: Iterable[date], held: Held) -> Iterator[Row]:
        vantage = self.vantages.get(profile.service.name)
        for day in span if vantage else ():
            goals = held(profile, day)
            yield {
                "profile": profile.number,
                "day": day_number(day),
                "vantage": vantage,
                "excluded_spans": self._excluded(profile, day) or None,
            } | {f"{name}_limit_ns": goals[name].limit_ns for name in STATISTICS if name in goals}

    def _excluded(self, profile: Profile, day: date) -> list[dict[str, int]]:
        start_ns = day_start_ns(day)
        spans = (
            {"start_ns": ns_of(exclusion.start), "end_ns": ns_of(exclusion.end)}
            for exclusion in self.file.exclusions_of(profile.service.name)
        )
        return [
            span
            for span in spans
            if span["start_ns"] < start_ns + DAY_NS and span["end_ns"] > start_ns
        ]


def judging(
    con: duckdb.DuckDBPyConnection,
    days: Sequence[DayRows],
    file: SloFile,
    names: Collection[str],
    week: Week,
) -> Judging:
    """Judge the services of these names; the connection shows the rows of all days."""
    seen = rows(
        con,
        f"SELECT {', '.join(MATCHED)}, vantage, count(*) FILTER (began_ns >= {week.start_ns}) AS"
        " this_week FROM _kept_latency WHERE clock_kind = 'wall' GROUP BY ALL ORDER BY ALL",
    )
    of_row = [tuple(row[column] for column in MATCHED) for row in seen]
    profiles, strangers = profiles_of(file, dict.fromkeys(of_row))
    ours = [profile for profile in profiles if profile.service.name in names]
    services = {columns: p.service.name for p in ours for columns in p.members}
    there: dict[str, dict[str, int]] = {}
    for columns, row in zip(of_row, seen, strict=True):
        if name := services.get(columns):
            counts = there.setdefault(name, {})
            counts[row["vantage"]] = counts.get(row["vantage"], 0) + row["this_week"]
    stated = {service.name: service.vantage for service in file.services}
    vantages = {name: stated[name] or _outermost(counts) for name, counts in there.items()}
    lost = [
        row["this_week"]
        for columns, row in zip(of_row, seen, strict=True)
        if columns in set(strangers)
    ]
    return Judging(con, days, file, ours, vantages, sum(lost))


def _outermost(counts: Mapping[str, int]) -> str:
    """Of the vantages that this week has, or else that any day has."""
    now = [vantage for vantage, count in counts.items() if count]
    return min(now or counts, key=OUTERMOST.index)


def ns_of(moment: datetime) -> int:
    """An instant in UTC, to the second, in ns since 1970."""
    return int(moment.timestamp()) * 10**9
