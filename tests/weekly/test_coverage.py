from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weekly.hourly import WEEK
from tokengap.slo.model import Exclusion
from tokengap.weekly.calendar import HOURS
from tokengap.weekly.coverage import coverage
from tokengap.weekly.model import Coverage

START = datetime(2026, 11, 23, tzinfo=UTC)
HOUR = timedelta(hours=1)
END = START + HOURS * HOUR


def covered(
    silent: Sequence[int] = (), until: datetime = END, excluded: Sequence[Exclusion] = ()
) -> Coverage:
    """Of a week with three requests in every hour but these."""
    requests = np.array([3 * (hour not in silent) for hour in range(HOURS)])
    return coverage(requests, WEEK, until, excluded)


def between(first: float, after: float, reason: str = "kernels") -> Exclusion:
    return Exclusion(START + first * HOUR, START + after * HOUR, reason)


def test_a_full_week() -> None:
    found = covered()
    assert (found.hours_due, found.hours_seen, found.holes) == (168, 168, [])
    assert found.share == 1


def test_holes_are_told_longest_first() -> None:
    """Hours 5, 20 to 22 and 100: 163 of 168 are seen."""
    found = covered([100, 20, 21, 22, 5])
    assert (found.hours_due, found.hours_seen) == (168, 163)
    assert found.holes == [
        (START + 20 * HOUR, START + 23 * HOUR),
        (START + 5 * HOUR, START + 6 * HOUR),
        (START + 100 * HOUR, START + 101 * HOUR),
    ]


def test_a_week_that_goes_on_is_due_so_far() -> None:
    """To Wednesday at 01: 49 hours; a begun hour is due, one that begins then is not."""
    silent = range(40, HOURS)
    assert covered(silent, START + 49 * HOUR).hours_due == 49
    found = covered(silent, START + 48 * HOUR + timedelta(minutes=1))
    assert (found.hours_due, found.hours_seen) == (49, 40)
    assert found.holes == [(START + 40 * HOUR, START + 49 * HOUR)]
    assert covered(silent, START).share is None
    assert covered(silent, START - HOUR).hours_due == 0


def test_only_whole_hours_are_excluded() -> None:
    """From 02:30 to 05:00, hours 3 and 4 are; their requests, if any, count no more."""
    found = covered([2, 3], excluded=[between(2.5, 5)])
    assert (found.hours_due, found.hours_seen) == (166, 165)
    assert found.holes == [(START + 2 * HOUR, START + 3 * HOUR)]
    exact = covered(excluded=[between(0, 1)])
    assert (exact.hours_due, exact.hours_seen) == (167, 167)


def test_an_exclusion_parts_a_hole() -> None:
    found = covered(range(10, 20), excluded=[between(14, 16)])
    assert found.holes == [
        (START + 10 * HOUR, START + 14 * HOUR), (START + 16 * HOUR, START + 20 * HOUR),
    ]  # fmt: skip


def test_exclusions_may_reach_beyond_the_week() -> None:
    found = covered(range(HOURS), excluded=[between(-50, 900)])
    assert (found.hours_due, found.hours_seen, found.share, found.holes) == (0, 0, None, [])


def test_nothing_seen_is_one_hole() -> None:
    found = covered(range(HOURS))
    assert (found.hours_seen, found.share) == (0, 0)
    assert found.holes == [(START, END)]


@given(st.sets(st.integers(0, HOURS - 1)), st.integers(0, HOURS), st.integers(0, 170))
@settings(max_examples=50)
def test_due_hours_are_seen_or_in_a_hole(silent: set[int], until: int, first: int) -> None:
    found = covered(sorted(silent), START + until * HOUR, [between(first, first + 3)])
    due = [hour for hour in range(until) if not first <= hour < first + 3]
    assert found.hours_due == len(due)
    assert found.hours_seen == len(set(due) - silent)
    spans = [range((a - START) // HOUR, (b - START) // HOUR) for a, b in found.holes]
    assert sorted(hour for span in spans for hour in span) == sorted(silent.intersection(due))
    assert [len(span) for span in spans] == sorted(map(len, spans), reverse=True)
