"""Counts by hour, by hand."""

from collections.abc import Sequence
from datetime import date
from typing import Final

import numpy as np

from tokengap.utc import HOUR_NS, day_start_ns
from tokengap.weekly.calendar import Week
from tokengap.weekly.cells import Counts
from tokengap.weekly.series import Series

MONDAY: Final = date(2026, 11, 23)
WEEK: Final = Week(MONDAY)


def series(
    met: Sequence[int],
    missed: Sequence[int] | int = 0,
    unknown: Sequence[int] | int = 0,
    budget: Sequence[float] | float = 0.01,
    first: date = MONDAY,
) -> Series:
    """From midnight of that day on; one number for all hours of the rest."""
    hours = len(met)

    def counts(given: Sequence[int] | int) -> Counts:
        return np.broadcast_to(np.array(given, dtype=np.int64), hours)

    share = np.broadcast_to(np.array(budget, dtype=np.float64), hours)
    number = day_start_ns(first) // HOUR_NS
    return Series(number, counts(met), counts(missed), counts(unknown), share)
