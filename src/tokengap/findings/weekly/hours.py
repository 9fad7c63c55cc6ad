"""The hours of one service as series: of each promise, of whole requests, and of the load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import numpy as np

from tokengap.slo import STATISTICS
from tokengap.slo.model import GOOD, Goal
from tokengap.slo.profiles import Profile
from tokengap.utc import DAY_H, hour_number
from tokengap.weekly.calendar import Week
from tokengap.weekly.cells import Counts
from tokengap.weekly.series import Series

Key = tuple[str, tuple[str | None, ...]]
"""`Goal.key`: what all versions of one objective have in common."""
_COUNTED: Final = ("offered", "not_offered", "good", "completed", "hidden", "possible")


@dataclass(frozen=True)
class Hours:
    """Counts by hour of the profiles of one service.

    first: the day on which they begin. counts: by column of `promised_hours`, shape (profiles,
    hours); by statistic, of its verdicts, (profiles, 3, hours): met, missed, unknown.
    """

    first: date
    profiles: Sequence[Profile]
    counts: Mapping[str, Counts]
    verdicts: Mapping[str, Counts]

    def total(self, column: str) -> Counts:
        """The counts of all profiles together."""
        total: Counts = self.counts[column].sum(axis=0)
        return total

    @property
    def days(self) -> list[date]:
        """Every day that the hours are of."""
        length = self.counts["offered"].shape[1] // DAY_H
        return [self.first + timedelta(step) for step in range(length)]

    def hour(self, day: date) -> int:
        """Index of the day's first hour."""
        return (day - self.first).days * DAY_H

    def of_week(self, week: Week) -> slice:
        """The hours of a week."""
        return slice(max(self.hour(week.first), 0), max(self.hour(week.after), 0))

    def whole(self) -> Series:
        """Good requests of those offered, whatever is promised."""
        met, offered = self.total("good"), self.total("offered")
        nothing = np.zeros_like(met)
        return Series(self._number, met, offered - met, nothing, nothing.astype(np.float64))

    def promise(self, key: Key) -> tuple[Series, dict[date, Goal]]:
        """One objective, by whichever version held; and that version for each day it held on."""
        statistic = key[0]
        sums = np.zeros((3, self.counts["offered"].shape[1]), dtype=np.int64)
        budget = np.zeros(sums.shape[1])
        held: dict[date, Goal] = {}
        for index, profile in enumerate(self.profiles):
            verdicts = self._verdicts(statistic, index)
            for day in self.days:
                goal = profile.goals(day).get(statistic)
                if goal is not None and goal.key == key:
                    hours = slice(self.hour(day), self.hour(day) + DAY_H)
                    sums[:, hours] += verdicts[:, hours]
                    budget[hours] = float(1 - goal.target)
                    held[day] = goal
        met, missed, unknown = sums
        return Series(self._number, met, missed, unknown, budget), held

    @property
    def _number(self) -> int:
        return hour_number(self.first)

    def _verdicts(self, statistic: str, profile: int) -> Counts:
        if statistic != GOOD:
            verdicts: Counts = self.verdicts[statistic][profile]
            return verdicts
        good, offered = (self.counts[name][profile] for name in (GOOD, "offered"))
        return np.stack([good, offered - good, np.zeros_like(good)])


def hours_of(table: Any, first: date, after: date, profiles: Sequence[Profile]) -> Hours:
    """Rows of `promised_hours` as arrays; those of other profiles are left out."""
    length = (after - first).days * DAY_H
    places = {profile.number: index for index, profile in enumerate(profiles)}
    hour = table["hour"].to_numpy() - hour_number(first)
    number = table["profile"].to_numpy()
    ours = np.isin(number, list(places)) & (hour >= 0) & (hour < length)
    at = (np.array([places[each] for each in number[ours]], dtype=np.int64), hour[ours])

    def placed(column: Any) -> Counts:
        counts = np.zeros((len(profiles), length), dtype=np.int64)
        counts[at] = column.to_numpy()[ours]
        return counts

    verdicts = {}
    for statistic in STATISTICS:
        tally = table[statistic].combine_chunks()
        parts = [placed(tally.field(name)) for name in ("met", "missed", "unknown")]
        verdicts[statistic] = np.stack(parts, axis=1)
    return Hours(first, profiles, {name: placed(table[name]) for name in _COUNTED}, verdicts)
