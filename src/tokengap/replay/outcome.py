"""What came of a replay: every token's time, and what was counted on the way.

The clock of a replay is in float ms. A stamp becomes whole ns once, here, and a gap is the
difference of two such stamps, so that gaps add up exactly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tokengap.replay.config import Pools
from tokengap.replay.record import Record, Wasted
from tokengap.replay.request import Request
from tokengap.replay.stability import Queues
from tokengap.replay.worker import Worker
from tokengap.replay.workload import NS_PER_MS, Floats, Ints, Workload

CHUNK_TOKENS: Final = 1 << 17  # the arrays of a chunk stay in the cache of a core


def to_ns(times_ms: npt.NDArray[Any]) -> Ints:
    """Whole ns of times that are known."""
    return np.rint(times_ms * NS_PER_MS).astype(np.int64)


@dataclass(frozen=True)
class Chunk:
    """Neighbouring requests; the gaps of the one at place i are `offsets[i]:offsets[i + 1]`."""

    first: int
    """Place of the first request in the outcome."""
    tokens: Ints
    first_token_ns: Ints
    """0 where there is no token."""
    offsets: Ints
    gaps_ns: Ints
    """Of each request one less than its tokens."""

    def gaps_of(self, place: int) -> Ints:
        """Gaps of one request, by its place in this chunk."""
        return self.gaps_ns[self.offsets[place] : self.offsets[place + 1]]


@dataclass(frozen=True)
class Latency:
    """One value per request, in ns; NaN where there is none (no token, or no gap)."""

    tokens: Ints
    ttft_ns: Floats
    tpot_ns: Floats
    worst_gap_ns: Floats
    first_gap_ns: Floats
    worst_later_gap_ns: Floats
    """The largest gap but the first, which in a split holds the handoff."""


@dataclass(frozen=True)
class Outcome:
    """Requests in order of arrival, up to the last one before the replay stopped."""

    workload: Workload
    pools: Pools
    requests: Sequence[Request]
    workers: Sequence[Worker]
    record: Record
    queues: Queues

    def __len__(self) -> int:
        return len(self.requests)

    @property
    def is_stable(self) -> bool:
        """False if a queue grew without end."""
        return not self.queues.is_unstable

    @property
    def wasted(self) -> Wasted:
        """What was done for nothing."""
        return self.record.wasted

    @property
    def transfer_bytes(self) -> float:
        """All bytes of cache that were sent."""
        return self.record.transfer_bytes

    @cached_property
    def statuses(self) -> list[str]:
        """As in `streams.status`."""
        return [request.status for request in self.requests]

    @cached_property
    def completed(self) -> npt.NDArray[np.bool_]:
        """Which requests got all their tokens."""
        return np.array([status == "completed" for status in self.statuses], bool)

    @cached_property
    def arrival_ns(self) -> Ints:
        """From the workload's origin."""
        return to_ns(self.times_ms("arrival_ms"))

    def times_ms(self, name: str) -> Floats:
        """An attribute of every request (see `Request`), as it ended; NaN: it never came."""
        return np.array([getattr(request, name) for request in self.requests], np.float64)

    @cached_property
    def end_ms(self) -> float:
        """When the last token came, or the last request was over."""
        last_ns = self._steps_ns[self._intervals.lasts].max(initial=0)
        ended_ms = (request.ended_ms for request in self.requests if request.is_over)
        return max(float(last_ns) / NS_PER_MS, max(ended_ms, default=0.0))

    def busy_shares(self) -> dict[str, float]:
        """Share of the time until the end that each worker spent in steps, by its name."""
        span_ms = self.end_ms
        return {w.name: w.busy_ms / span_ms if span_ms else 0.0 for w in self.workers}

    # Tokens

    @cached_property
    def _intervals(self) -> "_Intervals":
        rows = np.frombuffer(self.record.intervals, np.int64).reshape(-1, 4)
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        bases = np.cumsum([0, *map(len, self.record.tracks)])[rows[:, 1]]
        return _Intervals(rows[:, 0], bases + rows[:, 2], bases + rows[:, 3])

    @cached_property
    def _steps_ns(self) -> Ints:
        """Every step of every track, end to end."""
        return np.concatenate([to_ns(np.frombuffer(t, np.float64)) for t in self.record.tracks])

    @cached_property
    def _step_gaps_ns(self) -> Ints:
        return np.diff(self._steps_ns, prepend=0)

    @cached_property
    def tokens(self) -> Ints:
        """Tokens each request got."""
        found = self._intervals
        sizes = found.lasts - found.begins + 1
        return np.bincount(found.owners, sizes, len(self)).astype(np.int64)

    def chunks(self, chunk_tokens: int = CHUNK_TOKENS) -> Iterator[Chunk]:
        """Every request's gaps, so many tokens at a time, or one request's if it has more."""
        before = np.concatenate(([0], np.cumsum(self.tokens)))
        first = 0
        while first < len(self):
            stop = int(np.searchsorted(before, before[first] + chunk_tokens, side="right")) - 1
            stop = max(first + 1, min(stop, len(self)))
            yield self._chunk(first, stop)
            first = stop

    def _chunk(self, first: int, stop: int) -> Chunk:
        """An interval's gaps are those of its track, but for the one before its first token."""
        steps_ns, found = self._steps_ns, self._intervals.between(first, stop)
        opens = found.opens()
        begins = found.begins + opens  # before a request's first token there is no gap
        sizes = found.lasts - begins + 1
        ahead = np.cumsum(sizes) - sizes
        places = np.repeat(begins - ahead, sizes)
        places += np.arange(len(places))
        gaps_ns = self._step_gaps_ns[places]
        follows = np.flatnonzero(~opens)
        since_ns = steps_ns[found.lasts[follows - 1]]
        gaps_ns[ahead[follows]] = steps_ns[found.begins[follows]] - since_ns
        tokens = self.tokens[first:stop]
        first_ns = np.zeros(stop - first, np.int64)
        first_ns[tokens > 0] = steps_ns[found.begins[opens]]
        offsets = np.concatenate(([0], np.cumsum(np.maximum(tokens - 1, 0))))
        return Chunk(first, tokens, first_ns, offsets, gaps_ns)

    @cached_property
    def latency(self) -> Latency:
        """Latencies of every request."""
        parts = [_latency(chunk, self.arrival_ns) for chunk in self.chunks()]
        if not parts:
            return Latency(np.zeros(0, np.int64), *np.zeros((5, 0)))
        names = Latency.__dataclass_fields__
        return Latency(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))

    @property
    def ttft_ns(self) -> Floats:
        """First token, from the arrival; NaN without one."""
        return self.latency.ttft_ns


