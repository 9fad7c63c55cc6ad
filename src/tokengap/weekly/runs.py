"""A run against earlier runs of the same: what they differ by anyway is no regression.

Runs of one benchmark differ by more than their requests do: a warm cache, a neighbour, the
weather of a cluster. Their differences tell by how much: it is the part that their own requests do
not explain (DerSimonian and Laird, Controlled Clinical Trials 7 (1986) 177). A few runs tell little
and may be alike by chance, so what benchmarks of serving often differ by, a tenth, counts as much
as half a run does: all that one run has to go by, and next to nothing beside ten.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from tokengap.weekly.cells import Cells, joined
from tokengap.weekly.compare import Spread, compare, kept_difference, value_difference
from tokengap.weekly.matched import Matched
from tokengap.weekly.model import Change

ASSUMED_RUNS: Final = 0.5
"""What is assumed of the spread counts as so many runs."""
ASSUMED_FREEDOM: Final = 6
"""Degrees of freedom of it, for the tails of the interval."""
ASSUMED_VALUE: Final = 0.1
"""Standard deviation of the logarithm of a statistic between runs."""
ASSUMED_KEPT: Final = 0.02
"""Likewise, of the share that keeps a limit."""
LEAST_CHANGE: Final = 0.01
"""Of the share that keeps a limit: less does not matter where there is no target."""


def against_runs(run: Cells, before: Sequence[Cells], comparisons: int) -> Change:
    """How the run differs from those before, one or more, beyond what these differ by."""
    both = joined([*before, run], now=[*(False for _ in before), True])
    found = _spread(before)
    more = 1 + 1 / len(before)
    spread = Spread(found.kept * more, found.value * more, found.freedom)
    return compare(both, LEAST_CHANGE, comparisons, spread)


def _spread(runs: Sequence[Cells]) -> Spread:
    """Variances between the runs."""
    apart = [
        joined(runs, now=[other is one for other in range(len(runs))])
        for one in range(len(runs))
        if len(runs) > 1
    ]
    told = len(runs) - 1
    kept, value = (
        (ASSUMED_RUNS * assumed**2 + told * _between([find(cells) for cells in apart]))
        / (ASSUMED_RUNS + told)
        for assumed, find in (
            (ASSUMED_KEPT, kept_difference),
            (ASSUMED_VALUE, value_difference),
        )
    )
    return Spread(kept, value, told + ASSUMED_FREEDOM)


def _between(apart: Sequence[Matched | None]) -> float:
    """From each run's difference to the others: what their own requests do not explain."""
    known = [each for each in apart if each is not None]
    runs = len(apart)
    if not known:
        return 0.0
    whole = sum(each.difference**2 for each in known) * (runs - 1) / (runs * len(known))
    own = np.mean([float((each.beyond**2).sum()) for each in known]) * (runs - 1) / runs
    return max(whole - float(own), 0.0)
