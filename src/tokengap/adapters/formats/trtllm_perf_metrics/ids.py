"""Ids in records: those that other records of the request have too, and the record's own."""

from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.formats.trtllm_perf_metrics.record import Id
from tokengap.adapters.shared.columns import Columns

NO_CTX_REQUEST: Final = 1
"""What a benchmark of the second worker alone puts in every `ctx_request_id`."""


def shared_ids(records: Columns, has_ctx: Bools) -> dict[str, pa.Array]:
    """Ids that other records of a request, or of its other half, have too.

    has_ctx: where the first worker tells of the request.
    """
    ctx_ids = _first(records, "ctx_request_id")
    if not has_ctx.all():
        rows = zip(ctx_ids, has_ctx.tolist(), strict=True)
        ctx_ids = [found if at or found != NO_CTX_REQUEST else None for found, at in rows]
    return {
        "disagg_request_id": _texts(_first(records, "disagg_request_id")),
        "ctx_request_id": _texts(ctx_ids),
    }


def own_ids(records: Columns) -> pa.Array:
    """What the worker that made it calls the request."""
    return _texts(_first(records, "request_id"))


def are_split(records: Columns) -> Bools:
    """Where a worker's own record has an id of a request that two workers serve."""
    pairs = zip(records.others("ctx_request_id"), records.others("disagg_request_id"), strict=True)
    return np.array([ctx is not None or both is not None for ctx, both in pairs], bool)


def _first(records: Columns, name: str) -> Sequence[Id | None]:
    """The id under this name in the most general part that has one."""
    parts = (records, records.part("ctx_perf_metrics"), records.part("gen_perf_metrics"))
    found = [ids for part in parts if (ids := part.others(name)).count(None) < len(ids)]
    return reduce(_either, found) if found else [None] * len(records)


def _either(ids: Sequence[Id | None], others: Sequence[Id | None]) -> Sequence[Id | None]:
    pairs = zip(ids, others, strict=True)
    return [each if each is not None else other for each, other in pairs]


def _texts(ids: Sequence[Id | None]) -> pa.Array:
    """Ids as text; they are most often all of one type."""
    for kind in (pa.string(), pa.int64()):
        try:
            return pc.cast(pa.array(ids, kind), pa.string())
        except (pa.ArrowException, OverflowError):
            continue
    return pa.array([None if each is None else str(each) for each in ids], pa.string())
