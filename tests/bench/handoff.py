"""Sweep a million points of the handoff budget: how many a second, against two other ways.

Run with `python -m tests.bench.handoff`. The exact budget, in rationals, is what a sweep replaces;
reading and writing as many doubles as a sweep returns is what no sweep can beat.
"""

from collections.abc import Callable
from fractions import Fraction
from statistics import median
from time import perf_counter
from typing import Final

import numpy as np
from rich.console import Console

from tokengap.handoff import PARAMETERS, Axis, Case, Handoff, Limits, Link, judge, sweep

MS: Final = 10**6
SIDE: Final = 1_000
EXACT_SIDE: Final = 60
RUNS: Final = 5
LIMITS: Final = Limits(ttft_ns=80 * MS, worst_gap_ns=20 * MS)
CASE: Final = Case(Handoff(40 * MS, 10 * MS, 0, Link(1)), output_tokens=100)


def axes(side: int) -> tuple[Axis, Axis]:
    """Bandwidths and caches, `side` of each."""
    rates = Axis(PARAMETERS["bandwidth"], [2**28 + step * 2**23 for step in range(side)])
    sizes = Axis(PARAMETERS["cache"], [2**20 + step * 2**16 for step in range(side)])
    return rates, sizes


def exactly(side: int) -> int:
    """Judge every point in rationals; how many pass."""
    rates, sizes = axes(side)
    met = 0
    for rate in rates.values:
        for size in sizes.values:
            handoff = Handoff(40 * MS, 10 * MS, size, Link(Fraction(rate)))
            promises = judge(handoff, LIMITS, CASE.output_tokens).values()
            met += all(promise.verdict != "missed" for promise in promises)
    return met


def touch(side: int) -> None:
    """Write and read three arrays of as many doubles, and one of verdicts."""
    values = [np.ones((side, side)) for _ in range(3)]
    np.logical_and.reduce([value > 0 for value in values])


def seconds(work: Callable[[], object]) -> float:
    """Median time of some runs."""
    times = []
    for _ in range(RUNS):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return median(times)


def main() -> None:
    """Print rates and ratios."""
    points = SIDE * SIDE
    swept_s = seconds(lambda: sweep(CASE, LIMITS, *axes(SIDE)))
    exact_s = seconds(lambda: exactly(EXACT_SIDE)) / EXACT_SIDE**2 * points
    touched_s = seconds(lambda: touch(SIDE))
    console = Console()
    console.print(f"sweep: {points / swept_s / 1e6:.1f} M points/s ({points:,} in {swept_s:.3f} s)")
    console.print(f"exact budget: {exact_s / swept_s:.0f} times as long")
    console.print(f"touching the memory alone: 1/{swept_s / touched_s:.1f} of it")


if __name__ == "__main__":
    main()
