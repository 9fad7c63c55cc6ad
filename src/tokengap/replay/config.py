"""What is replayed on: pools of workers, the way between them, and what clients put up with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Final, Literal, Self

import numpy as np

from tokengap.errors import UsageError
from tokengap.replay.router import LeastLoaded, Router
from tokengap.replay.scheduler import PrefillFirst, Scheduler
from tokengap.replay.service import ServiceModel
from tokengap.replay.workload import Workload

OnLoss = Literal["reprefill", "fail"]
Models = ServiceModel | Mapping[str, ServiceModel]
MOST_WORKERS: Final = 10_000


@dataclass(frozen=True)
class Pool:
    """Workers that are alike. `UsageError` for a pool that cannot work."""

    workers: int = 1
    tp: int = 1
    """Tensor-parallel ranks of each worker: its GPUs."""
    hardware: str = ""
    """Which service model holds, where several are given."""
    scheduler: Scheduler = field(default_factory=PrefillFirst)
    router: Callable[[], Router] = LeastLoaded
    kv_capacity_tokens: int | None = None
    """Tokens of cache each worker has memory for; None: as many as it takes."""
    memory_bytes: int | None = None
    """Of one GPU; None if not stated. The cache cannot be larger than that of all ranks."""
    max_running: int | None = None
    """Requests that decode at once; None: no limit."""
    max_queue: int | None = None
    """Requests that wait for a prefill at each worker, or for all workers of a decode pool: further
    ones are rejected. None: no limit."""

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= MOST_WORKERS or self.tp < 1:
            raise UsageError(
                f"a pool of {self.workers} workers of {self.tp} ranks: "
                f"give 1 to {MOST_WORKERS:,} workers, of 1 rank or more"
            )
        for name in ("kv_capacity_tokens", "memory_bytes", "max_running", "max_queue"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name}={value}: nothing could ever run; give 1 or more, or none")

    @property
    def gpus(self) -> int:
        """All ranks of all workers."""
        return self.workers * self.tp


@dataclass(frozen=True)
class Transport:
    """How a cache gets from a prefill worker to a decode worker."""

    kv_bytes_per_token: float = 0.0
    bandwidth_bytes_per_s: float | None = None
    """Effective, of each link; None: a transfer takes no time."""
    shared: bool = False
    """One link for all prefill workers, instead of one each."""
    busiest_share: float = 1.0
    """What the busiest link carries of a cache; see `handoff.busiest_share`."""
    overhead_ms: float = 0.0
    """Fixed, after room is reserved and before bytes move."""
    overlap_layers: int = 1
    """Equal layers, each sent once it is computed; 1: the whole cache is sent after the prefill.
    As much is hidden as on an idle link: beside other transfers, the wait is a lower bound."""
    withheld: bool = False
    """The first token waits until the cache has arrived, instead of leaving with the prefill."""
    slowdown: float = 1.0
    """Steps take so many times as long while bytes move from or to the worker."""
    stay_below_tokens: int = 0
    """Shorter prompts are prefilled by the decode worker, and nothing is moved."""
    retries: int = 0
    """Of a failed transfer, before its request is prefilled again, or fails."""

    def __post_init__(self) -> None:
        rate = self.bandwidth_bytes_per_s
        if rate is not None and not rate > 0:
            raise UsageError("a bandwidth of 0 moves nothing; give one above 0, or none")
        if rate is not None and not self.kv_bytes_per_token:
            raise UsageError("a bandwidth needs kv_bytes_per_token: how much is to be moved?")
        sizes = (self.kv_bytes_per_token, self.overhead_ms, self.stay_below_tokens, self.retries)
        if not all(isfinite(size) and size >= 0 for size in sizes):
            raise UsageError("bytes, overhead, threshold and retries are 0 or more")
        if not self.busiest_share > 0 or self.overlap_layers < 1:
            raise UsageError("a link carries some of the cache, of 1 layer or more")
        if not 1 <= self.slowdown < inf:
            raise UsageError(f"slowdown={self.slowdown}: steps take 1 or more times as long")


@dataclass(frozen=True)
class Pools:
    """A way to divide resources."""

    decode: Pool
    """All workers, where there is no prefill pool."""
    prefill: Pool | None = None
    transport: Transport = field(default_factory=Transport)
    on_loss: OnLoss = "reprefill"
    """What becomes of requests whose cache is lost."""
    first_token_deadline_ms: float | None = None
    """Clients leave if no token has come so long after the arrival."""
    deadline_ms: float | None = None
    """Clients leave if the answer is not complete."""

    def __post_init__(self) -> None:
        for name in ("first_token_deadline_ms", "deadline_ms"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name}={value}: every client would leave; give more than 0")

    @classmethod
    def colocated(cls, workers: int = 1, **pool: object) -> Self:
        """Workers that prefill and decode; options as of `Pool`.

        >>> Pools.colocated(2, tp=2).gpus
        4
        """
        return cls(Pool(workers, **pool))  # type: ignore[arg-type]

    @classmethod
    def split(
        cls, prefill: Pool | int = 1, decode: Pool | int = 1, transport: Transport | None = None
    ) -> Self:
        """Workers that prefill, and others that decode.

        >>> Pools.split(Pool(1, tp=2), Pool(1)).name
        '1P+1D'
        """
        pools = [Pool(pool) if isinstance(pool, int) else pool for pool in (prefill, decode)]
        return cls(pools[1], pools[0], transport or Transport())

    @property
    def gpus(self) -> int:
        """Of all pools."""
        return self.decode.gpus + (self.prefill.gpus if self.prefill else 0)

    @property
    def name(self) -> str:
        """How it is divided."""
        if self.prefill is None:
            return f"{self.decode.workers} colocated"
        return f"{self.prefill.workers}P+{self.decode.workers}D"


def service_of(pool: Pool, models: Models) -> ServiceModel:
    """The service model of a pool's workers; UsageError if none is given for its hardware."""
    if isinstance(models, ServiceModel):
        return models
    if pool.hardware not in models:
        known = ", ".join(map(repr, models)) or "none"
        raise UsageError(
            f"no service model for the hardware {pool.hardware!r}; given: {known}. "
            "Name one of these as the pool's hardware"
        )
    return models[pool.hardware]


