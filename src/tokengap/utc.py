"""Days and hours in UTC as numbers since 1970, and their spans in ns on a wall clock."""

from datetime import UTC, date, datetime, timedelta
from typing import Final

DAY_H: Final = 24
HOUR_NS: Final = 3600 * 10**9
DAY_NS: Final = DAY_H * HOUR_NS
_FIRST_DAY: Final = date(1970, 1, 1)


def day_number(day: date) -> int:
    """Days from 1970 to that day."""
    return (day - _FIRST_DAY).days


def day_of(number: int) -> date:
    """The day of that number."""
    return _FIRST_DAY + timedelta(number)


def day_start_ns(day: date) -> int:
    """The first instant of the day, in ns since 1970."""
    return day_number(day) * DAY_NS


def hour_number(day: date) -> int:
    """Hours from 1970 to the first one of that day."""
    return day_number(day) * DAY_H


def hour_start(hour: int) -> datetime:
    """When the hour of that number begins."""
    return datetime.fromtimestamp(hour * 3600, UTC)
