"""Overhead and bandwidth from observed handoffs: a robust line of time against bytes.

Noise of a handoff grows with it, so residuals count relative to the fitted time, and those beyond
1.345 robust standard deviations lose weight (Huber, 1964). The intervals are of the sandwich form
with residuals inflated by their leverage (HC3; MacKinnon and White, 1985): they hold for noise that
differs from handoff to handoff. Their t quantile counts the handoffs that carry the estimate
(Satterthwaite, 1946), not all that there are: two large caches may carry a slope alone.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tokengap.intervals import t_quantile

Numbers = npt.NDArray[np.float64]

LEAST_HANDOFFS: Final = 30
LEAST_SIZES: Final = 3
LEAST_RATIO: Final = 1.5  # of the 90th to the 10th percentile of sizes
_TUNING: Final = 1.345  # 95 % efficient where noise is normal
_NORMAL_MAD: Final = 1.4826  # standard deviations of a normal in one median absolute deviation
_ROUNDS: Final = 60
_SETTLED: Final = 1e-9
_LEAST_SHARE_LEFT: Final = 0.1  # of a residual's own size, after its leverage
_FLOOR_SHARE: Final = 0.05  # of the median time: no fitted time counts as shorter
NS_PER_S: Final = 1e9


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; an end that the data does not bound is None."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Fit:
    """What handoffs say about a link, or why they say nothing.

    bandwidth_bytes_per_s is effective: the inverse of the time that one more byte takes.
    overhead_ns is the time of a handoff of no bytes. residual_spread_ns: robust standard deviation
    of observed less fitted time. explained_share: squared correlation of time and bytes, the most
    of the variance that any line in bytes explains; None if all times are equal.
    cannot_tell: why the line means nothing; the estimates are then None.
    """

    handoffs: int
    overhead_ns: Estimate
    bandwidth_bytes_per_s: Estimate
    residual_spread_ns: float | None
    explained_share: float | None
    cannot_tell: str | None = None

    def time_ns(self, size_bytes: float) -> float | None:
        """Fitted time of a handoff of this size; None if the data could not tell."""
        overhead, bandwidth = self.overhead_ns.value, self.bandwidth_bytes_per_s.value
        if overhead is None or bandwidth is None:
            return None
        return overhead + size_bytes / bandwidth * NS_PER_S


UNKNOWN: Final = Estimate(None, None, None)


def fit(sizes_bytes: Numbers, times_ns: Numbers) -> Fit:
    """Fit the handoffs of one link, or of links that are alike; arrays of one length.

    >>> sizes = np.linspace(1e6, 1e8, 50)
    >>> found = fit(sizes, 2e6 + sizes)
    >>> round(found.overhead_ns.value), round(found.bandwidth_bytes_per_s.value)
    (2000000, 1000000000)
    """
    explained = _explained(sizes_bytes, times_ns)
    if reason := _too_little(sizes_bytes):
        return Fit(len(sizes_bytes), UNKNOWN, UNKNOWN, None, explained, reason)
    line, pushes, spread_ns = _robust(sizes_bytes, times_ns)
    return _judged(len(sizes_bytes), line, pushes, spread_ns, explained)


def _too_little(sizes: Numbers) -> str | None:
    if len(sizes) < LEAST_HANDOFFS:
        return f"{len(sizes)} handoffs with a known size; {LEAST_HANDOFFS} are needed"
    if (different := len(np.unique(sizes))) < LEAST_SIZES:
        return f"{different} different sizes; {LEAST_SIZES} are needed"
    low, high = np.percentile(sizes, [10, 90])
    if high < LEAST_RATIO * low:
        return f"sizes are too uniform: the 90th percentile is {high / low:.2f} times the 10th"
    return None


def _judged(
    handoffs: int, line: Numbers, pushes: Numbers, spread_ns: float, explained: float | None
) -> Fit:
    overhead, slope = (_interval(value, push) for value, push in zip(line, pushes.T, strict=True))
    if slope.low is None or slope.value is None or slope.low <= 0:
        reason = (
            "time does not grow with bytes beyond its noise: the link is not what is waited for"
        )
        return Fit(handoffs, UNKNOWN, UNKNOWN, spread_ns, explained, reason)
    bandwidth = Estimate(
        *(NS_PER_S / each for each in (slope.value, slope.high or slope.value, slope.low))
    )
    return Fit(handoffs, overhead, bandwidth, spread_ns, explained)


def _interval(value: float, pushes: Numbers) -> Estimate:
    """pushes: what each handoff's noise moved the value by; the sum of squares is its variance."""
    squares = np.square(pushes)
    variance = float(squares.sum())
    half = float(np.sqrt(variance))
    if variance:
        # A normal variate's fourth power is three times its squared square, on average.
        half *= t_quantile(max(1.0, 3 * variance**2 / float((squares**2).sum())))
    return Estimate(float(value), float(value - half), float(value + half))