def check(workload: Workload, pools: Pools, models: Models, *, may_lose: bool) -> None:
    """UsageError if a request could never be served, or memory is larger than there is.

    may_lose: caches may be lost, and prompts are then prefilled again with the tokens so far.
    """
    bytes_per_token = pools.transport.kv_bytes_per_token
    prompt, whole = workload.prompt_tokens, workload.prompt_tokens + workload.output_tokens
    stays = prompt < pools.transport.stay_below_tokens
    is_limited = pools.decode.kv_capacity_tokens is not None
    _check_memory(pools.decode, bytes_per_token)
    _check_fit(whole, pools.decode, "prompt and answer")
    if service_of(pools.decode, models).later_stages:
        raise UsageError("a pipeline of stages is for a prefill pool; fit one stage for this pool")
    if pools.prefill is None:
        _check_step(whole if is_limited or may_lose else prompt, pools.decode)
        return
    service_of(pools.prefill, models)
    _check_memory(pools.prefill, bytes_per_token)
    moved = whole if may_lose else np.where(stays, 0, prompt)
    _check_fit(moved + 1, pools.prefill, "prompt")
    _check_step(moved, pools.prefill)
    _check_step(whole if is_limited else np.where(stays, prompt, 0), pools.decode)


def _check_memory(pool: Pool, bytes_per_token: float) -> None:
    if pool.memory_bytes is None or pool.kv_capacity_tokens is None:
        return
    cache_bytes = pool.kv_capacity_tokens * bytes_per_token
    if cache_bytes > pool.memory_bytes * pool.tp:
        raise UsageError(
            f"a KV cache of {pool.kv_capacity_tokens:,} tokens is {cache_bytes:,.0f} bytes, "
            f"and {pool.tp} x {pool.memory_bytes:,} bytes of memory are there; "
            "lower kv_capacity_tokens"
        )


def _check_fit(tokens: np.ndarray, pool: Pool, what: str) -> None:
    _check_most(tokens, pool.kv_capacity_tokens, f"{what} in a KV cache", "kv_capacity_tokens")


def _check_step(tokens: np.ndarray, pool: Pool) -> None:
    _check_most(tokens, pool.scheduler.longest_prompt_tokens, "prompt in a step", "max_tokens")


def _check_most(tokens: np.ndarray, most: int | None, what: str, name: str) -> None:
    if most is None or not len(tokens) or tokens.max() <= most:
        return
    which = np.flatnonzero(tokens > most)
    raise UsageError(
        f"{len(which):,} requests can never be served, the first is request {which[0]}: "
        f"{tokens[which[0]]:,} tokens of {what} of at most {most:,}; "
        f"raise {name}, or leave out such requests"
    )
