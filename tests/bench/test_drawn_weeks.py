"""The weeks that alarms are counted on are what they are said to be."""

from itertools import pairwise

import numpy as np

from tests.bench.alarms import INCIDENTS, SLOWER, pair
from tests.bench.drawn_weeks import LIMITS_NS


def test_a_slowed_week_differs_in_the_longest_gap_of_each_request_alone() -> None:
    _, alike = pair(7, 500, incidents=INCIDENTS, slower=1.0)
    _, slowed = pair(7, 500, incidents=INCIDENTS, slower=SLOWER)
    np.testing.assert_array_equal(alike.sent_ns, slowed.sent_ns)
    np.testing.assert_array_equal(alike.ttft_ns, slowed.ttft_ns)
    worst = slowed.values_ns["worst_gap"] / alike.values_ns["worst_gap"]
    np.testing.assert_allclose(worst, SLOWER, rtol=1e-6)
    assert (alike.gaps_ns != slowed.gaps_ns).sum() == len(alike.sent_ns)


def test_bursts_stall_at_one_instant() -> None:
    """Many gaps that are over the limit hold an instant in common with one of another request."""
    _, week = pair(7, 5000, incidents=INCIDENTS, slower=1.0)
    first_ns = np.repeat(week.sent_ns + week.ttft_ns, week.output_tokens - 1)
    since_ns = np.cumsum(week.gaps_ns)
    ends_ns = (
        first_ns
        + since_ns
        - np.repeat((since_ns - week.gaps_ns)[week.starts], week.output_tokens - 1)
    )
    long = week.gaps_ns > LIMITS_NS["worst_gap"]
    spans = sorted(zip(ends_ns[long] - week.gaps_ns[long], ends_ns[long], strict=True))
    shared = sum(start < end for (_, end), (start, _) in pairwise(spans))
    assert shared > len(spans) / 4
