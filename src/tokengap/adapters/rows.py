"""Rows of `streams` in the making, and their way into Arrow."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, fields
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Events, Ints, count_source_code, derive
from tokengap.adapters.shared.nested import Constants, note_lists
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


_FACTS: Final = [f.name for f in fields(Stream) if f.name in STREAMS.names and f.name != "quality"]
_facts_of: Final = attrgetter(*_FACTS)


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
    return assemble(fact_arrays(streams, trace), _events(streams), notes_of(streams))


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
    facts: dict[str, Sequence[Any]] = dict(
        zip(_FACTS, zip(*map(_facts_of, streams), strict=True), strict=True)
    )
    facts["trace"] = [stream.trace or trace for stream in streams]
    facts["first_token_ns"] = [stream.first_ns for stream in streams]
    facts["granularity"] = [_granularity(stream) for stream in streams]
    nested = {
        "ids": _maps("ids", facts.pop("ids")),
        "labels": _maps("labels", facts.pop("labels")),
        "marks": _marks(facts.pop("marks")),
        "stages": _entries("stages", facts.pop("stages")),
        "reported": _entries("reported", facts.pop("reported")),
    }
    return nested | {n: pa.array(values, STREAMS.field(n).type) for n, values in facts.items()}


def notes_of(streams: Sequence[Stream]) -> dict[str, Bools]:
    """Of which streams each quality note is true."""
    where: dict[str, Bools] = {}
    for at, stream in enumerate(streams):
        for note in stream.quality:
            where.setdefault(note, np.zeros(len(streams), bool))[at] = True
    return where


def _offsets(items: Sequence[Sized]) -> pa.Array:
    return pa.array(list(accumulate(map(len, items), initial=0)), pa.int32())


def _maps(name: str, maps: Sequence[Mapping[str, str] | None]) -> pa.Array:
    given = [entries or {} for entries in maps]
    kind = STREAMS.field(name).type
    keys = pa.array(list(chain.from_iterable(given)), kind.key_type)
    values = chain.from_iterable(entries.values() for entries in given)
    items = pa.array(list(values), kind.item_type)
    return pa.MapArray.from_arrays(_offsets(given), keys, items, kind)


def _marks(rows: Sequence[Sequence[tuple[str, int]]]) -> pa.Array:
    flat = list(chain.from_iterable(rows))
    return _structs("marks", rows, [[kind for kind, _ in flat], [t_ns for _, t_ns in flat]])


def _entries(name: str, rows: Sequence[Sequence[Mapping[str, object]] | None]) -> pa.Array:
    flat = list(chain.from_iterable(entries for entries in rows if entries))
    parts = STREAMS.field(name).type.value_type
    return _structs(name, rows, [[entry.get(part.name) for entry in flat] for part in parts])


def _structs(
    name: str, rows: Sequence[Sequence[object] | None], fields: Sequence[Sequence[object]]
) -> pa.Array:
    """A column of lists of structs, from each field of all entries."""
    kind = STREAMS.field(name).type
    parts = list(kind.value_type)
    arrays = [pa.array(field, part.type) for field, part in zip(fields, parts, strict=True)]
    structs = pa.StructArray.from_arrays(arrays, fields=parts)
    unknown = pa.array([entries is None for entries in rows], pa.bool_())
    return pa.ListArray.from_arrays(
        _offsets([entries or () for entries in rows]), structs, kind, mask=unknown
    )


def _granularity(stream: Stream) -> str | None:
    """None where it follows from the events."""
    if stream.workload:
        return "workload"
    return "step" if stream.step and stream.times_ns is not None else None


def _events(streams: list[Stream]) -> Events:
    times = [() if stream.times_ns is None else stream.times_ns for stream in streams]
    counts = [s.counts or (0,) * len(t) for s, t in zip(streams, times, strict=True)]
    totals = [-1 if stream.total_tokens is None else stream.total_tokens for stream in streams]
    return Events(
        offsets=np.cumsum([0, *map(len, times)], dtype=np.int64),
        times_ns=_flat(times),
        counts=_flat(counts),
        counts_source=np.array([count_source_code(s.counts_source) for s in streams], np.int64),
        totals=np.array(totals, np.int64),
        totals_source=np.array([count_source_code(s.total_source) for s in streams], np.int64),
        observed=np.array([stream.times_ns is not None for stream in streams], bool),
        streamed=np.array([stream.streamed for stream in streams], bool),
    )


def _flat(parts: Sequence[Sequence[int] | Ints]) -> Ints:
    if any(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([np.asarray(part, np.int64) for part in parts])
    return np.fromiter(chain.from_iterable(parts), np.int64)


def assemble(
    facts: Mapping[str, Any],
    events: Events,
    notes: Mapping[str, Bools],
    constants: Constants | None = None,
) -> pa.RecordBatch:
    """One batch from facts, the streams' events, and the adapter's own quality notes.

    facts: columns of `streams`, each an array, or one value for all rows; where one is NULL, what
    follows from the events holds. notes: of which streams each of them is true. constants: those
    of earlier batches of the same file.
    """
    constants = constants or Constants()
    derived, noted = derive(events)
    rows = len(events.streamed)
    found = {name: where | noted.get(name, False) for name, where in notes.items()}
    facts = {**facts, "quality": note_lists(noted | found, rows)}

    def column(name: str) -> pa.Array:
        given = facts.get(name)
        if given is None and name in derived:
            return derived[name]
        values = given if isinstance(given, pa.Array) else constants.column(name, given, rows)
        return pc.coalesce(values, derived[name]) if name in derived else values

    return pa.RecordBatch.from_arrays([column(f.name) for f in STREAMS], schema=STREAMS)
