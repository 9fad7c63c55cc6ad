"""How a promise was kept, hour by hour, and what any span of these hours adds up to."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from tokengap.intervals import normal_quantile, wilson
from tokengap.utc import hour_number
from tokengap.weekly.calendar import Week
from tokengap.weekly.cells import Counts, Numbers
from tokengap.weekly.model import Kept


@dataclass(frozen=True)
class Series:
    """Counts by hour, of one promise; all arrays of one length.

    first: number of the first hour, since 1970; a whole day begins with it. budget: share of the
    requests of the hour that may miss, by the target in force; 0 where nothing was promised.
    """

    first: int
    met: Counts
    missed: Counts
    unknown: Counts
    budget: Numbers

    @property
    def applies(self) -> Counts:
        """Requests that count, by hour."""
        return self.met + self.missed + self.unknown

    @property
    def bad(self) -> Counts:
        """Requests that spend budget, by hour."""
        return self.missed + self.unknown

    def span(self, first: date, after: date) -> slice:
        """The hours from one day until before another one, as far as the series goes."""
        start, end = (hour_number(day) - self.first for day in (first, after))
        return slice(max(start, 0), max(end, 0))

    def kept(self, first: date, after: date) -> Kept:
        """What these days add up to."""
        hours = self.span(first, after)
        met, missed, unknown = (
            int(counts[hours].sum()) for counts in (self.met, self.missed, self.unknown)
        )
        low, high = wilson(met, met + missed + unknown) or (None, None)
        blocks = _by_blocks(self.met[hours], self.applies[hours]) or (None, None)
        return Kept(met, missed, unknown, low, high, *blocks)

    def days(self, week: Week) -> Iterator[tuple[date, Kept]]:
        """Each day of the week that has requests."""
        for day, after in zip(week.days, [*week.days[1:], week.after], strict=True):
            if (kept := self.kept(day, after)).applies:
                yield day, kept


def _by_blocks(met: Counts, applies: Counts) -> tuple[float, float] | None:
    """95 % interval of a ratio of sums over hours; None for less than two with requests."""
    seen = applies > 0
    blocks, whole = int(seen.sum()), int(applies.sum())
    if blocks < 2:  # noqa: PLR2004 (one block has no spread)
        return None
    share = met.sum() / whole
    squares = float(((met - share * applies) ** 2).sum()) * blocks / (blocks - 1)
    half = normal_quantile() * math.sqrt(squares) / whole
    return max(float(share - half), 0.0), min(float(share + half), 1.0)
