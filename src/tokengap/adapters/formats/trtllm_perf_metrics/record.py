"""One record as TensorRT-LLM writes it: of one worker, or of both joined by the split server.

Times are seconds of a steady clock. What a stage lacks is null, absent, 0 or negative.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from tokengap.adapters.shared.lines import Int64
from tokengap.schema import TIME_LIMIT_NS

Id = int | str
Seconds = float | None
Bytes = Annotated[int, Meta(ge=0, le=TIME_LIMIT_NS)]


class Timing(msgspec.Struct, gc=False):
    """Stamps of one worker: `server_*` of its HTTP side, the others of its executor."""

    server_arrival_time: Seconds = None
    arrival_time: Seconds = None
    first_scheduled_time: Seconds = None
    first_token_time: Seconds = None
    last_token_time: Seconds = None
    server_first_token_time: Seconds = None
    kv_cache_transfer_start: Seconds = None
    kv_cache_transfer_end: Seconds = None
    kv_cache_size: Bytes | None = None


class Step(msgspec.Struct, gc=False):
    """One step of the engine with this request in it.

    prev_batch_token_time: when the tokens of the step before were there; the overlap scheduler
    looks at them only while the next step runs.
    """

    iter: Int64 | None = None
    token_time: Seconds = None
    prev_batch_token_time: Seconds = None


class Breakdown(msgspec.Struct, gc=False):
    """Steps that made a token, and those that read the prompt."""

    step_metrics: list[Step] = []
    ctx_chunk_metrics: list[Step] = []


class PerfMetrics(msgspec.Struct, gc=False):
    """What a worker's executor reports."""

    timing_metrics: Timing


class Part(msgspec.Struct, gc=False):
    """One worker's part of a request, as `ctx_perf_metrics`, `gen_perf_metrics` or by itself."""

    perf_metrics: PerfMetrics | None = None
    request_id: Id | None = None
    ctx_request_id: Id | None = None
    disagg_request_id: Id | None = None
    time_breakdown_metrics: Breakdown | None = None


class Record(Part, gc=False):
    """One request: the part of a worker, or of two beside the stamps of their server."""

    status: str | None = None
    ctx_server: str | None = None
    gen_server: str | None = None
    disagg_server_arrival_time: Seconds = None
    disagg_ctx_dispatch_time: Seconds = None
    disagg_server_first_token_time: Seconds = None
    ctx_perf_metrics: Part | None = None
    gen_perf_metrics: Part | None = None


def alone(record: Record) -> Record:
    """Return the record; a worker's own is not asked for stamps of anyone else."""
    if record.perf_metrics is not None:
        record.disagg_server_arrival_time = None
        record.disagg_ctx_dispatch_time = None
        record.disagg_server_first_token_time = None
        for other in (record.ctx_perf_metrics, record.gen_perf_metrics):
            if other is not None:
                other.perf_metrics = None
    return record
