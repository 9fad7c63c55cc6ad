"""The largest rate at which an arm still keeps its promises, by bisection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tokengap.errors import UsageError
from tokengap.replay.sweep.arms import Arm
from tokengap.replay.sweep.trial import Case, trial

STEP: Final = 1.03
"""Rates are told apart to this ratio."""
_FAR: Final = 2.0
_MOST_STEPS: Final = 8  # of the search for two rates to begin with: 256 times the rate, or 1/256


@dataclass(frozen=True)
class Capacity:
    """rate_per_s: the largest rate seen to keep the target; None if no rate does.

    is_bound: even the highest rate that was tried kept it, so the rate is a lower bound.
    """

    rate_per_s: float | None
    is_bound: bool = False


def largest_rate(arm: Arm, case: Case, target: float, seeds: Sequence[int]) -> Capacity:
    """Rate at which a share of `target` of the requests is good, over these drawings together.

    The mix of lengths and the shape of the arrivals stay; only time is stretched. UsageError for a
    target that is no share, or a workload without a rate.
    """
    if not 0 < target <= 1:
        raise UsageError(f"a target of {target:g} is no share of requests; write 0.9 for 90 %")
    if not case.workload.rate_per_s or case.workload.users:
        raise UsageError("a rate to raise needs arrivals with a span, in an open loop")

    def keeps(factor: float) -> bool:
        return _keeps(arm, case, target, seeds, factor)

    found = _bracket(keeps)
    if found is None:
        return Capacity(None)
    low, high = found
    if high is None:
        return Capacity(low * case.workload.rate_per_s, is_bound=True)
    while high / low > STEP:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return Capacity(low * case.workload.rate_per_s)


def _bracket(keeps: Callable[[float], bool]) -> tuple[float, float | None] | None:
    """A factor that keeps the target and one that does not; None if none keeps it."""
    factor = 1.0
    if keeps(factor):
        for _ in range(_MOST_STEPS):
            if not keeps(factor * _FAR):
                return factor, factor * _FAR
            factor *= _FAR
        return factor, None
    for _ in range(_MOST_STEPS):
        if keeps(factor / _FAR):
            return factor / _FAR, factor
        factor /= _FAR
    return None


def _keeps(arm: Arm, case: Case, target: float, seeds: Sequence[int], factor: float) -> bool:
    offered = good = behind = 0
    for seed in seeds:
        arrivals = case.drawn(seed)
        faster = arrivals.at_rate(arrivals.rate_per_s * factor)
        found = trial(arm, case, seed, faster)
        behind += not found.keeps_up
        offered += found.score.offered
        good += found.score.good
    return good >= target * offered and 2 * behind <= len(seeds)
