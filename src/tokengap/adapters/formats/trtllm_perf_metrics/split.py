"""Rows of records of TensorRT-LLM's own servers: of one worker, or of two workers joined."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.formats.trtllm_perf_metrics.gateway import (
    Gateway,
    contradict,
    gateway_of,
    gateway_rows,
)
from tokengap.adapters.formats.trtllm_perf_metrics.ids import are_split, own_ids, shared_ids
from tokengap.adapters.formats.trtllm_perf_metrics.requests import Log, Requests, outcomes
from tokengap.adapters.formats.trtllm_perf_metrics.rows import (
    both_workers,
    decode_halves,
    prefill_halves,
    single_workers,
)
from tokengap.adapters.formats.trtllm_perf_metrics.stamps import Stamps
from tokengap.adapters.formats.trtllm_perf_metrics.worker import Worker, worker_of
from tokengap.adapters.shared.columns import Columns, is_true, unless_empty
from tokengap.adapters.shared.nested import prefixed
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED

CTX: Final = "ctx"
GEN: Final = "gen"


class _Parts(NamedTuple):
    """Who tells of requests: a server, ctx and gen of joined records, own of a worker's own."""

    server: Gateway
    ctx: Worker
    gen: Worker
    own: Worker


def split_rows(records: Columns, log: Log) -> Iterator[Rows]:
    """Yield the rows of some records, those of each kind together."""
    stamps = Stamps(records.sieve)
    parts = _Parts(
        gateway_of(records, stamps),
        _worker(records, CTX, log.clock, stamps),
        _worker(records, GEN, log.clock, stamps),
        worker_of(records, None, log.clock, stamps),
    )
    broken = contradict(parts.server, parts.ctx, parts.gen)
    own_ctx, own_gen = _halves(records, parts.own)
    ids = shared_ids(records, parts.ctx.there | own_ctx)
    facts, notes = outcomes(records["status"])
    notes |= {CLOCK_CONTRADICTION: pa.array(broken), SENTINEL_DROPPED: pa.array(stamps.dropped)}
    names = _names(records, log, parts, ids)
    ids |= _file_ids(log.clock, names, parts, broken, ids)
    requests = Requests(records, log.clock, names, ids, facts, notes)
    yield from _of_joined(requests, parts, broken)
    yield from _of_own(requests, parts.own, own_ctx, own_gen)


def _of_joined(requests: Requests, parts: _Parts, broken: Bools) -> Iterator[Rows]:
    """Rows of the server and of its workers, of which either may be missing."""
    server, ctx, gen, _ = parts
    both, at_server = ctx.there & gen.there & ~broken, server.there | broken
    ctx_alone, gen_alone = ctx.there & ~both, gen.there & ~both
    if both.any():
        yield both_workers(requests, ctx, gen, both)
    if ctx_alone.any():
        yield prefill_halves(requests, _by_itself(ctx, broken), ctx_alone)
    if gen_alone.any():
        yield decode_halves(requests, _by_itself(gen, broken), gen_alone)
    if at_server.any():
        yield gateway_rows(requests, server, gen, both, at_server)


def _of_own(requests: Requests, own: Worker, own_ctx: Bools, own_gen: Bools) -> Iterator[Rows]:
    """The row of a worker's own record."""
    single = own.there & ~own_ctx & ~own_gen
    if own_ctx.any():
        yield prefill_halves(requests, replace(own, name=CTX), own_ctx)
    if own_gen.any():
        yield decode_halves(requests, replace(own, name=GEN), own_gen)
    if single.any():
        yield single_workers(requests, own, single)


def _worker(records: Columns, kind: str, clock: str, stamps: Stamps) -> Worker:
    logged = records[f"{kind}_server"]
    named = logged.null_count < len(logged)
    name = pc.coalesce(unless_empty(logged), kind) if named else kind
    return worker_of(records.part(f"{kind}_perf_metrics"), name, clock, stamps)


def _by_itself(worker: Worker, broken: Bools) -> Worker:
    """The worker, on a clock of its own in the records where the clocks contradict each other."""
    if not broken.any():
        return worker
    own = pc.binary_join_element_wise(worker.clock, worker.name, ":")
    return replace(worker, clock=pc.if_else(pa.array(broken), own, worker.clock))


def _halves(records: Columns, own: Worker) -> tuple[Bools, Bools]:
    """Where a worker's own record is the first worker's, and where it is the second's.

    It does not say so, but for what it did: one receives a KV cache, the other reads the prompt.
    """
    split = own.there & are_split(records)
    times, made_steps = own.times, own.steps.sizes > 0
    received = is_true(pc.or_(pc.is_valid(times.kv_start_ns), pc.is_valid(times.kv_end_ns)))
    made_one = is_true(pc.equal(times.first_token_ns, times.last_token_ns))
    told = own.read_prompt | made_steps
    ctx = split & ~received & (own.read_prompt & ~made_steps | ~told & made_one)
    return ctx, split & (received | made_steps & ~own.read_prompt)


def _names(records: Columns, log: Log, parts: _Parts, ids: Mapping[str, pa.Array]) -> pa.Array:
    earliest, latest = zip(*(part.extent for part in parts), strict=True)
    earliest_ns = reduce(pc.min_element_wise, earliest)
    records.refuse(pc.is_null(earliest_ns), "no worker's stamps in it", "perf_metrics")
    logged = pc.coalesce(*ids.values(), own_ids(records))
    return log.names(records, logged, earliest_ns, reduce(pc.max_element_wise, latest))


def _file_ids(
    clock: str, names: pa.Array, parts: _Parts, broken: Bools, ids: Mapping[str, pa.Array]
) -> dict[str, pa.Array]:
    """An id for requests with several rows, and nothing that these share."""
    several = (parts.server.there | broken) & (parts.ctx.there | parts.gen.there)
    unnamed = pc.and_(pa.array(several), pc.is_null(pc.coalesce(*ids.values())))
    if not pc.any(unnamed).as_py():
        return {}
    return {"trtllm_request_id": pc.if_else(unnamed, prefixed(f"{clock}:", names), None)}
