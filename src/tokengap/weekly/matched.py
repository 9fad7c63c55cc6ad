"""The difference of a mean between two periods at equal mix, and how far chance moves it.

Requests are compared with those of the same stratum, such as of the same lengths. The differences
of the strata are averaged with the weights n n' / (n + n') of Mantel and Haenszel, as for risk
differences by Greenland and Robins (Biometrics 41 (1985) 55): what only one period has counts
nothing. What happens at one time hits many requests, so the spread is that of whole blocks of time;
a block is paired with that of the same time of the other week, so that a daily rhythm which both
share is no noise. Residuals are from the stratum's mean over both periods, moved by the difference
of all strata together, so that a change which is the same everywhere is no noise either; with the
correction n / (n - 1) of a sample variance.
"""

from dataclasses import dataclass

import numpy as np

from tokengap.weekly.cells import Counts, Flags, Numbers


@dataclass(frozen=True)
class Matched:
    """A difference at equal mix: later less earlier period.

    pushes: by block, how much of it the requests of the block make. beyond: what they make beyond
    their part of a difference that is the same everywhere; these squares' sum is the variance.
    share: of the requests that are in strata which both periods have.
    """

    difference: float
    pushes: Numbers
    beyond: Numbers
    share: float


def matched(
    now: Flags, block: Counts, stratum: Counts, count: Numbers, total: Numbers, blocks: int
) -> Matched | None:
    """The difference of total / count; None if no stratum has requests in both periods.

    All arrays are of one length, an entry a cell; block and stratum are numbered from 0.
    """
    strata = int(stratum.max(initial=-1)) + 1
    counts, totals = (
        np.stack([np.bincount(stratum, values * side, strata) for side in (~now, now)])
        for values in (count, total)
    )
    both = counts.sum(axis=0)
    shared = counts.min(axis=0) > 0
    if not shared.any():
        return None
    weights = np.divide(counts[0] * counts[1], both, out=np.zeros(strata), where=shared)
    mean = np.divide(totals.sum(axis=0), both, out=np.zeros(strata), where=both > 0)
    correction = np.sqrt(np.divide(both, both - 1, out=np.ones(strata), where=both > 1))
    scale = weights / weights.sum()
    pull = np.divide(scale, counts, out=np.zeros((2, strata)), where=shared)
    side = now.astype(int)
    pushed = np.where(now, 1.0, -1.0) * pull[side, stratum] * (total - count * mean[stratum])
    others = np.divide(counts[::-1], both, out=np.zeros((2, strata)), where=shared)
    part = count * pull[side, stratum] * others[side, stratum]
    difference = float(pushed.sum())

    def by_block(values: Numbers) -> Numbers:
        return np.bincount(block, values * correction[stratum], blocks).astype(np.float64)

    return Matched(
        difference=difference,
        pushes=by_block(pushed),
        beyond=by_block(pushed - difference * part),
        share=float(both[shared].sum() / both.sum()),
    )


def numbered(key: Counts) -> Counts:
    """The same keys, numbered from 0."""
    return np.unique(key, return_inverse=True)[1].astype(np.int64)
