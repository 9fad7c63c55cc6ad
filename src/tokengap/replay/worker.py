"""One worker: its queue, its memory, its batch, and its steps.

A worker steps privately. What a step is made of depends on nothing outside once it has begun, so
`advance` takes all steps that begin before a given time; whoever changes something advances the
worker to that time first.
"""

from collections import OrderedDict, deque
from math import inf, nan, nextafter
from typing import ClassVar, Final

from tokengap.replay.batch import Batch
from tokengap.replay.config import Pool
from tokengap.replay.record import Record
from tokengap.replay.request import Place, Request
from tokengap.replay.scheduler import Piece
from tokengap.replay.service import UNBOUNDED_TOKENS, ServiceModel

_MARGIN_MS: Final = 1e-6  # of a time that is added up in another order


class Worker:
    """A worker of a pool; `hands_over`: its requests are decoded elsewhere.

    Memory is three numbers of tokens: held by the batch and by prompts (`parked`), reserved for
    caches on their way, and wanted by the queue. The last one is only a wish.
    """

    make_batch: ClassVar[type[Batch]] = Batch

    def __init__(
        self,
        number: int,
        name: str,
        pool: Pool,
        service: ServiceModel,
        record: Record,
        *,
        hands_over: bool = False,
        slowdown: float = 1.0,
    ) -> None:
        self.number, self.name = number, name
        self.service, self.record, self.hands_over = service, record, hands_over
        self.scheduler = pool.scheduler
        self.capacity = pool.kv_capacity_tokens or UNBOUNDED_TOKENS
        self.most_running = pool.max_running or UNBOUNDED_TOKENS
        self.is_limited = (pool.kv_capacity_tokens, pool.max_running) != (None, None)
        self.batch = self.make_batch(service, record)
        self.clock_ms = 0.0  # when the step under way ends, or the last one did
        self.busy_ms = 0.0
        self.in_step = False
        self.is_blocked = False  # nothing can begin until something changes
        self.pieces: list[Piece] = []  # what the step under way prefills
        self.begun: Request | None = None  # prompt of which some pieces are done
        self.waiting: OrderedDict[Request, None] = OrderedDict()
        self.joining: deque[Request] = deque()
        self.parked = self.reserved = self.wanted = 0
        self.stage_free_ms = [0.0] * len(service.later_stages)
        self.handed: list[Request] = []  # prefilled, for the loop to take
        self.finished: list[Request] | None = None  # a list where somebody wants to know
        self.look_ms = nan  # when the loop looks at it next
        self.coming = 0  # requests whose cache is on its way
        self.transfers = 0  # from or to it, of bytes
        self.slowness, self.slowdown = 1.0, slowdown  # by a fault, and while bytes move
        self.pace = 1.0  # times that a step takes as long as usual

    # What others see

    @property
    def requests(self) -> int:
        """Requests that are here: queued, in prefill, joining, or running."""
        prefilled = len(self.pieces) + (self.begun is not None and not self.pieces)
        return len(self.waiting) + len(self.joining) + len(self.batch.running) + prefilled

    @property
    def held(self) -> int:
        """Tokens of cache that are here."""
        return self.batch.contexts + self.parked

    def has_room(self, tokens: int, now_ms: float) -> bool:
        """Whether so many tokens can be reserved; whoever is next in the queue comes first."""
        self.advance(now_ms)
        first = next(iter(self.waiting)).context if self.waiting else 0
        need = self.held + self.reserved + tokens + 1 + len(self.batch.running) + first
        return need <= self.capacity

    def quiet_until_ms(self) -> float:
        """Nobody ends before, so no memory is freed; infinite if the worker is idle."""
        if not self.in_step:
            return inf
        if self.waiting or self.pieces or self.joining:
            return self.clock_ms
        steps_ms = self.batch.until_next_end_ms(self.pace, self._most_steps())
        return max(self.clock_ms, self.clock_ms + steps_ms - _MARGIN_MS)

    # What others do; each of these advances the worker first

    def queue(self, request: Request, now_ms: float) -> None:
        """Let a request wait for its prefill."""
        self._wake(now_ms)
        request.place, request.worker = Place.QUEUED, self
        self.waiting[request] = None
        self.wanted += request.context

    def reserve(self, request: Request, now_ms: float) -> None:
        """Keep memory for a cache that will come."""
        if self.is_limited:
            self._wake(now_ms)
        request.worker = self
        self.coming += 1
        self.reserved += request.context + 1

    def unreserve(self, request: Request, now_ms: float) -> None:
        """It does not come after all."""
        self._wake(now_ms)
        self.coming -= 1
        self.reserved -= request.context + 1

    def receive(self, request: Request, now_ms: float) -> None:
        """Its cache has come: it decodes from the next step on."""
        self._wake(now_ms)
        request.place = Place.JOINING
        self.coming -= 1
        self.joining.append(request)

    def release(self, request: Request, now_ms: float) -> None:
        """A cache that was kept for a decode worker is free."""
        if self.is_limited:
            self._wake(now_ms)
        self.parked -= request.context
        request.source = None

    def drop(self, request: Request, now_ms: float) -> None:
        """Take a request out, wherever it is; a token at this very time still counts."""
        self.settle(now_ms)
        self._wake(now_ms)
        self._take_out(request, now_ms)

    def lose_all(self, now_ms: float) -> tuple[list[Request], list[Request]]:
        """The worker dies: who had a cache here, and who was only queued."""
        self._wake(now_ms)
        self.record.wasted.lost_tokens += self.held
        prompts = dict.fromkeys(piece[0] for piece in self.pieces)
        if self.begun is not None:
            prompts[self.begun] = None
        lost = [*self.batch.running, *self.joining, *(p for p in prompts if p.source is self)]
        queued = list(self.waiting)
        for request in lost + queued:
            self._take_out(request, now_ms)
        self.pieces, self.begun, self.parked = [], None, 0
        if self.in_step:
            self.in_step = False
            self.busy_ms -= self.clock_ms - now_ms
            self.clock_ms = now_ms
        return lost, queued

    def _take_out(self, request: Request, now_ms: float) -> None:
        match request.place:
            case Place.QUEUED:
                del self.waiting[request]
                self.wanted -= request.context
            case Place.PREFILL:
                self._drop_prompt(request)
            case Place.JOINING:
                self.joining.remove(request)
                self.reserved -= request.context + 1
            case Place.RUNNING:
                self.batch.leave(request, now_ms)

    def _wake(self, now_ms: float) -> None:
        """Before a change: be at this time."""
        if self.clock_ms < now_ms:
            self.advance(now_ms)
            if not self.in_step:
                self.clock_ms = max(self.clock_ms, now_ms)
        self.is_blocked = False

    def set_pace(self, now_ms: float, *, slowness: float | None = None, moving: int = 0) -> None:
        """From the next step on, another pace: a fault's, or that of transfers begun or ended."""
        self._wake(now_ms)
        self.slowness = self.slowness if slowness is None else slowness
        self.transfers += moving
        self.pace = self.slowness * (self.slowdown if self.transfers else 1.0)

    # Steps

    def settle(self, now_ms: float) -> None:
        """Take all steps that begin until now."""
        self.advance(nextafter(now_ms, inf))

    def advance(self, until_ms: float) -> None:
        """Take all steps that begin before this time."""
        while self.clock_ms < until_ms:
            if self.in_step:
                self._end()
            if not self._start(until_ms):
                self.is_blocked = True
                return

    def _start(self, until_ms: float) -> bool:
        """Begin a step, or as many equal ones as begin before this time; False if idle."""
        if self.joining:
            self._join()
        if self.is_limited:
            self._preempt()
        if self.waiting or self.begun is not None:
            self.pieces = self.scheduler.compose(self)
        if self.pieces:
            self._prefill()
        elif self.batch.running:
            self._decode(until_ms)
        else:
            return False
        self.in_step = True
        return True

    def _decode(self, until_ms: float) -> None:
        most = self._most_steps() if self.is_limited else UNBOUNDED_TOKENS
        end_ms = self.batch.run(self.clock_ms, until_ms, self.pace, most)
        self.busy_ms += end_ms - self.clock_ms
        self.clock_ms = end_ms

    def _most_steps(self) -> int:
        """Decode steps that there is memory for; one, if a preemption made a place to join."""
        size = len(self.batch.running)
        if not size or (self.joining and size < self.most_running):
            return 1
        return (self.capacity - self.reserved - self.held) // size

    def _prefill(self) -> None:
        tokens = squares = 0
        for _, start, stop in self.pieces:
            tokens += stop - start
            squares += stop * stop - start * start
        batch = self.batch
        size = len(batch.running) if self.scheduler.mixes else 0
        if size:
            took_ms = self.service.mixed_ms(tokens, squares, size, batch.contexts)
        else:
            took_ms = self.service.prefill_ms(tokens, squares)
        took_ms *= self.pace
        self.clock_ms += took_ms
        self.busy_ms += took_ms
        if size:
            batch.step(self.clock_ms)

    def _end(self) -> None:
        """What the step under way has given is there."""
        self.in_step = False
        if self.batch.running:
            for request in self.batch.take_finished():
                self._over(request, self.clock_ms)
        if self.pieces:
            self._end_prefill()

    def _end_prefill(self) -> None:
        pieces, self.pieces, self.begun = self.pieces, [], None
        out_ms = self._through_stages(pieces) if self.stage_free_ms else self.clock_ms
        for request, _, stop in pieces:
            request.prefilled = stop
            if request.place is not Place.PREFILL or request.source is not self:
                self.parked -= request.context  # its client left meanwhile
            elif stop < request.context:
                self.begun = request
            elif self.hands_over and request.left > 1:
                request.held_ms = out_ms
                self.handed.append(request)
            else:
                request.held_ms = out_ms
                self._keep(request)

    def _keep(self, request: Request) -> None:
        """A prompt is done, and its request stays here or ends."""
        self.parked -= request.context
        request.source = None
        self.record.token(request, request.held_ms)
        if request.left:
            request.decoder = self.number
            request.worker = self
            self.batch.enter(request, self.clock_ms)
        else:
            self._over(request, request.held_ms)

    def _through_stages(self, pieces: list[Piece]) -> float:
        """When these prompts leave the last stage of a pipeline; the clock is the first one's."""
        tokens = sum(stop - start for _, start, stop in pieces)
        squares = sum(stop * stop - start * start for _, start, stop in pieces)
        at_ms = self.clock_ms
        for stage, fit in enumerate(self.service.later_stages):
            at_ms = max(at_ms, self.stage_free_ms[stage]) + fit.ms(tokens, squares) * self.pace
            self.stage_free_ms[stage] = at_ms
        return at_ms

    # Prompts, as the scheduler asks for them

    def fits(self, request: Request, others: int) -> bool:
        """Whether a prompt fits beside so many others of its step, and leaves room for the next."""
        if not self.is_limited:
            return True
        running = len(self.batch.running) + others + (self.begun is not None and not others)
        need = self.held + self.reserved + request.context + running + 1
        return need <= self.capacity and running < self.most_running

    def admit(self, request: Request) -> None:
        """A prompt leaves the queue and gets its memory."""
        del self.waiting[request]
        self.wanted -= request.context
        self.parked += request.context
        request.place, request.source = Place.PREFILL, self
        request.began_ms = self.clock_ms
        request.prefiller = self.number

    def _drop_prompt(self, request: Request) -> None:
        if request is self.begun and all(piece[0] is not request for piece in self.pieces):
            self.begun = None
            self.parked -= request.context
        request.source = None

    # The batch

    def _join(self) -> None:
        while self.joining and len(self.batch.running) < self.most_running:
            request = self.joining.popleft()
            self.reserved -= request.context + 1
            self.batch.enter(request, self.clock_ms)

    def _over(self, request: Request, at_ms: float) -> None:
        request.end("completed", at_ms)
        if self.finished is not None:
            self.finished.append(request)

    def _preempt(self) -> None:
        """Recompute the newest of the batch later, as many as it takes to make room."""
        running = self.batch.running
        while running and self.held + self.reserved + len(running) > self.capacity:
            request = next(reversed(running))
            self.batch.leave(request, self.clock_ms)
            self.record.wasted.preemptions += 1
            self.record.mark(request, "preempted", self.clock_ms)
            self.record.restart(request, self.clock_ms)
            request.place, request.worker = Place.QUEUED, self
            self.waiting[request] = None
            self.waiting.move_to_end(request, last=False)
            self.wanted += request.context
        if self.joining and not running:  # their caches are here: let the next ones go on
            self._join()
            self._preempt()
