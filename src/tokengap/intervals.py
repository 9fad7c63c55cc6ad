"""Intervals of shares and means: how far chance moves a number."""

import math
from statistics import NormalDist
from typing import Final

CONFIDENCE: Final = 0.95
_EXPANDED: Final = 30
_ROUNDING: Final = 1e-9


def normal_quantile(confidence: float = CONFIDENCE) -> float:
    """Standard errors to either side of a mean that hold so large a share of a normal law.

    >>> round(normal_quantile(), 6)
    1.959964
    """
    return NormalDist().inv_cdf((1 + confidence) / 2)


def t_quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """As `normal_quantile`, of Student's law with so many degrees of freedom, 1 or more.

    Exact below 30, of which a part counts for nothing; else by the expansion of Cornish and Fisher
    to the third order (Abramowitz and Stegun 26.7.5).

    >>> [round(t_quantile(freedom), 2) for freedom in (1, 2, 10, 1000)]
    [12.71, 4.3, 2.23, 1.96]
    """
    if freedom < _EXPANDED:
        return _exact_t_quantile(int(freedom + _ROUNDING), confidence)
    z = normal_quantile(confidence)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def _exact_t_quantile(freedom: int, confidence: float) -> float:
    """Where the law's share within it is the confidence; by halving, as the share only grows."""
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _share_within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.tan(high) * math.sqrt(freedom)


def _share_within(angle: float, freedom: int) -> float:
    """Of Student's law within t = tan(angle) sqrt(freedom); Abramowitz and Stegun 26.7.3 and 4."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term, whole = (cosine, 0.0) if odd else (1.0, 0.0)
    for power in range(2 + odd, freedom + 1, 2):
        whole += term
        term *= cosine**2 * (power - 1) / power
    return (angle + sine * whole) * 2 / math.pi if odd else sine * whole


def wilson(kept: int, of: int, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Interval of a share whose trials are independent; None without any.

    E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209.

    >>> low, high = wilson(9, 10)
    >>> round(low, 4), round(high, 4)
    (0.5958, 0.9821)
    """
    if not of:
        return None
    z2 = normal_quantile(confidence) ** 2
    middle = kept + z2 / 2
    half = math.sqrt(z2) * math.sqrt(kept * (of - kept) / of + z2 / 4)
    return max((middle - half) / (of + z2), 0.0), min((middle + half) / (of + z2), 1.0)
