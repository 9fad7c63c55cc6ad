"""Hours of a week that have data: one without is neither uptime nor downtime."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby

from tokengap.slo.model import Exclusion
from tokengap.weekly.calendar import HOURS, Week
from tokengap.weekly.cells import Counts
from tokengap.weekly.model import Coverage

_HOUR = timedelta(hours=1)


def coverage(
    requests: Counts, week: Week, until: datetime, excluded: Sequence[Exclusion]
) -> Coverage:
    """Of the week's hours until then, without those that are excluded as a whole.

    requests: of each hour of the week.
    """
    monday = datetime(week.first.year, week.first.month, week.first.day, tzinfo=UTC)
    starts = [monday + _HOUR * hour for hour in range(HOURS)]
    due = [start < until and not _is_excluded(start, excluded) for start in starts]
    seen = [bool(count) for count in requests]
    holes = [
        (starts[first], starts[last] + _HOUR)
        for first, last in _runs([d and not s for d, s in zip(due, seen, strict=True)])
    ]
    holes.sort(key=lambda hole: (hole[0] - hole[1], hole[0]))
    return Coverage(
        hours_due=sum(due),
        hours_seen=sum(d and s for d, s in zip(due, seen, strict=True)),
        holes=holes,
    )


def _is_excluded(start: datetime, excluded: Sequence[Exclusion]) -> bool:
    return any(each.start <= start and start + _HOUR <= each.end for each in excluded)


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """First and last index of each stretch of true ones."""
    for flag, places in groupby(range(len(flags)), key=lambda at: flags[at]):
        if flag:
            stretch = list(places)
            yield stretch[0], stretch[-1]
