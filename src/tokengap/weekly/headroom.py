"""How much load a service's promises were kept under."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from tokengap.slo.model import Goal
from tokengap.weekly.cells import Counts
from tokengap.weekly.model import Headroom

TENTHS: Final = 10
LEAST_HOURS: Final = 24


def headroom(offered: Counts, promises: Sequence[tuple[Goal, Counts, Counts]]) -> Headroom | None:
    """Of the week's hours; None with too few of them, or without a promise.

    offered: requests of each hour. promises: each with its met and applicable requests by hour.
    Hours are taken together by tenths of their load, from the fullest down: one tells little.
    """
    seen = offered > 0
    if seen.sum() < LEAST_HOURS or not promises:
        return None
    load = offered[seen]
    found = [
        (_kept_up_to(load, met[seen], applies[seen], Fraction(goal.target)), goal.statistic)
        for goal, met, applies in promises
    ]
    most, statistic = min(found, key=lambda each: -1 if each[0] is None else each[0])
    return Headroom(
        statistic=statistic,
        peak_per_h=int(load.max()),
        usual_per_h=float(np.median(load)),
        kept_up_to_per_h=most,
        breaks=most is None or most < int(load.max()),
    )


def _kept_up_to(load: Counts, met: Counts, applies: Counts, target: Fraction) -> int | None:
    """The load beyond which every tenth of the hours misses the target, and the others reach it."""
    edges = np.unique(np.quantile(load, np.arange(1, TENTHS) / TENTHS, method="higher"))
    most = int(load.max())
    for edge in reversed(edges.tolist()):
        fuller = (load > edge) & (load <= most)
        if not fuller.any():
            continue
        if _reaches(met[fuller], applies[fuller], target):
            break
        most = int(edge)
    if most < np.median(load):
        return None  # hours at the usual load miss it, too: it is not the load that breaks it
    quieter = load <= most
    return most if _reaches(met[quieter], applies[quieter], target) else None


def _reaches(met: Counts, applies: Counts, target: Fraction) -> bool:
    return int(met.sum()) >= target * int(applies.sum())
