"""How far chance moves a number: resampled clusters, and the interval that most resamples lie in.

What happens at one time on one worker is one thing, however many streams it hits: whole clusters
are drawn, with replacement (Efron, 1979; Field and Welsh, 2007, on clusters).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

RESAMPLES: Final = 400
_PERCENTILES: Final = (2.5, 97.5)


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; None where the data does not tell."""

    value: float | None
    low: float | None
    high: float | None


UNKNOWN: Final = Estimate(None, None, None)


def resampled(clusters: int, resamples: int, seed: int) -> Iterator[Counts]:
    """How often each cluster is drawn, once per resample."""
    random = np.random.default_rng(seed)
    for _ in range(resamples):
        yield np.bincount(random.integers(clusters, size=clusters), minlength=clusters)


def estimate(value: float, resamples: Numbers) -> Estimate:
    """The value with the interval of its resamples, of which those that are NaN tell nothing."""
    told = resamples[np.isfinite(resamples)]
    if not np.isfinite(value) or not len(told):
        return UNKNOWN
    low, high = np.percentile(told, _PERCENTILES)
    return Estimate(float(value), float(low), float(high))
