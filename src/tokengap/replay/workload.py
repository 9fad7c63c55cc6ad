"""What arrives: when, how long, and when its client gives up. Every draw is seeded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.errors import InputError, UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MS_PER_S: Final = 1000.0
NS_PER_MS: Final = 1e6
BLOCK: Final = 50
"""Neighbouring intervals that a resampling keeps together, and with them the bursts."""


@dataclass(frozen=True)
class Workload:
    """Requests in order of arrival; `UsageError` if a column does not fit.

    Of a closed loop, `arrival_ms` is the think time before each request instead.
    """

    arrival_ms: Floats
    """Not falling."""
    prompt_tokens: Ints
    output_tokens: Ints
    """The first token counts; 1 or more."""
    leave_after_ms: Floats | None = None
    """The client cancels so long after the arrival; infinite: it never does."""
    users: int = 0
    """More than 0: a closed loop. Each user sends the next request once its last one is over, and
    it has thought."""
    names: Sequence[str] | None = None
    """None: the requests' places."""

    def __post_init__(self) -> None:
        columns = [self.arrival_ms, self.prompt_tokens, self.output_tokens]
        columns += [] if self.leave_after_ms is None else [self.leave_after_ms]
        if len({len(column) for column in columns}) > 1:
            raise UsageError("a workload's columns differ in length")
        if not all(np.issubdtype(column.dtype, np.integer) for column in columns[1:3]):
            raise UsageError("tokens are whole numbers: give integer arrays")
        if not np.isfinite(self.arrival_ms).all() or (self.arrival_ms < 0).any():
            raise UsageError("arrivals and think times are finite, and 0 ms or more")
        if not self.users and (np.diff(self.arrival_ms) < 0).any():
            raise UsageError("arrivals fall: sort the requests by arrival")
        if (self.prompt_tokens < 1).any() or (self.output_tokens < 1).any():
            raise UsageError("a request has 1 prompt token and 1 output token or more")
        if self.leave_after_ms is not None and not (self.leave_after_ms >= 0).all():
            raise UsageError("a client leaves 0 ms or more after its arrival")

    def __len__(self) -> int:
        return len(self.arrival_ms)

    @property
    def span_ms(self) -> float:
        """From the origin to the last arrival."""
        return float(self.arrival_ms[-1]) if len(self) else 0.0

    @property
    def rate_per_s(self) -> float:
        """Mean rate until the last arrival; 0 without a span."""
        return len(self) / self.span_ms * MS_PER_S if self.span_ms else 0.0

    def at_rate(self, rate_per_s: float) -> Self:
        """The same requests, their arrivals stretched to a mean rate.

        >>> Workload(np.array([0.0, 1000.0]), *np.full((2, 2), 9)).at_rate(4).arrival_ms
        array([  0., 500.])
        """
        if not rate_per_s > 0 or self.users or not self.span_ms:
            raise UsageError("a rate above 0 needs arrivals with a span, in an open loop")
        return replace(self, arrival_ms=self.arrival_ms * (self.rate_per_s / rate_per_s))

    def arriving(self, arrival_ms: Floats) -> Self:
        """The same requests at other times."""
        return replace(self, arrival_ms=arrival_ms, users=0)

    def first(self, size: int) -> Self:
        """So many of the requests."""
        leave_ms = self.leave_after_ms
        return replace(
            self,
            arrival_ms=self.arrival_ms[:size],
            prompt_tokens=self.prompt_tokens[:size],
            output_tokens=self.output_tokens[:size],
            leave_after_ms=None if leave_ms is None else leave_ms[:size],
            names=None if self.names is None else self.names[:size],
        )

    def bootstrap(self, size: int, seed: int) -> Self:
        """Requests drawn with replacement, prompt and answer together; intervals in blocks."""
        rng = np.random.default_rng(seed)
        which = rng.integers(len(self), size=size)
        return replace(
            self,
            arrival_ms=resampled_ms(self.arrival_ms, size, rng),
            prompt_tokens=self.prompt_tokens[which],
            output_tokens=self.output_tokens[which],
            leave_after_ms=None if self.leave_after_ms is None else self.leave_after_ms[which],
            names=None,
        )

    def resampled(self, seed: int) -> Self:
        """The same requests, their intervals drawn anew in blocks, at the same mean rate."""
        rng = np.random.default_rng(seed)
        drawn = self.arriving(resampled_ms(self.arrival_ms, len(self), rng))
        return drawn.at_rate(self.rate_per_s) if drawn.span_ms else drawn

    def leaving(self, rate_per_s: float, seed: int) -> Self:
        """Clients that cancel at this rate while they wait."""
        rng = np.random.default_rng(seed)
        waits_ms = rng.exponential(MS_PER_S / rate_per_s, len(self)) if rate_per_s else None
        return replace(self, leave_after_ms=waits_ms)

    def closed_loop(self, users: int, think_ms: float, seed: int) -> Self:
        """Users that think for an exponential time before each request."""
        if users < 1 or not think_ms >= 0:
            raise UsageError("a closed loop has 1 user or more, who think 0 ms or more")
        rng = np.random.default_rng(seed)
        return replace(self, arrival_ms=rng.exponential(think_ms, len(self)), users=users)


