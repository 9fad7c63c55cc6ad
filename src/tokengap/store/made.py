"""Rows that were worked out instead of read from a file, as a load like any other."""

import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from tokengap.schema import CLOCKS, REJECTS
from tokengap.store.days import PartSet
from tokengap.store.records import Loaded, Provenance


def made(
    batches: Iterable[pa.RecordBatch], provenance: Provenance, scratch: Path, *, by_day: bool
) -> Loaded:
    """Encode batches of schema `STREAMS` into parts in `scratch`.

    The provenance names no file: its options say all that the rows depend on, so that the same
    options are the same load. All stamps are on one clock.
    """
    started = time.perf_counter()
    with PartSet(scratch, provenance, by_day=by_day) as parts:
        for batch in batches:
            parts.write(batch)
    return Loaded(
        sources=(),
        expected="",
        provenance=provenance,
        parts=parts.parts,
        rejects=REJECTS.empty_table(),
        clocks=CLOCKS.empty_table(),
        seconds=time.perf_counter() - started,
    )
