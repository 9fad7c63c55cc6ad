"""A cache's way from the worker that made it to the one that decodes.

Held at its source until a decode worker has room; room is reserved; after a fixed overhead its
bytes move; then it joins the batch, and its source is free. Whoever waits for room waits in order.
"""

import random
from collections import deque
from math import isnan
from typing import TYPE_CHECKING

from tokengap.replay.link import Link, exposed_bytes
from tokengap.replay.request import Place, Request
from tokengap.replay.worker import Worker
from tokengap.replay.workload import MS_PER_S

if TYPE_CHECKING:
    from tokengap.replay.cluster import Cluster

Planned = tuple[Request, int]
"""A request, and its turn when something was planned for it."""


class Handover:
    """What happens between the pools."""

    def __init__(self, cluster: "Cluster", seed: int) -> None:
        self.cluster, self.loop, self.record = cluster, cluster.loop, cluster.record
        self.transport = cluster.pools.transport
        self.leaving: dict[Request, None] = {}  # still in the later stages of a pipeline
        self.held: deque[Request] = deque()  # that wait for room
        self.moving: dict[Request, float | None] = {}  # room is reserved; None: no bytes yet
        self.failing_share = 0.0
        self.slows = self.transport.slowdown != 1.0
        self._chance = random.Random(seed)  # noqa: S311 (no secret)
        self.links: dict[int, Link] = {}  # by the prefill worker's number
        if cluster.prefill is not None and self.transport.bandwidth_bytes_per_s is not None:
            per_ms = self.transport.bandwidth_bytes_per_s / MS_PER_S
            shared = Link(per_ms)
            for worker in cluster.prefill.workers:
                self.links[worker.number] = shared if self.transport.shared else Link(per_ms)

    @property
    def requests(self) -> int:
        """Requests on their way."""
        return len(self.leaving) + len(self.held) + len(self.moving)

    def take(self, request: Request) -> None:
        """A prompt is prefilled; it may still have to leave a pipeline."""
        request.place = Place.HELD
        if request.held_ms > self.loop.now_ms:
            self.leaving[request] = None
            self.loop.at(request.held_ms, self._leave_pipeline, (request, request.turn))
        else:
            self._hold(request)

    def _leave_pipeline(self, planned: Planned) -> None:
        request, turn = planned
        if request.turn == turn:
            del self.leaving[request]
            self._hold(request)

    def _hold(self, request: Request) -> None:
        if not self.transport.withheld:
            self.record.token(request, request.held_ms)
        self.held.append(request)
        self.place()

    def place(self) -> None:
        """Reserve room for as many as there is room for, in order."""
        now_ms, decode = self.loop.now_ms, self.cluster.decode
        while self.held:
            request = self.held[0]
            able = decode.able(request.context, now_ms)
            if not able:
                for worker in decode.alive:
                    if not worker.is_blocked:
                        self.cluster.arm(worker)
                return
            self.held.popleft()
            self._reserve(request, decode.router.choose(able, now_ms))

    def _reserve(self, request: Request, worker: Worker) -> None:
        worker.reserve(request, self.loop.now_ms)
        request.place, request.decoder = Place.MOVING, worker.number
        request.turn += 1
        self.moving[request] = None
        if self.transport.overhead_ms:
            due_ms = self.loop.now_ms + self.transport.overhead_ms
            self.loop.at(due_ms, self._begin, (request, request.turn))
        else:
            self._send(request)

    def _begin(self, planned: Planned) -> None:
        request, turn = planned
        if request.turn == turn:
            self._send(request)

    def _send(self, request: Request) -> None:
        now_ms, source = self.loop.now_ms, request.source
        if request.retries == 0 or isnan(request.moving_ms):
            request.moving_ms = now_ms
        size_bytes = self._link_bytes(request)
        if source is None or not size_bytes:
            self._arrived(request)
            return
        link = self.links[source.number]
        if self.transport.overlap_layers > 1:
            size_bytes = exposed_bytes(
                size_bytes, request.held_ms - request.began_ms, self.transport.overlap_layers,
                link.bandwidth_bytes_per_ms,
            )  # fmt: skip
        self.moving[request] = link.start(request, size_bytes, now_ms)
        if self.slows:
            self._set_pace(request, 1)
        self._arm(link)

    def _link_bytes(self, request: Request) -> float:
        if not self.links:
            return 0.0
        return self._kv_bytes(request) * self.transport.busiest_share

    def _kv_bytes(self, request: Request) -> float:
        return self.transport.kv_bytes_per_token * request.context

    def _arm(self, link: Link) -> None:
        link.turn += 1
        self.loop.at(link.next_ms(), self._end_transfers, (link, link.turn))

    def _end_transfers(self, planned: tuple[Link, int]) -> None:
        link, turn = planned
        if link.turn != turn:
            return  # the link has changed since
        for request in link.take(self.loop.now_ms):
            if self.slows:
                self._set_pace(request, -1)
            if self.failing_share and self._chance.random() < self.failing_share:
                self.moving[request] = None
                self._waste(request, 1.0)
                self._retry(request)
            else:
                self._arrived(request)
        if link.active:
            self._arm(link)

    def _arrived(self, request: Request) -> None:
        now_ms, source, worker = self.loop.now_ms, request.source, request.worker
        request.kv_bytes = self._kv_bytes(request)
        self.record.transfer_bytes += request.kv_bytes
        request.arrived_ms = now_ms
        del self.moving[request]
        if self.transport.withheld:
            self.record.token(request, now_ms)
        self._free(source, request)
        if worker is not None:
            worker.receive(request, now_ms)
            self.cluster.rearm(worker)

    def _free(self, source: Worker | None, request: Request) -> None:
        if source is not None:
            source.release(request, self.loop.now_ms)
            if source.waiting:
                self.cluster.arm(source)

    def _set_pace(self, request: Request, moving: int) -> None:
        for worker in (request.source, request.worker):
            if worker is not None:
                worker.set_pace(self.loop.now_ms, moving=moving)
                self.cluster.rearm(worker)

    # What goes wrong

    def _retry(self, request: Request) -> None:
        """A transfer failed: send all of it again, then prefill again once, then give up."""
        self.record.wasted.failed_transfers += 1
        self.record.mark(request, "transfer_failed", self.loop.now_ms)
        request.retries += 1
        tries = self.transport.retries + 1
        if request.retries % tries:
            self._send(request)
            return
        self._forget(request)
        if request.retries == tries:
            self.cluster.again(request)
        else:
            self.cluster.end(request, "failed", "transfer_failed")

    def drop(self, request: Request) -> None:
        """Its client is gone, or its cache: free both ends."""
        if request.place is Place.HELD:
            if request in self.leaving:
                del self.leaving[request]
            else:
                self.held.remove(request)
            self._free(request.source, request)
            self.place()
            return
        self._break_off(request)
        self._forget(request)

    def _forget(self, request: Request) -> None:
        worker = request.worker
        del self.moving[request]
        if worker is not None:
            worker.unreserve(request, self.loop.now_ms)
            self.cluster.rearm(worker)
        self._free(request.source, request)
        self.place()

    def _break_off(self, request: Request) -> None:
        """Stop a transfer, if its bytes move already."""
        end_bytes, source = self.moving[request], request.source
        if end_bytes is None or source is None:
            return
        link = self.links[source.number]
        left_bytes = link.stop(request, end_bytes, self.loop.now_ms)
        self._waste(request, 1 - left_bytes / self._link_bytes(request))
        self.moving[request] = None
        if self.slows:
            self._set_pace(request, -1)
        self._arm(link)

    def _waste(self, request: Request, share: float) -> None:
        sent_bytes = self._kv_bytes(request) * share
        self.record.transfer_bytes += sent_bytes
        self.record.wasted.kv_bytes += sent_bytes

    def fail_moving(self) -> None:
        """Every transfer whose bytes move now fails."""
        for request, end_bytes in list(self.moving.items()):
            if end_bytes is not None:
                self._break_off(request)
                self._retry(request)

    def lose(self, worker: Worker) -> list[Request]:
        """A worker dies: requests whose cache was there; those on their way to it turn back."""
        gone = [r for r in self.moving if r.source is worker]
        for request in gone:
            self._break_off(request)
            del self.moving[request]
            if request.worker is not None:
                request.worker.unreserve(request, self.loop.now_ms)
                self.cluster.rearm(request.worker)
        held = [r for r in self.held if r.source is worker]
        for request in held:
            self.held.remove(request)
        held += [r for r in self.leaving if r.source is worker]
        self.leaving = {r: None for r in self.leaving if r.source is not worker}
        back = [r for r in self.moving if r.worker is worker]
        for request in back:
            self._break_off(request)
            del self.moving[request]
            worker.unreserve(request, self.loop.now_ms)
            request.place, request.worker = Place.HELD, request.source
            request.turn += 1
        self.held.extendleft(reversed(back))
        return gone + held

    def change_bandwidth(self, number: int, factor: float) -> None:
        """A link becomes slower, or well again: `factor` times what was declared."""
        if self.transport.bandwidth_bytes_per_s is not None:
            link = self.links[number]
            per_ms = self.transport.bandwidth_bytes_per_s / MS_PER_S
            link.change(per_ms * factor, self.loop.now_ms)
            self._arm(link)
