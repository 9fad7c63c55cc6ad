"""An outcome as canonical `streams`, so that the audit of a replay is the audit.

A request is one row, with both of its workers, on the replay's one clock.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Final

import numpy as np
import pyarrow as pa

from tokengap.replay.outcome import Chunk, Outcome, to_ns
from tokengap.replay.request import Request
from tokengap.replay.stages import Handed, Stage, handed, passes_of, stages_of
from tokengap.schema import CLOCKS, STREAMS

CLOCK: Final = "replay"
SOURCE: Final = "replay:0"

_EMPTY: Final = ("ids", "labels", "reported", "quality")


def clocks() -> pa.Table:
    """All stamps are on one clock, which is related to no other."""
    return CLOCKS.empty_table()


def streams(outcome: Outcome, trace: str) -> Iterator[pa.RecordBatch]:
    """Rows of the canonical schema, in order of arrival."""
    marks: dict[int, list[tuple[str, float]]] = {}
    for index, kind, at_ms in outcome.record.marks:
        marks.setdefault(index, []).append((kind, at_ms))
    for chunk in outcome.chunks():
        requests = outcome.requests[chunk.first : chunk.first + len(chunk.tokens)]
        passes = [passes_of(outcome, request) for request in requests]
        ways = [handed(outcome, *pair) for pair in zip(requests, passes, strict=True)]
        names = [worker.name for worker in outcome.workers]
        columns = _facts(outcome, trace, requests) | _tokens(chunk) | _handoff(ways, names)
        columns["stages"] = _stages([stages_of(outcome, each) for each in passes], names)
        columns["marks"] = _marks([marks.get(request.index, []) for request in requests])
        yield _batch(columns, len(requests))


def _batch(columns: dict[str, pa.Array], rows: int) -> pa.RecordBatch:
    for field in STREAMS:
        if field.name in _EMPTY:
            columns[field.name] = pa.array([[]] * rows, field.type)
        elif field.name not in columns:
            columns[field.name] = pa.nulls(rows, field.type)
    arrays = [columns[field.name].cast(field.type) for field in STREAMS]
    return pa.RecordBatch.from_arrays(arrays, schema=STREAMS)


def _facts(outcome: Outcome, trace: str, requests: Sequence[Request]) -> dict[str, pa.Array]:
    names = outcome.workload.names
    same = {
        "trace": trace, "attempt": 0, "choice": 0, "vantage": "engine", "granularity": "token",
        "clock": CLOCK, "clock_kind": "monotonic", "token_count_source": "token_ids",
    }  # fmt: skip
    index = [request.index for request in requests]
    return {name: pa.array([value] * len(requests)) for name, value in same.items()} | {
        "request_id": pa.array([str(at) if names is None else names[at] for at in index]),
        "source": pa.array([f"{SOURCE}:{at}" for at in index]),
        "status": pa.array([request.status for request in requests]),
        "error_kind": pa.array([request.error for request in requests], pa.string()),
        "prompt_tokens": pa.array([request.prompt_tokens for request in requests]),
        "requested_output_tokens": pa.array([request.output_tokens for request in requests]),
        "arrival_ns": _stamps([request.arrival_ms for request in requests]),
        "stream_close_ns": _stamps([request.ended_ms for request in requests]),
    }


def _tokens(chunk: Chunk) -> dict[str, pa.Array]:
    offsets, has_gaps = chunk.offsets, chunk.tokens > 1
    least = np.zeros(len(chunk.tokens), np.int64)
    if has_gaps.any():
        least[has_gaps] = np.minimum.reduceat(chunk.gaps_ns, offsets[:-1][has_gaps])
    gaps = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(chunk.gaps_ns), type=STREAMS.field("gaps_ns").type
    )
    return {
        "output_tokens": pa.array(chunk.tokens),
        "first_token_ns": pa.array(chunk.first_token_ns, mask=chunk.tokens == 0),
        "gaps_ns": gaps,
        "min_gap_ns": pa.array(least, mask=~has_gaps),
    }


def _handoff(ways: Sequence[Handed], names: Sequence[str]) -> dict[str, pa.Array]:
    return {
        "last_prefill_token": pa.array([way.last_prefill_token for way in ways], pa.int32()),
        "handoff_source": pa.array([way.source for way in ways], pa.string()),
        "prefill_worker": _workers([way.prefiller for way in ways], names),
        "decode_worker": _workers([way.decoder for way in ways], names),
        "kv_bytes": pa.array([way.kv_bytes for way in ways], pa.int64()),
    }


def _stages(rows: Sequence[Sequence[Stage]], names: Sequence[str]) -> pa.Array:
    flat = list(chain.from_iterable(rows))
    starts_ns = to_ns(np.array([stage.start_ms for stage in flat], np.float64))
    ends_ns = to_ns(np.array([stage.end_ms for stage in flat], np.float64))
    values = {
        "name": pa.array([stage.name for stage in flat], pa.string()),
        "start_ns": pa.array(starts_ns),
        "end_ns": pa.array(ends_ns),
        "duration_ns": pa.array(ends_ns - starts_ns),
        "worker": _workers([stage.worker for stage in flat], names),
        "clock": pa.array([CLOCK] * len(flat), pa.string()),
    }
    return _lists("stages", [len(row) for row in rows], values)


def _marks(rows: Sequence[Sequence[tuple[str, float]]]) -> pa.Array:
    flat = list(chain.from_iterable(rows))
    values = {
        "kind": pa.array([kind for kind, _ in flat], pa.string()),
        "t_ns": pa.array(to_ns(np.array([at_ms for _, at_ms in flat], np.float64))),
    }
    return _lists("marks", [len(row) for row in rows], values)


def _workers(numbers: Sequence[int], names: Sequence[str]) -> pa.Array:
    return pa.array([names[at] if at >= 0 else None for at in numbers], pa.string())


def _stamps(times_ms: Sequence[float]) -> pa.Array:
    times = np.array(times_ms, np.float64)
    unknown = np.isnan(times)
    return pa.array(to_ns(np.where(unknown, 0.0, times)), mask=unknown)


def _lists(name: str, sizes: Sequence[int], values: dict[str, pa.Array]) -> pa.Array:
    kind = STREAMS.field(name).type
    parts = list(kind.value_type)
    structs = pa.StructArray.from_arrays([values[part.name] for part in parts], fields=parts)
    return pa.ListArray.from_arrays(
        pa.array(list(accumulate(sizes, initial=0)), pa.int32()), structs, kind
    )
