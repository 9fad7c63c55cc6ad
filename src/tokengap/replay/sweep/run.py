"""All arms on all drawings, on all cores; the same arguments give the same numbers."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from statistics import fmean
from typing import Any, Final, TypeVar

import numpy as np

from tokengap.errors import UsageError
from tokengap.replay.sweep.arms import Arm
from tokengap.replay.sweep.trial import Case, Trial, trial, whole_trial

LEAST_DRAWINGS: Final = 20
_TRIED: Final = 3
_ENDS: Final = (2.5, 97.5)

Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Told how many replays are done, of how many."""


@dataclass(frozen=True)
class Swept:
    """One arm's trials, one for each drawing."""

    arm: Arm
    trials: Sequence[Trial]

    @property
    def offered(self) -> int:
        """Requests, over all drawings."""
        return sum(each.score.offered for each in self.trials)

    @property
    def good(self) -> int:
        """Of these, good ones."""
        return sum(each.score.good for each in self.trials)

    @property
    def attainment(self) -> float:
        """Share of offered requests that are good; 0 of none."""
        return self.good / self.offered if self.offered else 0.0

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Ends of the attainment over the drawings, without 2.5 % at either side."""
        low, high = np.percentile([each.attainment for each in self.trials], _ENDS)
        return float(low), float(high)

    @property
    def is_stable(self) -> bool:
        """In half of the drawings or more, no queue grew without end, and neither pool fell behind.

        A burst late in a drawing looks like a queue that grows; one drawing alone says little.
        """
        behind = sum(not each.keeps_up for each in self.trials)
        return 2 * behind <= len(self.trials)

    @property
    def diverges(self) -> bool:
        """A queue grew without end in most of the drawings."""
        return 2 * sum(not each.is_stable for each in self.trials) > len(self.trials)

    @property
    def pressed(self) -> str | None:
        """The pool that fell behind, in most of the drawings in which one did; None: neither."""
        seen = [each.grows for each in self.trials if each.grows is not None]
        return max(set(seen), key=seen.count) if seen else None

    def mean(self, of: Callable[[Trial], float | None]) -> float | None:
        """Mean over the drawings that have the number; None without one."""
        values = [value for each in self.trials if (value := of(each)) is not None]
        return fmean(values) if values else None

    def percentile_ns(self, measure: str, percentile: int) -> float | None:
        """Mean over the drawings of one percentile."""
        return self.mean(lambda each: each.percentiles_ns.get(measure, {}).get(percentile))

    def attainment_of(self, statistic: str) -> float | None:
        """Share of the objective's verdicts that are met; None without one."""
        met = sum(each.score.objectives[statistic].met for each in self.trials)
        missed = sum(each.score.objectives[statistic].missed for each in self.trials)
        return met / (met + missed) if met + missed else None


def sweep(
    arms: Sequence[Arm],
    case: Case,
    seeds: Sequence[int],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Swept]:
    """Replay every arm on every drawing. workers: processes; None: as many as there are cores.

    An arm that is unstable in most of the first three drawings, each of them stopped early, is
    not replayed any further. UsageError for fewer than 20 drawings.
    """
    if len(seeds) < LEAST_DRAWINGS:
        raise UsageError(f"{len(seeds)} drawings of the arrivals; an interval needs 20 or more")
    tried = seeds[:_TRIED]
    tasks = [(arm, case, seed) for arm in arms for seed in tried]
    first = in_processes(trial, tasks, workers, progress)
    found = [
        Swept(arm, first[at * len(tried) : (at + 1) * len(tried)]) for at, arm in enumerate(arms)
    ]
    going = [each.arm for each in found if not each.diverges]
    tasks = [(arm, case, seed) for arm in going for seed in seeds]
    rest = iter(in_processes(whole_trial, tasks, workers, progress))
    return [
        each if each.diverges else Swept(each.arm, [next(rest) for _ in seeds]) for each in found
    ]


def in_processes(
    function: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """The function's answer to each task, in their order. workers: None: one for each core."""
    processes = min(workers or os.cpu_count() or 1, len(tasks))
    found = []
    for done, each in enumerate(_each(function, tasks, processes), 1):
        found.append(each)
        if progress is not None:
            progress(done, len(tasks))
    return found


def _each(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], processes: int
) -> Iterator[Result]:
    if processes <= 1:
        yield from (function(*task) for task in tasks)
        return
    # Not forked: what runs here may have threads, and a fork copies their locks.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from pool.map(function, *zip(*tasks, strict=True))