def resampled_ms(arrival_ms: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Arrivals whose intervals are blocks of neighbours, drawn with replacement."""
    intervals = np.diff(arrival_ms, prepend=0.0)
    if not len(intervals) or not size:
        raise UsageError("nothing to draw from: the workload is empty")
    starts = rng.integers(len(intervals), size=-(-size // BLOCK))
    places = (starts[:, None] + np.arange(BLOCK)).ravel()[:size] % len(intervals)
    arrivals: Floats = np.cumsum(intervals[places])
    return arrivals


def gamma_ms(size: int, rate_per_s: float, cv: float, seed: int) -> Floats:
    """Arrivals with independent gamma intervals: cv 1 is Poisson, more comes in bursts.

    >>> gamma_ms(3, rate_per_s=1000, cv=0, seed=0)
    array([1., 2., 3.])
    """
    if not rate_per_s > 0 or not cv >= 0:
        raise UsageError("a rate is above 0, and the cv of intervals is 0 or more")
    mean_ms = MS_PER_S / rate_per_s
    if not cv:
        return mean_ms * np.arange(1.0, size + 1)
    shape = cv**-2
    rng = np.random.default_rng(seed)
    arrivals: Floats = np.cumsum(rng.gamma(shape, mean_ms / shape, size))
    return arrivals


def poisson_ms(size: int, rate_per_s: float, seed: int) -> Floats:
    """Poisson arrivals."""
    return gamma_ms(size, rate_per_s, 1.0, seed)


def on_off_ms(size: int, rate_per_s: float, on_s: float, off_s: float, seed: int) -> Floats:
    """Poisson arrivals in exponential times of a mean `on_s`, none in between; so many in all.

    rate_per_s: the mean over both.
    """
    if not min(rate_per_s, on_s) > 0 or not off_s >= 0:
        raise UsageError("rate and on-time are above 0, the off-time is 0 or more")
    rng = np.random.default_rng(seed)
    busy_ms = poisson_ms(size, rate_per_s * (on_s + off_s) / on_s, seed + 1)
    turns = int(busy_ms[-1] / (on_s * MS_PER_S) * 2) + 64 if size else 0
    ends_ms = np.cumsum(rng.exponential(on_s * MS_PER_S, turns))
    while size and ends_ms[-1] < busy_ms[-1]:
        more = np.cumsum(rng.exponential(on_s * MS_PER_S, turns))
        ends_ms = np.concatenate((ends_ms, ends_ms[-1] + more))
    pauses_ms = np.cumsum(rng.exponential(off_s * MS_PER_S, len(ends_ms)))
    before = np.searchsorted(ends_ms, busy_ms)
    arrivals: Floats = busy_ms + np.concatenate(([0.0], pauses_ms))[before]
    return arrivals


@dataclass(frozen=True)
class Client:
    """One of many clients that send together, as ServeGen describes them.

    Lengths are drawn from those given, prompt and answer together.
    """

    rate_per_s: float
    cv: float
    prompt_tokens: Ints
    output_tokens: Ints


def of_clients(clients: Sequence[Client], duration_s: float, seed: int) -> Workload:
    """All clients' requests of some time, with gamma intervals each."""
    columns = [_sent(client, duration_s, seed + 2 * at) for at, client in enumerate(clients)]
    if not columns:
        raise UsageError("no clients: nothing is sent")
    arrival_ms, prompt, output = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    order = np.argsort(arrival_ms, kind="stable")
    return Workload(arrival_ms[order], prompt[order], output[order])


def _sent(client: Client, duration_s: float, seed: int) -> tuple[Floats, Ints, Ints]:
    expected = client.rate_per_s * duration_s
    size = int(expected + 10 * (1 + client.cv) * (expected**0.5 + 1))
    arrival_ms = gamma_ms(size, client.rate_per_s, client.cv, seed)
    arrival_ms = arrival_ms[arrival_ms < duration_s * MS_PER_S]
    which = np.random.default_rng(seed + 1).integers(
        len(client.prompt_tokens), size=len(arrival_ms)
    )
    return arrival_ms, client.prompt_tokens[which], client.output_tokens[which]


def of_streams(table: pa.Table) -> Workload:
    """The requests of canonical `streams`: their planned, else sent, received or engine's arrivals.

    An answer that was cut is as long as was asked for, where that is known. Rows without an origin
    or lengths are left out; InputError if none is left. A cancelled stream's client leaves when it
    did.
    """
    origin = pc.coalesce(*(table[f"{n}_ns"] for n in ("planned", "sent", "received", "arrival")))
    made, asked = table["output_tokens"], table["requested_output_tokens"]
    is_whole = pc.equal(table["status"], "completed")
    output = pc.if_else(is_whole, pc.coalesce(made, asked), pc.coalesce(asked, made))
    usable = pc.and_(pc.is_valid(origin), pc.greater(table["prompt_tokens"], 0))
    usable = pc.fill_null(pc.and_(usable, pc.greater(output, 0)), False)
    kept = table.append_column("origin", origin).append_column("wanted", output).filter(usable)
    if not len(kept):
        raise InputError("no stream has an arrival, a prompt and an answer: nothing to replay")
    kept = kept.sort_by("origin")
    origin_ns = kept["origin"].to_numpy()
    stayed_ns = pc.subtract(kept["stream_close_ns"], kept["origin"])
    left = pc.equal(kept["status"], "cancelled")
    leave_ns = pc.fill_null(pc.cast(pc.if_else(left, stayed_ns, None), pa.float64()), np.inf)
    return Workload(
        (origin_ns - origin_ns[0]) / NS_PER_MS,
        kept["prompt_tokens"].to_numpy().astype(np.int64),
        kept["wanted"].to_numpy().astype(np.int64),
        np.maximum(leave_ns.to_numpy() / NS_PER_MS, 0.0) if pc.any(left).as_py() else None,
        names=kept["request_id"].to_pylist(),
    )
