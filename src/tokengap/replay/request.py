"""A request on its way through the workers."""

from enum import Enum, auto
from math import nan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokengap.replay.worker import Worker


class Place(Enum):
    """Where a request is."""

    OUTSIDE = auto()
    QUEUED = auto()
    """Waits for a prefill."""
    PREFILL = auto()
    HELD = auto()
    """Prefilled, and its cache waits for room at a decode worker."""
    MOVING = auto()
    """Room is reserved, its cache is on the way."""
    JOINING = auto()
    """Its cache has arrived; it decodes from the next step on."""
    RUNNING = auto()
    OVER = auto()


class Request:
    """One request: what it asks for, where it is, and when it got there.

    A pass is its way from a prefill to the end; one that loses its cache begins another, whose
    prompt holds the tokens already delivered. Times that have not come are NaN.
    """

    __slots__ = (
        "admitted_ms", "arrival_ms", "arrived_ms", "began_ms", "context", "decoder", "due_step",
        "ended_ms", "error", "first_step", "held_ms", "index", "kv_bytes", "left", "moving_ms",
        "output_tokens", "place", "prefilled", "prefiller", "prompt_tokens", "queued_ms", "retries",
        "source", "status", "ticket", "turn", "worker",
    )  # fmt: skip

    def __init__(
        self, index: int, arrival_ms: float, prompt_tokens: int, output_tokens: int
    ) -> None:
        self.index = index
        self.arrival_ms = arrival_ms
        self.prompt_tokens = prompt_tokens
        self.output_tokens = output_tokens
        self.left = output_tokens  # not delivered when it last joined a batch
        self.context = prompt_tokens  # tokens of this pass's prefill
        self.prefilled = 0  # tokens of it that are done
        self.place = Place.OUTSIDE
        self.worker: Worker | None = None  # where it is queued, or decodes, or will
        self.source: Worker | None = None  # where its cache is until it has moved
        self.prefiller = self.decoder = -1  # numbers of workers
        self.first_step = self.due_step = 0  # of the decode worker: its batch's first, and its end
        self.ticket = 0
        self.turn = 0  # raised whenever something planned for it no longer holds
        self.retries = 0
        self.kv_bytes = 0.0  # moved in this pass
        self.status = "in_flight"
        self.error: str | None = None
        self.queued_ms = arrival_ms  # when this pass began
        self.began_ms = self.held_ms = self.moving_ms = nan
        self.arrived_ms = self.admitted_ms = self.ended_ms = nan

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.place is Place.OVER

    def end(self, status: str, now_ms: float, error: str | None = None) -> None:
        """Whatever it was doing is done."""
        self.place = Place.OVER
        self.status = status
        self.error = error
        self.ended_ms = now_ms
        self.turn += 1

    def start_over(self, now_ms: float) -> None:
        """Begin another pass, of all tokens there are so far."""
        self.place = Place.OUTSIDE
        self.worker = self.source = None
        self.context = self.prompt_tokens + self.output_tokens - self.left
        self.prefilled = 0
        self.kv_bytes = 0.0
        self.prefiller = self.decoder = -1
        self.turn += 1
        self.queued_ms = now_ms
        self.began_ms = self.held_ms = self.moving_ms = nan
        self.arrived_ms = self.admitted_ms = nan
