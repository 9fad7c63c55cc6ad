"""One replay, from a workload to its outcome."""

from collections.abc import Iterable
from itertools import count

from tokengap.replay.cluster import Cluster, MakeWorker
from tokengap.replay.config import Models, Pools, check
from tokengap.replay.faults import Breaker, Fault
from tokengap.replay.loop import CLIENT, Loop
from tokengap.replay.outcome import Outcome
from tokengap.replay.record import Record
from tokengap.replay.request import Request
from tokengap.replay.stability import LOOKS, Queues
from tokengap.replay.worker import Worker
from tokengap.replay.workload import Workload


def replay(
    workload: Workload,
    pools: Pools,
    model: Models,
    *,
    faults: Iterable[Fault] = (),
    seed: int = 0,
    to_the_end: bool = False,
    make_worker: MakeWorker = Worker,
) -> Outcome:
    """Serve a workload on some pools; the same arguments give the same outcome.

    model: of all workers, or of each `Pool.hardware`. seed: decides which transfers fail. A replay
    whose queue grows without end is stopped, unless it is to go `to_the_end`; its outcome says so.
    make_worker: another kind of worker (see `parity`).

    UsageError for pools that cannot work, a request that could never be served, or a fault of what
    is not there.

    >>> import numpy as np
    >>> from tokengap.replay import DecodeFit, PrefillFit, ServiceModel
    >>> two = Workload(np.array([0.0, 5.0]), np.array([10, 10]), np.array([3, 1]))
    >>> model = ServiceModel(PrefillFit(20, 1), DecodeFit(8, 0, 1))
    >>> outcome = replay(two, Pools.colocated(), model)
    >>> outcome.ttft_ns, next(outcome.chunks()).gaps_of(0)
    (array([30000000., 55000000.]), array([39000000,  9000000]))
    """
    broken = tuple(faults)
    check(workload, pools, model, may_lose=bool(broken))
    return _Run(workload, pools, model, broken, seed, make_worker).outcome(to_the_end)


class _Run:
    def __init__(
        self,
        workload: Workload,
        pools: Pools,
        model: Models,
        faults: tuple[Fault, ...],
        seed: int,
        make_worker: MakeWorker,
    ) -> None:
        self.workload, self.pools = workload, pools
        self.loop, self.record, self.queues = Loop(), Record(), Queues()
        self.cluster = Cluster(
            pools, model, self.loop, self.record, seed=seed, make_worker=make_worker
        )
        columns = (workload.arrival_ms, workload.prompt_tokens, workload.output_tokens)
        rows = zip(count(), *(column.tolist() for column in columns), strict=False)
        self.requests = [Request(*row) for row in rows]
        self.arrived = 0
        limits_ms = (workload.leave_after_ms, pools.deadline_ms, pools.first_token_deadline_ms)
        self.has_timers = any(limit is not None for limit in limits_ms)
        Breaker(self.cluster, faults)

    def outcome(self, to_the_end: bool) -> Outcome:
        if self.workload.users:
            self._closed_loop()
        else:
            self._open_loop(to_the_end)
        if self.loop.is_stopped:
            self.cluster.cut()
        else:
            self.cluster.close()
        return Outcome(
            self.workload, self.pools, self.requests[: self.arrived], self.cluster.workers,
            self.record, self.queues,
        )  # fmt: skip

    def _open_loop(self, to_the_end: bool) -> None:
        every = max(1, len(self.requests) // LOOKS)
        for request in self.requests:
            self.loop.run_until(request.arrival_ms)
            self._arrive(request)
            if self.arrived % every == 0:
                self._look(to_the_end)
                if self.loop.is_stopped:
                    return

    def _closed_loop(self) -> None:
        """Users send one after another, so no queue can be longer than there are users."""
        self.unsent = iter(self.requests)
        self.cluster.tell_of_ends(lambda _: self._send_next())
        for _ in range(self.workload.users):
            self._send_next()

    def _send_next(self) -> None:
        request = next(self.unsent, None)
        if request is not None:
            request.arrival_ms += self.loop.now_ms  # it held the time to think
            request.queued_ms = request.arrival_ms
            self.loop.at(request.arrival_ms, self._arrive, request)

    def _arrive(self, request: Request) -> None:
        self.arrived += 1
        if self.has_timers:
            self._set_timers(request)
        self.cluster.arrive(request)

    def _set_timers(self, request: Request) -> None:
        pools, arrival_ms = self.pools, request.arrival_ms
        if self.workload.leave_after_ms is not None:
            leave_ms = arrival_ms + float(self.workload.leave_after_ms[request.index])
            self.loop.at(leave_ms, self._cancel, request, CLIENT)
        if pools.deadline_ms is not None:
            self.loop.at(arrival_ms + pools.deadline_ms, self._time_out, request, CLIENT)
        if pools.first_token_deadline_ms is not None:
            due_ms = arrival_ms + pools.first_token_deadline_ms
            self.loop.at(due_ms, self._time_out_first, request, CLIENT)

    def _cancel(self, request: Request) -> None:
        self.cluster.leave(request, "cancelled")

    def _time_out(self, request: Request) -> None:
        self.cluster.leave(request, "timed_out")

    def _time_out_first(self, request: Request) -> None:
        self.cluster.catch_up(request)
        if request.left == request.output_tokens:
            self.cluster.leave(request, "timed_out")

    def _look(self, to_the_end: bool) -> None:
        if self.queues.look(self.cluster, self.requests, self.arrived) and not to_the_end:
            self.loop.stop()
