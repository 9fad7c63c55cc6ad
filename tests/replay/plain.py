"""The model of `tokengap.replay` as a plain loop: an event per step, an append per token.

It shares no code with the replay but the coefficients and the options, and has neither faults nor
clients that leave. It is what the replay is compared with, and timed against.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from tokengap.replay import Chunked, Pool, Pools, ServiceModel, Workload

Handler = Callable[[Any], None]
UNLIMITED = 1 << 62


class Job:
    def __init__(self, arrival_ms: float, prompt_tokens: int, output_tokens: int) -> None:
        self.arrival_ms, self.prompt, self.output = arrival_ms, prompt_tokens, output_tokens
        self.context, self.done, self.held = prompt_tokens, 0, 0
        self.began_ms = 0.0
        self.times_ms: list[float] = []


class Server:
    def __init__(self, pool: Pool, service: ServiceModel, *, hands_over: bool) -> None:
        self.pool, self.service, self.hands_over = pool, service, hands_over
        self.capacity = pool.kv_capacity_tokens or UNLIMITED
        self.most = pool.max_running or UNLIMITED
        self.waiting: list[Job] = []
        self.joining: list[Job] = []
        self.batch: list[Job] = []
        self.pieces: list[tuple[Job, int]] = []
        self.begun: Job | None = None
        self.parked = self.reserved = 0
        self.in_step = self.gives_tokens = False
        self.plan = 0

    def used(self) -> int:
        return sum(job.held for job in self.batch) + self.parked + self.reserved

    def load(self) -> int:
        return self.used() + sum(job.context for job in self.waiting)


class Plain:
    def __init__(self, workload: Workload, pools: Pools, service: ServiceModel) -> None:
        self.pools, self.transport = pools, pools.transport
        self.heap: list[tuple[float, int, int, Handler, Any]] = []
        self.order = count()
        self.now_ms = 0.0
        self.prefill = self.servers(pools.prefill, service, hands_over=True)
        self.decode = self.servers(pools.decode, service, hands_over=False)
        self.held: list[tuple[Job, Server]] = []
        self.sending: dict[Server, list[list[Any]]] = {server: [] for server in self.prefill}
        self.sent_until_ms = dict.fromkeys(self.prefill, 0.0)
        rows = zip(workload.arrival_ms, workload.prompt_tokens, workload.output_tokens, strict=True)
        self.jobs = [Job(float(ms), int(prompt), int(output)) for ms, prompt, output in rows]

    @staticmethod
    def servers(pool: Pool | None, service: ServiceModel, *, hands_over: bool) -> list[Server]:
        if pool is None:
            return []
        return [Server(pool, service, hands_over=hands_over) for _ in range(pool.workers)]

    def at(self, time_ms: float, rank: int, handler: Handler, subject: object) -> None:
        heappush(self.heap, (time_ms, rank, next(self.order), handler, subject))

    def run(self) -> list[list[float]]:
        for job in self.jobs:
            self.at(job.arrival_ms, 0, self.arrive, job)
        while self.heap:
            self.now_ms, _, _, handler, subject = heappop(self.heap)
            handler(subject)
        return [job.times_ms for job in self.jobs]

    def arrive(self, job: Job) -> None:
        stays = not self.prefill or job.context < self.transport.stay_below_tokens
        server = min(self.decode if stays else self.prefill, key=Server.load)
        server.waiting.append(job)
        self.at(self.now_ms, 1, self.start, server)

    def start(self, server: Server) -> None:
        if server.in_step:
            return
        self.join(server)
        mixes = isinstance(server.pool.scheduler, Chunked)
        server.pieces = self.compose(server, mixes=mixes)
        if not server.pieces and not server.batch:
            return
        server.gives_tokens = bool(server.batch) and (mixes or not server.pieces)
        took_ms = self.took_ms(server)
        server.in_step = True
        if server.gives_tokens:
            for job in server.batch:
                job.held += 1
        self.at(self.now_ms + took_ms, 1, self.end, server)

    def join(self, server: Server) -> None:
        while server.joining and len(server.batch) < server.most:
            job = server.joining.pop(0)
            server.reserved -= job.context + 1
            job.held = job.context
            server.batch.append(job)
        while server.batch and server.used() + len(server.batch) > server.capacity:
            job = server.batch.pop()
            job.context, job.done = job.prompt + len(job.times_ms), 0
            server.waiting.insert(0, job)
        if server.joining and not server.batch:
            self.join(server)

    def compose(self, server: Server, *, mixes: bool) -> list[tuple[Job, int]]:
        pieces: list[tuple[Job, int]] = []
        scheduler: Any = server.pool.scheduler
        left = scheduler.budget_tokens - len(server.batch) if mixes else scheduler.max_tokens
        while left > 0:
            if server.begun is not None and not pieces:
                job = server.begun
            elif server.waiting and self.fits(server, server.waiting[0], len(pieces)):
                job = server.waiting[0]
                if not mixes and job.context > left:
                    break
                server.waiting.pop(0)
                server.parked += job.context
                job.began_ms = self.now_ms
            else:
                break
            tokens = min(job.context - job.done, left)
            pieces.append((job, tokens))
            left -= tokens
        return pieces

    @staticmethod
    def fits(server: Server, job: Job, others: int) -> bool:
        running = len(server.batch) + others + (server.begun is not None and others == 0)
        has_room = server.used() + job.context + running + 1 <= server.capacity
        return has_room and running < server.most

    def took_ms(self, server: Server) -> float:
        tokens = sum(piece for _, piece in server.pieces)
        squares = sum((job.done + piece) ** 2 - job.done**2 for job, piece in server.pieces)
        held = sum(job.held for job in server.batch)
        if not server.gives_tokens:
            return server.service.prefill_ms(tokens, squares)
        if server.pieces:
            return server.service.mixed_ms(tokens, squares, len(server.batch), held)
        line = server.service.line(len(server.batch), held)
        return line.fixed_ms + line.token_ms * held

    def end(self, server: Server) -> None:
        server.in_step = False
        if server.gives_tokens:
            for job in server.batch:
                job.times_ms.append(self.now_ms)
            server.batch = [job for job in server.batch if len(job.times_ms) < job.output]
        pieces, server.pieces = server.pieces, []
        server.begun = None if pieces else server.begun
        handed = []
        for job, tokens in pieces:
            job.done += tokens
            if job.done < job.context:
                server.begun = job
            elif server.hands_over and len(job.times_ms) + 1 < job.output:
                handed.append(job)
            else:
                self.keep(server, job)
        self.start(server)
        for job in handed:
            if not self.transport.withheld:
                job.times_ms.append(self.now_ms)
            self.held.append((job, server))
        self.place()

    def keep(self, server: Server, job: Job) -> None:
        server.parked -= job.context
        job.times_ms.append(self.now_ms)
        if len(job.times_ms) < job.output:
            job.held = job.context
            server.batch.append(job)

    def place(self) -> None:
        while self.held:
            job, source = self.held[0]
            able = [server for server in self.decode if self.has_room(server, job)]
            if not able:
                return
            self.held.pop(0)
            server = min(able, key=Server.load)
            server.reserved += job.context + 1
            due_ms = self.now_ms + self.transport.overhead_ms
            if self.transport.overhead_ms:
                self.at(due_ms, 0, self.send, (job, source, server, self.now_ms))
            else:
                self.send((job, source, server, self.now_ms))

    @staticmethod
    def has_room(server: Server, job: Job) -> bool:
        first = server.waiting[0].context if server.waiting else 0
        return server.used() + job.context + 1 + len(server.batch) + first <= server.capacity

    def send(self, move: tuple[Job, Server, Server, float]) -> None:
        job, source, server, held_ms = move
        bandwidth = self.transport.bandwidth_bytes_per_s
        size_bytes = self.transport.kv_bytes_per_token * job.context
        if bandwidth is None or not size_bytes:
            self.arrived(job, source, server)
            return
        self.pass_time(source)
        self.sending[source].append([size_bytes, job, server, held_ms])
        self.plan_link(source)

    def pass_time(self, source: Server) -> None:
        moves, per_ms = self.sending[source], (self.transport.bandwidth_bytes_per_s or 0) / 1000
        for move in moves:
            move[0] -= (self.now_ms - self.sent_until_ms[source]) * per_ms / len(moves)
        self.sent_until_ms[source] = self.now_ms

    def plan_link(self, source: Server) -> None:
        moves, per_ms = self.sending[source], (self.transport.bandwidth_bytes_per_s or 0) / 1000
        if moves:
            first = min(moves, key=lambda move: move[0])
            due_ms = self.now_ms + max(0.0, first[0]) * len(moves) / per_ms
            source.plan = next(self.order)
            self.at(due_ms, 0, self.link_due, (source, first, source.plan))

    def link_due(self, planned: tuple[Server, list[Any], int]) -> None:
        source, first, plan = planned
        if source.plan != plan:
            return  # planned anew meanwhile
        self.pass_time(source)
        self.sending[source].remove(first)
        self.arrived(first[1], source, first[2])
        self.plan_link(source)

    def arrived(self, job: Job, source: Server, server: Server) -> None:
        if self.transport.withheld:
            job.times_ms.append(self.now_ms)
        source.parked -= job.context
        server.joining.append(job)
        self.at(self.now_ms, 1, self.start, source)
        self.at(self.now_ms, 1, self.start, server)


def plain_times_ms(workload: Workload, pools: Pools, service: ServiceModel) -> list[list[float]]:
    """Every token's time, of each request."""
    return Plain(workload, pools, service).run()
