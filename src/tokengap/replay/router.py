"""Which worker gets a request. A router reads load, and changes nothing."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tokengap.replay.worker import Worker


class Router(Protocol):
    """Chooses among the workers that are alive and could take a request; there is one or more."""

    def choose(self, workers: Sequence["Worker"], now_ms: float) -> "Worker":
        """One of them; of equal ones the first."""
        ...


class _Least(ABC):
    """The worker with the least load, of a kind that differs."""

    @abstractmethod
    def load(self, worker: "Worker") -> int:
        """Of one worker, as it is now."""

    def choose(self, workers: Sequence["Worker"], now_ms: float) -> "Worker":
        """Advances every worker to see its load."""
        if len(workers) == 1:
            return workers[0]
        for worker in workers:
            worker.advance(now_ms)
        return min(workers, key=self.load)


class LeastLoaded(_Least):
    """Fewest tokens held, reserved, and wanted."""

    def load(self, worker: "Worker") -> int:
        """Tokens."""
        return worker.held + worker.reserved + worker.wanted


class JoinShortest(_Least):
    """Fewest requests that are there or on their way, whatever their length."""

    def load(self, worker: "Worker") -> int:
        """Requests."""
        return worker.requests + worker.coming


class RoundRobin:
    """One after another."""

    def __init__(self) -> None:
        self._turns = count()

    def choose(self, workers: Sequence["Worker"], now_ms: float) -> "Worker":  # noqa: ARG002 (looks at none)
        """The next one."""
        return workers[next(self._turns) % len(workers)]
