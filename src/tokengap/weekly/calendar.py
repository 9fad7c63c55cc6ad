"""ISO weeks, in UTC: from Monday to Sunday, named such as 2026-W48."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from tokengap.errors import UsageError
from tokengap.utc import DAY_H, day_start_ns, hour_number

DAYS: Final = 7
HOURS: Final = DAYS * DAY_H
_NAME: Final = re.compile(r"([0-9]{4})-?W([0-9]{2})")


@dataclass(frozen=True, order=True)
class Week:
    """The week that begins on this Monday."""

    first: date

    @classmethod
    def of(cls, day: date) -> "Week":
        """The week in which the day lies.

        >>> str(Week.of(date(2026, 11, 29)))
        '2026-W48'
        """
        return cls(day - timedelta(day.weekday()))

    @property
    def after(self) -> date:
        """The Monday after it."""
        return self.first + timedelta(DAYS)

    @property
    def last(self) -> date:
        """Its Sunday."""
        return self.first + timedelta(DAYS - 1)

    @property
    def days(self) -> list[date]:
        """Monday to Sunday."""
        return [self.first + timedelta(step) for step in range(DAYS)]

    @property
    def start_ns(self) -> int:
        """Its first instant, on a wall clock."""
        return day_start_ns(self.first)

    @property
    def first_hour(self) -> int:
        """Number of its first hour, since 1970."""
        return hour_number(self.first)

    def back(self, weeks: int) -> "Week":
        """The week so many weeks before."""
        return Week(self.first - timedelta(DAYS * weeks))

    def up_to(self, count: int) -> Iterator["Week"]:
        """So many weeks, of which this is the last."""
        return (self.back(step) for step in reversed(range(count)))

    def __str__(self) -> str:
        year, week, _ = self.first.isocalendar()
        return f"{year}-W{week:02}"


def parse_week(text: str) -> Week:
    """Read a week such as 2026-W48. UsageError if it is none, or if the year has no such week."""
    named = _NAME.fullmatch(text)
    try:
        if named:
            return Week(date.fromisocalendar(int(named[1]), int(named[2]), 1))
    except ValueError as error:
        raise UsageError(f"--week {text}: {error}") from error
    hint = f"; {day} lies in {Week.of(day)}" if (day := _day(text)) else ""
    raise UsageError(f"--week {text}: expected a year and an ISO week, such as 2026-W48{hint}")


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
