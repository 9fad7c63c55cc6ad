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

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.parallel_arrays import Floats

LEAST_DURATIONS: Final = 32
"""With fewer, all of them might by chance be multiples of twice the step."""
MOST_DIVISORS: Final = 1 << 20
CANDIDATES: Final = 1 << 22
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
    step_bits = _bits(durations_s).max()
    least, tried = means.divisors()
    fitting, largest = np.zeros(len(tried), np.int64), np.zeros(len(tried), np.int64)
    cuts = np.searchsorted(np.cumsum(tried), np.arange(CANDIDATES, tried.sum(), CANDIDATES))
    for rows in np.split(np.arange(len(tried)), np.unique(cuts)):
        row = np.repeat(rows, tried[rows])
        begins = np.repeat(np.cumsum(tried[rows]) - tried[rows], tried[rows])
        divisor = least[row] + np.arange(len(row)) - begins
        fits = _fit(means.mean_s[row], divisor, step_bits)
        np.add.at(fitting, row[fits], 1)
        np.maximum.at(largest, row[fits], divisor[fits])
    if (fitting[tried > 0] == 0).any():
        return unknown
    return np.where(fitting == 1, means.mean_s * largest, unknown)


def _bits(seconds: Floats) -> Ints:
    """How many binary places each number has."""
    fraction, exponent = np.frexp(seconds)
    mantissa = (fraction * 2.0**_MANTISSA_BITS).astype(np.int64)
    _, lowest = np.frexp((mantissa & -mantissa).astype(np.float64))
    places: Ints = _MANTISSA_BITS - exponent - (lowest - 1)
    return places


def _fit(mean_s: Floats, divisor: Ints, step_bits: np.int64) -> Bools:
    """Whether n * mean is a multiple of the step.

    In units of the mean's last bit, the total of n is the integer n * mantissa, off by n / 2 at
    most, because the mean was rounded. The step is a power of two of these units.
    """
    fraction, exponent = np.frexp(mean_s)
    units_bits = _MANTISSA_BITS - exponent - step_bits
    step = np.int64(1) << np.clip(units_bits, 0, _WORD_BITS - 1)
    with np.errstate(over="ignore"):  # only the lowest bits of the product count
        total = divisor * (fraction * 2.0**_MANTISSA_BITS).astype(np.int64)
    beyond = total & (step - 1)
    off = np.minimum(beyond, step - beyond)
    fits: Bools = (2 * off <= divisor) & (units_bits < _WORD_BITS)
    return fits
