"""All workers of a replay, and a request's way to them, between them, and out again."""

from collections.abc import Callable
from math import inf, nan

from tokengap.replay.config import Models, Pool, Pools, service_of
from tokengap.replay.handover import Handover
from tokengap.replay.loop import BOUNDARY, Loop
from tokengap.replay.record import Record
from tokengap.replay.request import Place, Request
from tokengap.replay.router import Router
from tokengap.replay.worker import Worker

MakeWorker = Callable[..., Worker]
NO_WORKER = "no_worker"


class Group:
    """The workers of a pool, and who chooses among them."""

    def __init__(self, pool: Pool, workers: list[Worker]) -> None:
        self.pool = pool
        self.workers = workers
        self.router: Router = pool.router()
        self.alive = list(workers)
        self._is_limited = any(worker.is_limited for worker in workers)

    def able(self, tokens: int, now_ms: float) -> list[Worker]:
        """Those that have room for a cache."""
        if not self._is_limited:
            return self.alive
        return [worker for worker in self.alive if worker.has_room(tokens, now_ms)]

    def set_alive(self, worker: Worker, *, is_alive: bool) -> None:
        """A worker is lost, or back."""
        alive = {*self.alive, worker} if is_alive else {*self.alive} - {worker}
        self.alive = [worker for worker in self.workers if worker in alive]


