"""The loop: what happens outside the workers, in order of time.

An event is a time, a rank, and a handler with what it is about. Of events at one time, those from
outside come first, then workers between two steps, then clients that give up. Handlers add events.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, Final

OUTSIDE: Final = 0
BOUNDARY: Final = 1
CLIENT: Final = 2

Handler = Callable[[Any], None]


class Loop:
    """A clock, and what is to come."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.is_stopped = False
        self._heap: list[tuple[Any, ...]] = []  # time, rank, order, handler, subject
        self._order = count()

    def at(self, time_ms: float, handler: Handler, subject: object, rank: int = OUTSIDE) -> None:
        """Let something happen, unless its time is infinite."""
        if time_ms < inf:
            heappush(self._heap, (time_ms, rank, next(self._order), handler, subject))

    def run_until(self, time_ms: float, rank: int = OUTSIDE) -> None:
        """Handle everything that comes before this time and rank."""
        heap, limit = self._heap, (time_ms, rank)  # shorter, so less than any event of that time
        while heap and heap[0] < limit and not self.is_stopped:
            self.now_ms, _, _, handler, subject = heappop(heap)
            handler(subject)
        if not self.is_stopped and time_ms < inf:
            self.now_ms = time_ms

    def stop(self) -> None:
        """Handle nothing more."""
        self.is_stopped = True
