"""When the last token came, worked out from a mean whose divisor was not kept.

LLMPerf writes mean = total / n. The total is the time of the last token since the request was sent;
n, a number of events or tokens, is gone. But the total is a sum of differences of one clock, and a
clock read as a double has a smallest step, a power of two, that every such sum is a multiple of.
The file's own durations show the step. Of the possible n, most give a total between two steps and
are ruled out; where a single one is left, it is the true one, and the total is known. With a step
of 2^-41 s, a wrong n stays in with a chance of about 1 in 10,000 each.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.shared.parallel_arrays import Floats

LEAST_DURATIONS: Final = 32
"""With fewer, all of them might by chance be multiples of twice the step."""
MOST_DIVISORS: Final = 1 << 20
CANDIDATES: Final = 1 << 16
"""How many are tried at once."""

_SLACK: Final = 1e-12
_MANTISSA_BITS: Final = 53
_WORD_BITS: Final = 63


@dataclass(frozen=True)
class Means:
    """Means above 0, and the least and greatest that each one's total may be; seconds."""

    mean_s: Floats
    least_s: Floats
    most_s: Floats

    def divisors(self) -> tuple[Ints, Ints]:
        """Return the least possible n of each, and how many there are; 0 if too many to try."""
        least = np.maximum(1, np.ceil(self.least_s / self.mean_s * (1 - _SLACK)))
        most = np.floor(self.most_s / self.mean_s * (1 + _SLACK))
        tried = np.maximum(most - least + 1, 0)
        tried[tried > MOST_DIVISORS] = 0
        return least.astype(np.int64), tried.astype(np.int64)


def totals_s(means: Means, durations_s: Floats) -> Floats:
    """Return the total behind each mean; NaN where more than one is possible.

    durations_s: durations above 0 that were taken with the same clock. A mean that no n fits shows
    that the clock or the formula is another one: then nothing is known of any.
    """
    unknown = np.full(len(means.mean_s), np.nan)
    if len(durations_s) < LEAST_DURATIONS:
        return unknown
    mantissa, unit_bits = _whole(means.mean_s)
    step_in_units = unit_bits - _bits(durations_s).max()
    least, tried = means.divisors()
    if (step_in_units[tried > 0] >= _WORD_BITS).any():
        return unknown
    below_step = (np.int64(1) << np.clip(step_in_units, 0, None)) - 1
    fitting, largest = np.zeros(len(tried), np.int64), np.zeros(len(tried), np.int64)
    cuts = np.searchsorted(np.cumsum(tried), np.arange(CANDIDATES, tried.sum(), CANDIDATES))
    for rows in np.split(np.arange(len(tried)), np.unique(cuts)):
        of_row = tried[rows]
        row = np.repeat(rows, of_row)
        divisor = np.repeat(least[rows] - np.cumsum(of_row) + of_row, of_row) + np.arange(len(row))
        fits = _fit(mantissa[row], below_step[row], divisor)
        np.add.at(fitting, row[fits], 1)
        np.maximum.at(largest, row[fits], divisor[fits])
    if (fitting[tried > 0] == 0).any():
        return unknown
    return np.where(fitting == 1, means.mean_s * largest, unknown)


def _whole(seconds: Floats) -> tuple[Ints, Ints]:
    """Each number in units of its last bit, and how many binary places a unit has."""
    fraction, exponent = np.frexp(seconds)
    places: Ints = _MANTISSA_BITS - exponent.astype(np.int64)
    return (fraction * 2.0**_MANTISSA_BITS).astype(np.int64), places


def _bits(seconds: Floats) -> Ints:
    """How many binary places each number has."""
    mantissa, places = _whole(seconds)
    _, lowest = np.frexp((mantissa & -mantissa).astype(np.float64))
    needed: Ints = places - (lowest - 1)
    return needed


def _fit(mantissa: Ints, below_step: Ints, divisor: Ints) -> Ints:
    """Where n * mean is a multiple of the step, a power of two; of it and the mean, in units.

    The total of n is n * mantissa, off by n / 2 at most, because the mean was rounded. Only the
    lowest bits of the product count.
    """
    half = divisor >> 1
    over = (divisor * mantissa + half) & below_step
    return np.flatnonzero(over <= half << 1)