def _robust(sizes: Numbers, times: Numbers) -> tuple[Numbers, Numbers, float]:
    """Overhead (ns) and time per byte (ns), what each handoff moved them by, residual spread."""
    unit = float(np.median(sizes)) or float(sizes.max())  # keeps both columns of like size
    design = np.column_stack([np.ones_like(sizes), sizes / unit])
    line, weights, free = _settle(design, times)
    residuals = times - design @ line
    back = np.array([1.0, 1.0 / unit])
    spread = _NORMAL_MAD * float(np.median(np.abs(residuals - np.median(residuals))))
    return line * back, _pushes(design, residuals, weights, free) * back, spread


def _settle(design: Numbers, times: Numbers) -> tuple[Numbers, Numbers, npt.NDArray[np.bool_]]:
    """Reweighted least squares: the line, each weight, and which residuals count whole."""
    floor = _FLOOR_SHARE * float(np.median(times))
    weights, outlying = np.ones_like(times), np.zeros_like(times)
    line = _least_squares(design, times, weights)
    for _ in range(_ROUNDS):
        fitted = np.maximum(design @ line, floor)
        relative = (times - design @ line) / fitted
        scale = _NORMAL_MAD * float(np.median(np.abs(relative)))
        outlying = np.abs(relative) / (_TUNING * scale) if scale else np.zeros_like(relative)
        weights = 1 / (fitted**2 * np.maximum(outlying, 1))
        before, line = line, _least_squares(design, times, weights)
        if np.abs(line - before).max() <= _SETTLED * np.abs(line).max():
            break
    return line, weights, outlying <= 1


def _least_squares(design: Numbers, times: Numbers, weights: Numbers) -> Numbers:
    root = np.sqrt(weights)
    solved, *_ = np.linalg.lstsq(design * root[:, None], times * root, rcond=None)
    return solved.astype(np.float64, copy=False)


def _pushes(
    design: Numbers, residuals: Numbers, weights: Numbers, free: npt.NDArray[np.bool_]
) -> Numbers:
    """What each residual moved the line by, inflated by its leverage: HC3; shape (handoffs, 2).

    A residual that is held to its bound pushes no further when the line moves: only free ones make
    the slope of the estimating equations.
    """
    weighted = design * weights[:, None]
    bread = np.linalg.inv(design[free].T @ weighted[free])
    leverage = np.einsum("ij,jk,ik->i", design, bread, weighted)
    inflated = residuals / np.maximum(1 - leverage, _LEAST_SHARE_LEFT)
    pushes: Numbers = (weighted * inflated[:, None]) @ bread
    return pushes


def _explained(sizes: Numbers, times: Numbers) -> float | None:
    if len(sizes) < LEAST_SIZES or not np.ptp(times) or not np.ptp(sizes):
        return None
    return float(np.corrcoef(sizes, times)[0, 1] ** 2)