@dataclass(frozen=True)
class _Intervals:
    """Runs of steps by request and time, one token each; steps of all tracks are numbered on."""

    owners: Ints
    begins: Ints
    lasts: Ints

    def between(self, first: int, stop: int) -> "_Intervals":
        """Those of neighbouring requests."""
        part = slice(*np.searchsorted(self.owners, (first, stop)))
        return _Intervals(self.owners[part], self.begins[part], self.lasts[part])

    def opens(self) -> npt.NDArray[np.bool_]:
        """Which are the first of their request."""
        opens = np.ones(len(self.owners), bool)
        opens[1:] = self.owners[1:] != self.owners[:-1]
        return opens


def _latency(chunk: Chunk, arrival_ns: Ints) -> Latency:
    tokens, gaps, begins = chunk.tokens, chunk.gaps_ns, chunk.offsets[:-1]
    rows = len(tokens)
    ttft, tpot, worst, first_gap, later = np.full((5, rows), np.nan)
    some, many, more = tokens > 0, tokens > 1, tokens > 2  # noqa: PLR2004 (a gap but the first)
    arrived = arrival_ns[chunk.first : chunk.first + rows]
    ttft[some] = (chunk.first_token_ns - arrived)[some]
    if many.any():
        first_gap[many] = gaps[begins[many]]
        tpot[many] = np.add.reduceat(gaps, begins[many]) / (tokens[many] - 1)
        worst[many] = np.maximum.reduceat(gaps, begins[many])
    if more.any():
        others = np.delete(gaps, begins[many])
        counts = np.maximum(tokens - 2, 0)
        later[more] = np.maximum.reduceat(others, (np.cumsum(counts) - counts)[more])
    return Latency(tokens, ttft, tpot, worst, first_gap, later)
