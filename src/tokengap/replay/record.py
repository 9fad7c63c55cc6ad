"""What happened, as it is written down during a replay.

A track is the times of steps that gave tokens. An interval says that a request got a token at every
step of a track from one to another. A token that is not one of a batch's, such as the first one, is
a point: a step of the first track.
"""

from array import array
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Final, Self

from tokengap.replay.request import Request


@dataclass(frozen=True, slots=True)
class Pass:
    """A request's way from a prefill on; numbers of workers, -1 for none; NaN: it did not come."""

    prefiller: int
    decoder: int
    first_step: int
    kv_bytes: float
    queued_ms: float
    began_ms: float
    held_ms: float
    moving_ms: float
    arrived_ms: float
    admitted_ms: float

    @classmethod
    def of(cls, request: Request) -> Self:
        """Its last one so far."""
        return cls(*_of_pass(request))


_of_pass: Final = attrgetter(*Pass.__dataclass_fields__)


@dataclass
class Wasted:
    """Work and bytes that no completed request needed."""

    prefill_tokens: int = 0
    """Prefilled again after a loss, or for a request that did not complete."""
    decode_tokens: int = 0
    """Delivered to requests that did not complete."""
    kv_bytes: float = 0.0
    """Sent for nothing: cancelled, failed or lost on the way, or never used by a completed one."""
    preemptions: int = 0
    failed_transfers: int = 0
    lost_streams: int = 0
    """Streams whose cache was lost with a worker."""
    lost_tokens: int = 0
    """Tokens of cache lost with a worker."""

    def as_dict(self) -> dict[str, float]:
        """Every count under its name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass
class Record:
    """Tracks, intervals, and what else is to be counted."""

    points: "array[float]" = field(default_factory=lambda: array("d"))
    tracks: "list[array[float]]" = field(default_factory=list)
    intervals: "array[int]" = field(default_factory=lambda: array("q"))
    """Four numbers each: request, track, first step and last step."""
    wasted: Wasted = field(default_factory=Wasted)
    transfer_bytes: float = 0.0
    marks: list[tuple[int, str, float]] = field(default_factory=list)
    passes: dict[int, list[Pass]] = field(default_factory=dict)
    """By the request: its passes that were followed by another one."""

    def __post_init__(self) -> None:
        self.tracks.append(self.points)

    def new_track(self) -> int:
        """Number of a further track."""
        self.tracks.append(array("d"))
        return len(self.tracks) - 1

    def token(self, request: Request, at_ms: float) -> None:
        """One token by itself."""
        place = len(self.points)
        self.points.append(at_ms)
        self.intervals.extend((request.index, 0, place, place))
        request.left -= 1

    def tokens(self, request: Request, track: int, first: int, last: int) -> None:
        """A token at each step of a track, if there is one."""
        if first <= last:
            self.intervals.extend((request.index, track, first, last))

    def mark(self, request: Request, kind: str, at_ms: float) -> None:
        """An event that carries no token."""
        self.marks.append((request.index, kind, at_ms))

    def restart(self, request: Request, now_ms: float) -> None:
        """Keep a pass, whose work is wasted, and begin another one."""
        self.wasted.prefill_tokens += request.prefilled
        self.wasted.kv_bytes += request.kv_bytes
        self.passes.setdefault(request.index, []).append(Pass.of(request))
        request.start_over(now_ms)