class Cluster:
    """Requests come in by `arrive`; everything else follows."""

    def __init__(
        self,
        pools: Pools,
        models: Models,
        loop: Loop,
        record: Record,
        *,
        seed: int = 0,
        make_worker: MakeWorker = Worker,
    ) -> None:
        self.pools, self.loop, self.record = pools, loop, record
        self.on_finish: Callable[[Request], None] | None = None
        self.is_split = pools.prefill is not None
        bounds = (pool.max_queue for pool in (pools.prefill, pools.decode) if pool is not None)
        self.is_bounded = any(most is not None for most in bounds)
        self._make_worker = make_worker
        self.workers: list[Worker] = []
        self.prefill: Group | None = None
        if pools.prefill is not None:
            self.prefill = self._group(pools.prefill, models, "prefill", hands_over=True)
        self.decode = self._group(pools.decode, models, "decode" if self.is_split else "worker")
        self.handover = Handover(self, seed) if self.prefill is not None else None

    def _group(self, pool: Pool, models: Models, role: str, *, hands_over: bool = False) -> Group:
        service = service_of(pool, models)
        made = [
            self._make_worker(
                len(self.workers) + at, f"{role}-{at}", pool, service, self.record,
                hands_over=hands_over, slowdown=self.pools.transport.slowdown,
            )
            for at in range(pool.workers)
        ]  # fmt: skip
        self.workers += made
        return Group(pool, made)

    def tell_of_ends(self, on_finish: Callable[[Request], None]) -> None:
        """Call this with every request that is over, at that time."""
        self.on_finish = on_finish
        for worker in self.workers:
            worker.finished = []

    # A request's way in

    def arrive(self, request: Request) -> None:
        """Queue a request, or refuse it."""
        group = self._entry(request)
        if not group.alive:
            self.end(request, "rejected", NO_WORKER)
            return
        worker = group.router.choose(group.alive, self.loop.now_ms)
        if self.is_bounded and self._is_full(group, worker):
            self.end(request, "rejected", "queue_full")
        else:
            self._queue(request, worker)

    def again(self, request: Request) -> None:
        """A request that lost its cache is prefilled once more, or fails."""
        self.record.mark(request, "cache_lost", self.loop.now_ms)
        if self.pools.on_loss == "fail":
            self.end(request, "failed", "cache_lost")
        else:
            self.record.restart(request, self.loop.now_ms)
            self.requeue(request)

    def requeue(self, request: Request) -> None:
        """A request that is in already is queued at a worker that is alive, however long it is."""
        group = self._entry(request)
        if group.alive:
            self._queue(request, group.router.choose(group.alive, self.loop.now_ms))
        else:
            self.end(request, "failed", NO_WORKER)

    def _entry(self, request: Request) -> Group:
        """Where a request is prefilled."""
        stays = request.context < self.pools.transport.stay_below_tokens
        return self.decode if self.prefill is None or stays else self.prefill

    def _is_full(self, group: Group, worker: Worker) -> bool:
        """Whether the queue before the worker is full, or the one before the decode pool."""
        most, behind = group.pool.max_queue, self.decode.pool.max_queue
        worker.advance(self.loop.now_ms)
        if most is not None and len(worker.waiting) >= most:
            return True
        return (
            behind is not None and self.handover is not None and len(self.handover.held) >= behind
        )

    def _queue(self, request: Request, worker: Worker) -> None:
        worker.queue(request, self.loop.now_ms)
        if worker.hands_over or self.watches(worker):
            self.arm(worker)

    # Workers, between two steps

    def watches(self, worker: Worker) -> bool:
        """Whether somebody waits for what a worker's next end brings."""
        if self.on_finish is not None or worker.hands_over:
            return True
        return self.handover is not None and bool(self.handover.held)

    def arm(self, worker: Worker) -> None:
        """Look at a worker when it next has something to tell."""
        if not worker.in_step:
            time_ms = max(worker.clock_ms, self.loop.now_ms) if worker.requests else inf
        elif worker.hands_over:
            time_ms = worker.clock_ms
        else:
            time_ms = worker.quiet_until_ms()
        if time_ms < inf and worker.look_ms != time_ms:
            worker.look_ms = time_ms
            self.loop.at(time_ms, self._look, worker, BOUNDARY)

    def _look(self, worker: Worker) -> None:
        """A worker may be between two steps: take what it has, and let it go on."""
        if worker.look_ms != self.loop.now_ms:
            return  # armed anew meanwhile
        worker.look_ms = nan
        self.settle(worker)
        if worker.in_step and self.watches(worker):
            self.arm(worker)

    def settle(self, worker: Worker) -> None:
        """Take the step that ends now, begin the next one, and hand on what is done."""
        worker.settle(self.loop.now_ms)
        if worker.finished:
            ended, worker.finished = worker.finished, []
            for request in ended:
                self._tell(request)
        handover = self.handover
        if handover is None:
            return
        if worker.handed:
            handed, worker.handed = worker.handed, []
            for request in handed:
                handover.take(request)
        elif handover.held and not worker.hands_over:
            handover.place()

    def rearm(self, worker: Worker) -> None:
        """Something about a worker has changed."""
        if self.watches(worker):
            self.arm(worker)

    # A request's way out

    def leave(self, request: Request, status: str) -> None:
        """Its client is gone, unless it is over by now."""
        self.catch_up(request)
        if not request.is_over:
            self._take_out(request)
            self.end(request, status)

    def catch_up(self, request: Request) -> None:
        """See what its worker did until now; a prefill worker never lags behind."""
        worker = request.worker
        if worker is not None and not worker.hands_over:
            self.settle(worker)

    def _take_out(self, request: Request) -> None:
        worker = request.worker
        if self.handover is not None and request.place in (Place.HELD, Place.MOVING):
            self.handover.drop(request)
        elif worker is not None:
            worker.drop(request, self.loop.now_ms)
            self.rearm(worker)
            if self.handover is not None and not worker.hands_over:
                self.handover.place()

    def end(self, request: Request, status: str, error: str | None = None) -> None:
        """A request is over without being complete; what was done for it is wasted."""
        wasted = self.record.wasted
        wasted.prefill_tokens += request.prefilled
        wasted.decode_tokens += request.output_tokens - request.left
        wasted.kv_bytes += request.kv_bytes
        request.end(status, self.loop.now_ms, error)
        self._tell(request)

    def _tell(self, request: Request) -> None:
        if self.on_finish is not None:
            self.on_finish(request)

    def counts(self) -> tuple[int, int]:
        """Requests that are before the end of their prefill, and behind it."""
        behind = 0
        for worker in self.workers:
            worker.advance(self.loop.now_ms)
            behind += len(worker.joining) + len(worker.batch.running)
        before = sum(worker.requests for worker in self.workers) - behind
        if self.handover is not None:
            behind += self.handover.requests
        return before, behind

    def alone_ms(self, request: Request) -> float:
        """How long a request would take if nobody else were there, but for its handover."""
        prompt, steps = request.prompt_tokens, request.output_tokens - 1
        prefill = (self.prefill or self.decode).workers[0].service
        line = self.decode.workers[0].service.line(1, prompt)
        step_ms = line.fixed_ms + line.token_ms * prompt
        return prefill.prefill_ms(prompt, prompt * prompt) + steps * step_ms

    def cut(self) -> None:
        """The replay stops here: whoever decodes has the tokens that came until now."""
        for worker in self.workers:
            for request in list(worker.batch.running):
                worker.drop(request, self.loop.now_ms)

    def close(self) -> None:
        """Nothing more comes: finish what is here; what still waits for room waits in vain."""
        self.loop.run_until(inf)
        while self.handover is not None and self.handover.held:
            request = self.handover.held[0]
            self.handover.drop(request)
            self.end(request, "failed", NO_WORKER)
            self.loop.run_until(inf)
        for worker in self.workers:
            worker.advance(inf)
