"""Rows of `streams` in the making, and their way into Arrow."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Events, Ints, count_source_code, derive
from tokengap.schema import STAGES, STREAMS

BATCH_EVENTS: Final = 1 << 20
BATCH_STREAMS: Final = 1 << 15


@dataclass(slots=True)
class Stream:
    """One stream as an adapter found it: facts under their column names, and what was delivered.

    times_ns: content events in index order; None if the log holds no delivery times, and then
    first_ns and last_token_ns are those of the first and last that it does hold. step: each event
    is a step of the engine. workload: only arrival and lengths are known.
    counts: tokens of each of these events, None where the log does not say; `counts_source` says
    where they come from. total_tokens: tokens of the whole stream, with its source.
    """

    request_id: str
    source: str
    status: str
    clock: str | None = None
    clock_kind: str | None = None
    vantage: str | None = "client"
    trace: str | None = None
    attempt: int = 0
    choice: int = 0
    times_ns: Sequence[int] | Ints | None = None
    counts: Sequence[int] | None = None
    counts_source: str = "events"
    total_tokens: int | None = None
    total_source: str | None = None
    first_ns: int | None = None
    streamed: bool = True
    step: bool = False
    workload: bool = False
    ids: Mapping[str, str] | None = None
    error_kind: str | None = None
    finish_reason: str | None = None
    deployment: str | None = None
    model: str | None = None
    tenant: str | None = None
    slo_class: str | None = None
    labels: Mapping[str, str] | None = None
    prompt_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    requested_output_tokens: int | None = None
    planned_ns: int | None = None
    sent_ns: int | None = None
    received_ns: int | None = None
    arrival_ns: int | None = None
    stream_close_ns: int | None = None
    first_answer_ns: int | None = None
    last_token_ns: int | None = None
    reported: list[dict[str, object]] | None = None
    last_prefill_token: int | None = None
    handoff_source: str | None = None
    prefill_worker: str | None = None
    decode_worker: str | None = None
    kv_bytes: int | None = None
    stages: list[dict[str, object]] | None = None
    marks: list[tuple[str, int]] = field(default_factory=list)
    quality: list[str] = field(default_factory=list)


_FACTS: Final = [f.name for f in fields(Stream) if f.name in STREAMS.names]


def record_batches(streams: Iterable[Stream], trace: str) -> Iterator[pa.RecordBatch]:
    """Streams as batches of the canonical schema, a bounded number of events in each."""
    held: list[Stream] = []
    events = 0
    for stream in streams:
        held.append(stream)
        events += 0 if stream.times_ns is None else len(stream.times_ns)
        if events >= BATCH_EVENTS or len(held) >= BATCH_STREAMS:
            yield _batch(held, trace)
            held, events = [], 0
    if held:
        yield _batch(held, trace)


def _batch(streams: list[Stream], trace: str) -> pa.RecordBatch:
    notes = [stream.quality for stream in streams]
    return assemble(fact_arrays(streams, trace), _events(streams), notes)


def stage(
    name: str,
    start_ns: int | None = None,
    end_ns: int | None = None,
    *,
    duration_ns: int | None = None,
    worker: str | None = None,
    clock: str | None = None,
) -> dict[str, object]:
    """Make an entry of `streams.stages`: both ends on `clock`, or the duration alone."""
    if name not in STAGES:
        raise ValueError(f"no stage is called {name}")
    if start_ns is not None and end_ns is not None:
        duration_ns = end_ns - start_ns
    return {
        "name": name,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "duration_ns": duration_ns,
        "worker": worker,
        "clock": clock,
    }


def reported(metric: str, value_ns: int, formula: str) -> dict[str, object]:
    """Make an entry of `streams.reported`; `formula` says who computes it how."""
    return {"metric": metric, "value_ns": value_ns, "formula": formula}


def fact_arrays(streams: Sequence[Stream], trace: str) -> dict[str, pa.Array]:
    """The columns of `streams` that do not follow from the events, or that may overrule them."""
    facts = {name: [getattr(stream, name) for stream in streams] for name in _FACTS}
    facts["trace"] = [stream.trace or trace for stream in streams]
    facts["first_token_ns"] = [stream.first_ns for stream in streams]
    facts["granularity"] = [_granularity(stream) for stream in streams]
    facts["ids"] = [list((stream.ids or {}).items()) for stream in streams]
    facts["labels"] = [list((stream.labels or {}).items()) for stream in streams]
    facts["marks"] = [[{"kind": k, "t_ns": t} for k, t in stream.marks] for stream in streams]
    return {
        name: pa.array(values, STREAMS.field(name).type)
        for name, values in facts.items()
        if name != "quality"
    }


def _granularity(stream: Stream) -> str | None:
    """None where it follows from the events."""
    if stream.workload:
        return "workload"
    return "step" if stream.step and stream.times_ns is not None else None


def _events(streams: list[Stream]) -> Events:
    times = [
        np.asarray(() if stream.times_ns is None else stream.times_ns, np.int64)
        for stream in streams
    ]
    counts = [stream.counts or (0,) * len(t) for stream, t in zip(streams, times, strict=True)]
    totals = [-1 if stream.total_tokens is None else stream.total_tokens for stream in streams]
    return Events(
        offsets=np.cumsum([0, *map(len, times)], dtype=np.int64),
        times_ns=np.concatenate(times),
        counts=np.fromiter(chain.from_iterable(counts), np.int64),
        counts_source=np.array([count_source_code(s.counts_source) for s in streams], np.int64),
        totals=np.array(totals, np.int64),
        totals_source=np.array([count_source_code(s.total_source) for s in streams], np.int64),
        observed=np.array([stream.times_ns is not None for stream in streams], bool),
        streamed=np.array([stream.streamed for stream in streams], bool),
    )


def assemble(
    facts: Mapping[str, pa.Array], events: Events, notes: Sequence[Sequence[str]]
) -> pa.RecordBatch:
    """One batch from fact columns, the streams' events, and the adapter's own quality notes."""
    columns, derived = derive(events)
    quality = [
        sorted({*own, *found, *(() if streamed else ("not_streamed",))})
        for own, found, streamed in zip(notes, derived, events.streamed, strict=True)
    ]
    columns["quality"] = pa.array(quality, STREAMS.field("quality").type)
    columns |= {
        name: pc.coalesce(values, columns[name]) if name in columns else values
        for name, values in facts.items()
    }
    rows = len(notes)
    return pa.RecordBatch.from_arrays(
        [columns.get(f.name, pa.nulls(rows, f.type)) for f in STREAMS], schema=STREAMS
    )
