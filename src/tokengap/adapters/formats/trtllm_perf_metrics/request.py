"""The rows that one record amounts to, and the names that the request is known by."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from tokengap.adapters.formats.trtllm_perf_metrics.gateway import (
    contradicts,
    gateway_of,
    gateway_row,
)
from tokengap.adapters.formats.trtllm_perf_metrics.record import Id, Record, Stamps
from tokengap.adapters.formats.trtllm_perf_metrics.rows import (
    both_workers,
    decode_half,
    one_worker,
    prefill_half,
)
from tokengap.adapters.formats.trtllm_perf_metrics.worker import Worker, worker_of
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.outcomes import KIND_LIMIT

CTX: Final = "ctx"
GEN: Final = "gen"
NO_CTX_REQUEST: Final = 1
"""What a benchmark of the second worker alone puts in every `ctx_request_id`."""
COMPLETE: Final = ("complete", "completed")


@dataclass(frozen=True, slots=True)
class Request:
    """name: what its record calls it, None if nothing. ids: those it shares with other records.

    rows: without names and source. extent: every stamp it has, in ns.
    """

    name: str | None
    ids: dict[str, str]
    rows: list[Stream]
    extent: list[int]


def request_of(record: Record, clock: str) -> Request:
    """Read one record; LineError if it holds no stamp, or one that is no time."""
    stamps = Stamps()
    read = _split if record.perf_metrics is None else _alone
    rows, extent = read(record, clock, stamps)
    if not extent:
        raise LineError("no worker's stamps in it", "perf_metrics")
    for row in rows:
        _judge(row, record.status)
        if stamps.dropped:
            row.quality.append("sentinel_dropped")
    ids = _shared_ids(record, rows)
    own_id = _first(part.request_id for part in record.parts)
    name = next(iter(ids.values()), None if own_id is None else str(own_id))
    return Request(name, ids, rows, extent)


def _split(record: Record, clock: str, stamps: Stamps) -> tuple[list[Stream], list[int]]:
    """Rows of the server and of its workers, of which either may be missing."""
    server = gateway_of(record, clock, stamps)
    ctx = worker_of(record.ctx_perf_metrics, record.ctx_server or CTX, clock, stamps)
    gen = worker_of(record.gen_perf_metrics, record.gen_server or GEN, clock, stamps)
    extent = [ns for part in (server, ctx, gen) if part for ns in part.extent]
    if ctx and gen and contradicts(server, ctx, gen):
        rows = [prefill_half(_by_itself(ctx)), decode_half(_by_itself(gen))]
        rows.append(gateway_row(server, None))
        for row in rows:
            row.quality.append("clock_contradiction")
        return rows, extent
    if ctx and gen:
        rows = [both_workers(ctx, gen)]
    else:
        rows = [prefill_half(ctx)] if ctx else [decode_half(gen)] if gen else []
    if server.extent:
        rows.append(gateway_row(server, gen if ctx else None))
    return rows, extent


def _by_itself(worker: Worker) -> Worker:
    return replace(worker, clock=f"{worker.clock}:{worker.name}")


def _alone(record: Record, clock: str, stamps: Stamps) -> tuple[list[Stream], list[int]]:
    """The row of a worker's own record, which does not say what part the worker has."""
    worker = worker_of(record, None, clock, stamps)
    if worker is None:
        return [], []
    is_split = record.ctx_request_id is not None or record.disagg_request_id is not None
    name = _part_of(worker) if is_split else None
    worker = replace(worker, name=name)
    row_of = {CTX: prefill_half, GEN: decode_half}.get(name or "", one_worker)
    return [row_of(worker)], worker.extent


def _part_of(worker: Worker) -> str | None:
    """Tell a worker by what it did: one receives a KV cache, the other reads the prompt."""
    if worker.kv_start_ns or worker.kv_end_ns:
        return GEN
    if worker.read_prompt or worker.steps_ns:
        both = worker.read_prompt and worker.steps_ns
        return None if both else CTX if worker.read_prompt else GEN
    made_one = worker.first_token_ns is not None and worker.first_token_ns == worker.last_token_ns
    return CTX if made_one else None


def _shared_ids(record: Record, rows: list[Stream]) -> dict[str, str]:
    """Ids that other records of the request, or of its other half, have too."""
    ctx_request_id = _first(part.ctx_request_id for part in record.parts)
    gen_only = not any(row.prefill_worker for row in rows)
    if gen_only and ctx_request_id == NO_CTX_REQUEST:
        ctx_request_id = None
    found = {
        "disagg_request_id": _first(part.disagg_request_id for part in record.parts),
        "ctx_request_id": ctx_request_id,
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def _first(ids: Iterable[Id | None]) -> Id | None:
    return next((found for found in ids if found is not None), None)


def _judge(row: Stream, status: str | None) -> None:
    """Set the status; records are written for requests that completed, older ones without it."""
    row.status = "completed" if status in (None, *COMPLETE) else "failed"
    if status is None:
        row.quality.append("end_not_seen")
    elif row.status == "failed":
        row.error_kind = status[:KIND_LIMIT]
