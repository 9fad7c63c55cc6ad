"""Data that came long after its day: reports that were made before lack it."""

from datetime import date
from typing import Final

from tokengap.store.days import DAY_NS
from tokengap.store.records import UNDATED, Part

LATE_AFTER_NS: Final = 36 * 3600 * 10**9
"""After the end of the day: a job that loads a day's logs has the day after to do it."""


def is_late(part: Part) -> bool:
    """The part was loaded so long after its day; False where either is not known."""
    if part.loaded_ns is None or part.day in {None, UNDATED}:
        return False
    end_ns = ((date.fromisoformat(str(part.day)) - date(1970, 1, 1)).days + 1) * DAY_NS
    return part.loaded_ns > end_ns + LATE_AFTER_NS
