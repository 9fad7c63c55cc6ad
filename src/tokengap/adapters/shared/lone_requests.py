"""Rows of requests of which a log holds only durations: each is alone on a clock of its own.

That clock begins when the request was sent, so nothing can be compared across requests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Events, Ints
from tokengap.adapters.rows import assemble
from tokengap.adapters.shared.nested import prefixed, text_maps
from tokengap.schema import STREAMS


@dataclass(frozen=True)
class Run:
    """What holds for all requests of a run: its file's short id, and its trace and labels.

    first: what number the run's first request has in the file.
    """

    source_id: str
    trace: str
    first: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)


def batch(
    run: Run,
    rows: Ints,
    events: Events,
    facts: Mapping[str, Any],
    notes: Mapping[str, Bools],
) -> pa.RecordBatch:
    """Rows of `streams` of the requests at these places of their run.

    facts: columns of `streams`, each an array, a list with an item per row, or one value for all.
    notes: quality notes, and the rows that each is true of.
    """
    clocks = prefixed(f"{run.source_id}:", _texts(rows + run.first))
    labels = {k: pa.repeat(value, len(rows)) for k, value in run.labels.items()}
    columns = {
        "trace": run.trace,
        "request_id": _texts(rows),
        "attempt": 0,
        "choice": 0,
        "vantage": "client",
        "ids": [],
        "labels": text_maps("labels", labels, len(rows)) if labels else [],
        "marks": [],
        "clock": clocks,
        "clock_kind": "monotonic",
        "sent_ns": 0,
        "source": clocks,
        **{name: _array(name, values) for name, values in facts.items()},
    }
    return assemble(columns, events, notes)


def _texts(numbers: Ints) -> pa.Array:
    return pc.cast(pa.array(numbers), pa.string())


def _array(name: str, values: Any) -> Any:
    return pa.array(values, STREAMS.field(name).type) if isinstance(values, list) else values
