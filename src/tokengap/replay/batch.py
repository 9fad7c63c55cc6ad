"""Requests that decode together: each gets a token at every step.

A run of steps of one batch is a loop over two sums, the clock and the tokens held. A request keeps
the first step it takes part in, and a heap says at which step the next one has all its tokens.
"""

from heapq import heappop, heappush

from tokengap.replay.record import Record
from tokengap.replay.request import Place, Request
from tokengap.replay.service import Line, ServiceModel


class Batch:
    """What decodes on one worker."""

    def __init__(self, service: ServiceModel, record: Record) -> None:
        self.service, self.record = service, record
        self.track = record.new_track()
        self.ends = record.tracks[self.track]  # of steps that gave everybody a token
        self.running: dict[Request, None] = {}  # in the order they joined
        self.contexts = 0  # tokens they hold, those of the step under way included
        self.has_stale = False
        self._due: list[tuple[int, int, Request]] = []  # (its last step, ticket); some are stale
        self._tickets = 0
        self._lines: dict[int, Line] = {}  # the last one seen of each size

    def enter(self, request: Request, now_ms: float) -> None:
        """A request takes part from the next step on."""
        self._tickets += 1
        request.place, request.ticket = Place.RUNNING, self._tickets
        request.admitted_ms = now_ms
        request.first_step = len(self.ends)
        request.due_step = request.first_step + request.left
        heappush(self._due, (request.due_step, request.ticket, request))
        self.running[request] = None
        self.contexts += request.context

    def leave(self, request: Request, now_ms: float) -> None:
        """A request stops before it has all tokens; the step under way goes on without effect."""
        del self.running[request]
        self.has_stale = True
        steps = len(self.ends) - request.first_step
        self.contexts -= request.context + steps
        last = len(self.ends) - 1
        if steps and self.ends[last] > now_ms:
            last -= 1  # the step under way
        self.record.tokens(request, self.track, request.first_step, last)
        request.left -= last + 1 - request.first_step

    def take_finished(self) -> list[Request]:
        """Those that have all their tokens by now leave."""
        done, due = len(self.ends), self._due
        finished: list[Request] = []
        while due and due[0][0] <= done:
            _, ticket, request = heappop(due)
            if request.ticket == ticket and request in self.running:
                self._finish(request)
                finished.append(request)
        return finished

    def _finish(self, request: Request) -> None:
        del self.running[request]
        first, due = request.first_step, request.due_step
        self.contexts -= request.context + due - first
        self.record.tokens(request, self.track, first, due - 1)
        request.left = 0

    def _equal_steps(self) -> tuple[Line, int]:
        """What a step takes, and how many take the same, until the next one has all its tokens."""
        if self.has_stale:
            self._drop_stale()
        size, held = len(self.running), self.contexts
        line = self._lines.get(size)
        if line is None or not line.from_tokens <= held < line.below_tokens:
            line = self._lines[size] = self.service.line(size, held)
        steps = self._due[0][0] - len(self.ends)
        if held + size * steps > line.below_tokens:
            steps = -((held - line.below_tokens) // size)
        return line, steps

    def run(self, clock_ms: float, until_ms: float, pace: float, most_steps: int) -> float:
        """Take equal steps, those that begin before a time; when the last one ends."""
        line, steps = self._equal_steps()
        fixed_ms, token_ms = line.fixed_ms * pace, line.token_ms * pace
        size, held, append = len(self.running), self.contexts, self.ends.append
        for _ in range(min(steps, most_steps)):
            clock_ms += fixed_ms + token_ms * held
            held += size
            append(clock_ms)
            if clock_ms >= until_ms:
                break
        self.contexts = held
        return clock_ms

    def step(self, end_ms: float) -> None:
        """Take one step that ends at this time, whatever else is done in it."""
        self.contexts += len(self.running)
        self.ends.append(end_ms)

    def until_next_end_ms(self, pace: float, most_steps: int) -> float:
        """How long the equal steps take that are still to come, but for rounding."""
        if self.has_stale:
            self._drop_stale()
        if not self._due or self._due[0][0] <= len(self.ends):
            return 0.0
        line, steps = self._equal_steps()
        steps = min(steps, most_steps)
        held = steps * self.contexts + len(self.running) * steps * (steps - 1) / 2
        return (line.fixed_ms * steps + line.token_ms * held) * pace

    def _drop_stale(self) -> None:
        due = self._due
        while due and (due[0][2].ticket != due[0][1] or due[0][2] not in self.running):
            heappop(due)
        self.has_stale = len(due) > len(self.running)
