"""Lines with no negative coefficient, fitted in relative error, and how far they can be trusted.

Noise of a step grows with it, so residuals count relative to the fitted time, and those beyond
1.345 robust standard deviations lose weight (Huber, 1964). With three coefficients, each line that
leaves some of them at zero can be tried, and the best is taken.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from tokengap.baseline.chance import UNKNOWN, Estimate, Numbers, estimate, resampled

LEAST_ROWS: Final = 12
MOVED_SHARE: Final = 0.3
"""A coefficient that moves by more between halves of the data is not identified."""
_RESAMPLES: Final = 200
_CLUSTERS: Final = 40  # stretches of neighbouring rows: a slow machine stays slow for a while
_MOST_ROWS: Final = 50_000
_TUNING: Final = 1.345
_NORMAL_MAD: Final = 1.4826
_ROUNDS: Final = 60
_SETTLED: Final = 1e-10
_FLOOR_SHARE: Final = 0.05  # of the median: no fitted value counts as less
_SINGULAR: Final = 1e-12


@dataclass(frozen=True)
class Coefficient:
    """A coefficient, and why the data does not identify it; None if it does."""

    estimate: Estimate
    unidentified: str | None

    @property
    def value(self) -> float:
        """The best value, 0 where there is none."""
        return self.estimate.value or 0.0


@dataclass(frozen=True)
class Line:
    """A fitted line: rows it rests on, coefficients, and the median relative error of its rows."""

    rows: int
    coefficients: tuple[Coefficient, ...]
    error_share: float | None


def fit_line(design: Numbers, values: Numbers, seed: int = 0) -> Line:
    """Fit values > 0, in the order in which they were measured; design: (rows, coefficients) >= 0.

    >>> design = np.column_stack([np.ones(40), np.arange(40.0)])
    >>> [round(each.value, 6) for each in fit_line(design, 5 + 2 * np.arange(40.0)).coefficients]
    [5.0, 2.0]
    """
    if len(values) < LEAST_ROWS:
        why = f"{len(values)} samples; {LEAST_ROWS} are needed"
        return Line(len(values), (Coefficient(UNKNOWN, why),) * design.shape[1], None)
    kept = np.linspace(0, len(values) - 1, min(len(values), _MOST_ROWS)).astype(np.int64)
    x, y = design[kept], values[kept]
    unit = np.where(x.max(axis=0) > 0, x.max(axis=0), 1)
    found, weights = _settle(x / unit, y)
    halves = [_settle((x / unit)[half::2], y[half::2])[0] for half in (0, 1)]
    drawn = _resample(x / unit, y, weights, seed)
    coefficients = tuple(
        Coefficient(
            estimate(found[at] / unit[at], drawn[:, at] / unit[at]),
            _unidentified(found[at], *(half[at] for half in halves)),
        )
        for at in range(x.shape[1])
    )
    error = float(np.median(np.abs(y - x / unit @ found) / y))
    return Line(len(values), coefficients, error)


def _unidentified(whole: float, first: float, second: float) -> str | None:
    if whole == 0:
        return "zero: the data shows none of it"
    if abs(first - second) > MOVED_SHARE * whole:
        return f"moves by {abs(first - second) / whole:.0%} between halves of the data"
    return None


def _settle(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Reweighted least squares: the line, and the weight of each row."""
    floor = _FLOOR_SHARE * float(np.median(y))
    weights = 1 / y**2
    line = _nonnegative(*_products(x, y, weights))
    for _ in range(_ROUNDS):
        fitted = np.maximum(x @ line, floor)
        relative = np.abs(y - x @ line) / fitted
        scale = _NORMAL_MAD * float(np.median(relative))
        outlying = relative / (_TUNING * scale) if scale else np.zeros_like(relative)
        weights = 1 / (fitted**2 * np.maximum(outlying, 1))
        before, line = line, _nonnegative(*_products(x, y, weights))
        if np.abs(line - before).max() <= _SETTLED * np.abs(line).max():
            break
    return line, weights


def _products(x: Numbers, y: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    weighted = x * weights[:, None]
    return weighted.T @ x, weighted.T @ y


def _nonnegative(products: Numbers, answers: Numbers) -> Numbers:
    """The coefficients, none negative, of least squared error: of c'Pc - 2c'a the smallest."""
    best, least = np.zeros(len(answers)), 0.0
    for size in range(1, len(answers) + 1):
        for chosen in combinations(range(len(answers)), size):
            part = products[np.ix_(chosen, chosen)]
            scale = np.sqrt(np.diag(part))
            if not scale.all() or np.linalg.det(part / np.outer(scale, scale)) < _SINGULAR:
                continue
            line = np.zeros(len(answers))
            line[list(chosen)] = np.linalg.solve(part, answers[list(chosen)])
            error = float(line @ products @ line - 2 * line @ answers)
            if (line >= 0).all() and error < least:
                best, least = line, error
    return best


def _resample(x: Numbers, y: Numbers, weights: Numbers, seed: int) -> Numbers:
    """Lines of resampled stretches of rows; shape (resamples, coefficients)."""
    clusters = min(_CLUSTERS, len(y) // 2)
    of_row = np.arange(len(y)) * clusters // len(y)
    parts = [_products(x[at], y[at], weights[at]) for at in (of_row == n for n in range(clusters))]
    products = np.array([part for part, _ in parts])
    answers = np.array([answer for _, answer in parts])
    draws = resampled(clusters, _RESAMPLES, seed)
    return np.array(
        [_nonnegative(np.tensordot(draw, products, 1), draw @ answers) for draw in draws]
    )
