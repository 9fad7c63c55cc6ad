"""What breaks, and when. Workers are named as in the outcome: `prefill-0`, `decode-1`, `worker-0`.

A fault lasts from `at_ms` until `until_ms`; infinite: it is never mended.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tokengap.errors import UsageError
from tokengap.replay.worker import Worker
from tokengap.replay.workload import MS_PER_S

if TYPE_CHECKING:
    from tokengap.replay.cluster import Cluster, Group


@dataclass(frozen=True)
class LostWorker:
    """A worker dies with every cache on it, and comes back empty."""

    worker: str
    at_ms: float
    until_ms: float = inf


@dataclass(frozen=True)
class SlowWorker:
    """Steps take `factor` times as long."""

    worker: str
    at_ms: float
    until_ms: float = inf
    factor: float = 2.0


@dataclass(frozen=True)
class SlowLink:
    """The link of a prefill worker has `factor` of its bandwidth; of a shared one, all have."""

    worker: str
    at_ms: float
    until_ms: float = inf
    factor: float = 0.5


@dataclass(frozen=True)
class FailingTransfers:
    """A share of the transfers that end meanwhile fail.

    `until_ms` equal to `at_ms`: those whose bytes move then fail, all of them.
    """

    at_ms: float
    until_ms: float = inf
    share: float = 1.0


Fault = LostWorker | SlowWorker | SlowLink | FailingTransfers


def at_rate(
    make: Callable[[float, float], Fault],
    rate_per_s: float,
    lasts_ms: float,
    span_ms: float,
    seed: int,
) -> list[Fault]:
    """Faults at exponential intervals; `make` gets the beginning and the end of each.

    rate_per_s: of those that begin while none lasts.
    """
    if not rate_per_s > 0 or not lasts_ms >= 0:
        raise UsageError("faults come at a rate above 0, and last 0 ms or more")
    rng = np.random.default_rng(seed)
    drawn = []
    at_ms = rng.exponential(MS_PER_S / rate_per_s)
    while at_ms < span_ms:
        drawn.append(make(at_ms, at_ms + lasts_ms))
        at_ms += lasts_ms + rng.exponential(MS_PER_S / rate_per_s)
    return drawn


def _is_instant(fault: Fault) -> bool:
    return isinstance(fault, FailingTransfers) and fault.until_ms == fault.at_ms


class Breaker:
    """Breaks and mends what a replay runs on. `UsageError` for a fault of what is not there."""

    def __init__(self, cluster: "Cluster", faults: tuple[Fault, ...]) -> None:
        self._cluster = cluster
        self._workers = {worker.name: worker for worker in cluster.workers}
        for fault in faults:
            self._check(fault)
            cluster.loop.at(fault.at_ms, self._break, fault)
            if not _is_instant(fault):
                cluster.loop.at(fault.until_ms, self._mend, fault)

    def _check(self, fault: Fault) -> None:
        if not 0 <= fault.at_ms <= fault.until_ms:
            raise UsageError(f"{fault}: a fault begins at 0 ms or later, and ends after that")
        if isinstance(fault, FailingTransfers):
            if not 0 < fault.share <= 1:
                raise UsageError(f"{fault}: a share above 0, up to 1, fails")
            return
        if fault.worker not in self._workers:
            names = ", ".join(self._workers)
            raise UsageError(f"no worker is called {fault.worker!r}; there are {names}")
        if not isinstance(fault, LostWorker) and not 0 < fault.factor < inf:
            raise UsageError(f"{fault}: give a factor above 0")
        if isinstance(fault, SlowLink) and not self._workers[fault.worker].hands_over:
            raise UsageError(f"{fault.worker} sends no cache; name a prefill worker")

    def _break(self, fault: Fault) -> None:
        handover = self._cluster.handover
        match fault:
            case LostWorker():
                self._lose(self._workers[fault.worker])
            case SlowWorker():
                self._slow(self._workers[fault.worker], fault.factor)
            case SlowLink():
                if handover is not None:
                    handover.change_bandwidth(self._workers[fault.worker].number, fault.factor)
            case FailingTransfers():
                if handover is not None and _is_instant(fault):
                    handover.fail_moving()
                elif handover is not None:
                    handover.failing_share = fault.share
        if handover is not None:
            handover.place()

    def _mend(self, fault: Fault) -> None:
        handover = self._cluster.handover
        match fault:
            case LostWorker():
                worker = self._workers[fault.worker]
                self._group(worker).set_alive(worker, is_alive=True)
            case SlowWorker():
                self._slow(self._workers[fault.worker], 1.0)
            case SlowLink():
                if handover is not None:
                    handover.change_bandwidth(self._workers[fault.worker].number, 1.0)
            case FailingTransfers():
                if handover is not None:
                    handover.failing_share = 0.0
        if handover is not None:
            handover.place()

    def _slow(self, worker: Worker, factor: float) -> None:
        worker.set_pace(self._cluster.loop.now_ms, slowness=factor)
        self._cluster.rearm(worker)

    def _group(self, worker: Worker) -> "Group":
        prefill = self._cluster.prefill
        return prefill if prefill is not None and worker.hands_over else self._cluster.decode

    def _lose(self, worker: Worker) -> None:
        """Every request that had something on the worker goes on elsewhere, or fails."""
        cluster = self._cluster
        group = self._group(worker)
        if worker not in group.alive:
            return
        if not worker.hands_over:
            cluster.settle(worker)
        group.set_alive(worker, is_alive=False)
        moved = [] if cluster.handover is None else cluster.handover.lose(worker)
        lost, queued = worker.lose_all(cluster.loop.now_ms)
        cluster.record.wasted.lost_streams += len(moved) + len(lost)
        for request in moved + lost:
            cluster.again(request)
        for request in queued:
            cluster.requeue(request)
