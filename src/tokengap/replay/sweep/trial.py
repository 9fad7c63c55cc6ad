"""One arm on one drawing of the arrivals, in numbers that can be sent between processes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tokengap.replay.faults import Fault
from tokengap.replay.outcome import Outcome
from tokengap.replay.run import replay
from tokengap.replay.sweep.arms import Arm
from tokengap.replay.sweep.score import Score, score
from tokengap.replay.workload import MS_PER_S, Floats, Workload
from tokengap.slo import Objective

MEASURES: Final = ("ttft", "tpot", "worst_gap", "first_gap", "worst_later_gap")
PERCENTILES: Final = (50, 90, 99)
_GROWTH_RATIO: Final = 3.0
"""Waits of the last third against those of the first: a queue that grows from nothing makes 5."""
_GROWTH_SHARE: Final = 0.02
"""Of the time between the two, which waits must have grown by: less is a burst."""
_THIRDS: Final = 3
_LEAST: Final = 16  # requests of a third


@dataclass(frozen=True)
class Case:
    """What every arm is asked: the same arrivals, promises and faults."""

    workload: Workload
    objectives: Sequence[Objective]
    faults: Sequence[Fault] = ()
    within_ns: Sequence[int] = ()
    """Limits at which worst gaps are counted beside the promised one."""

    def drawn(self, seed: int | None) -> Workload:
        """Arrivals as they were, or drawn anew from their own intervals: the same for all arms.

        Of a closed loop, the think times in another order.
        """
        if seed is None:
            return self.workload
        if self.workload.users:
            order = np.random.default_rng(seed).permutation(len(self.workload))
            return replace(self.workload, arrival_ms=self.workload.arrival_ms[order])
        return self.workload.resampled(seed)


@dataclass(frozen=True)
class Trial:
    """What came of one replay. Percentiles are of completed requests, in ns by measure."""

    score: Score
    goodput_per_s: float
    percentiles_ns: Mapping[str, Mapping[int, float]]
    queue_growth_per_s: Mapping[str, float | None]
    wasted: Mapping[str, float]
    transfer_bytes: float
    spare_share: float
    """Of all workers' time, weighted by their GPUs, the part in no step."""
    within: Mapping[int, float]
    """Share of offered requests that completed with a worst gap within each of `Case.within_ns`."""
    is_stable: bool
    queues: Mapping[str, Sequence[float]]
    """`at_s`, and the requests that each pool holds then."""
    grows: str | None
    """The pool that falls behind: the last requests wait three times as long as the first ones
    for their first token (prefill), or for each further one (decode). None: neither. A log may be
    too short for a queue to be seen to grow without end.
    """

    @property
    def keeps_up(self) -> bool:
        """Neither pool falls behind."""
        return self.is_stable and self.grows is None

    @property
    def attainment(self) -> float:
        """Share of offered requests that kept every promise; 0 of none."""
        return self.score.good / self.score.offered if self.score.offered else 0.0


def trial(
    arm: Arm,
    case: Case,
    seed: int | None,
    workload: Workload | None = None,
    *,
    to_the_end: bool = False,
) -> Trial:
    """Replay an arm.

    workload: instead of the case's own, drawn by the seed. to_the_end: even if a queue seems to
    grow without end.
    """
    arrivals = case.drawn(seed) if workload is None else workload
    outcome = replay(
        arrivals,
        arm.pools,
        arm.models,
        faults=case.faults,
        seed=seed or 0,
        to_the_end=to_the_end,
    )
    judged = score(outcome, case.objectives)
    span_s = outcome.end_ms / MS_PER_S
    return Trial(
        score=judged,
        goodput_per_s=judged.good / span_s if span_s else 0.0,
        percentiles_ns=_percentiles(outcome),
        queue_growth_per_s=outcome.queues.growth_per_s(),
        wasted=outcome.wasted.as_dict(),
        transfer_bytes=outcome.transfer_bytes,
        spare_share=_spare(outcome),
        within=_within(outcome, case.within_ns, judged.offered),
        is_stable=outcome.is_stable,
        queues=_queues(outcome),
        grows=_grows(outcome),
    )


def _queues(outcome: Outcome) -> dict[str, list[float]]:
    seen = outcome.queues
    at_s = [at_ms / MS_PER_S for at_ms in seen.at_ms]
    return {"at_s": at_s, "prefill": list(seen.prefill), "decode": list(seen.decode)}


def whole_trial(arm: Arm, case: Case, seed: int) -> Trial:
    """A trial of the case's own load, to its end."""
    return trial(arm, case, seed, to_the_end=True)


def _grows(outcome: Outcome) -> str | None:
    if len(outcome) < _THIRDS * _LEAST:
        return None
    began_ns, _, ended_ns = _by_thirds(outcome.arrival_ns.astype(np.float64))
    least_ns = _GROWTH_SHARE * (ended_ns - began_ns)
    gaps = np.maximum(outcome.tokens - 1, 1)
    for pool, waits_ns, times in (
        ("prefill", outcome.latency.ttft_ns, 1),
        ("decode", outcome.latency.tpot_ns, gaps),
    ):
        early, _, late = _by_thirds(waits_ns)
        before, _, after = _by_thirds(waits_ns * times)
        if late > _GROWTH_RATIO * early and after - before > least_ns:
            return pool
    return None


def _by_thirds(values: Floats) -> tuple[float, float, float]:
    first, middle, last = np.array_split(values, _THIRDS)
    return _median(first), _median(middle), _median(last)


def _median(waits_ns: Floats) -> float:
    """Of those that are known."""
    known = waits_ns[~np.isnan(waits_ns)]
    return float(np.median(known)) if len(known) else 0.0


def _percentiles(outcome: Outcome) -> dict[str, dict[int, float]]:
    found = {}
    for measure in MEASURES:
        values: Floats = getattr(outcome.latency, f"{measure}_ns")[outcome.completed]
        values = values[~np.isnan(values)]
        if len(values):
            cut = np.percentile(values, PERCENTILES)
            found[measure] = dict(zip(PERCENTILES, map(float, cut), strict=True))
    return found


def _within(outcome: Outcome, limits_ns: Sequence[int], offered: int) -> dict[int, float]:
    """A completed request without a gap is within every limit."""
    worst_ns = np.nan_to_num(outcome.latency.worst_gap_ns[outcome.completed])
    return {
        limit: float((worst_ns <= limit).sum()) / offered if offered else 0.0 for limit in limits_ns
    }


def _spare(outcome: Outcome) -> float:
    pools = outcome.pools
    shares = outcome.busy_shares()
    busy = sum(
        shares[worker.name]
        * (pools.prefill if worker.hands_over and pools.prefill else pools.decode).tp
        for worker in outcome.workers
    )
    return max(0.0, 1.0 - busy / pools.gpus)
