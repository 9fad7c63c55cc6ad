"""Rows of `streams` from columns, one row per record at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Events, Ints, count_source_code
from tokengap.adapters.rows import assemble
from tokengap.adapters.shared.columns import is_true
from tokengap.adapters.shared.nested import (
    Constants,
    Reported,
    Stage,
    mark_lists,
    prefixed,
    reported_lists,
    stage_lists,
    text_maps,
)
from tokengap.adapters.shared.sieve import Sieve

_EVENTS, _USAGE = count_source_code("events"), count_source_code("usage")


@dataclass(frozen=True)
class Rows:
    """Rows of records with these numbers; those that the sieve refused are left out.

    facts: columns of `streams`, each an array, or one value for all rows; `output_tokens` are those
    of the answer's usage. notes: quality notes, and where each is true. bodies: where an answer was
    not streamed, and body_ns: when it was there, if that is known. delivered: what was, where more
    than a body is known. unlisted: where stages and reported numbers are NULL. where: which records
    have such a row, None if all have.
    """

    numbers: Ints
    sieve: Sieve
    facts: Mapping[str, Any]
    ids: Mapping[str, pa.Array] = field(default_factory=dict)
    labels: Mapping[str, pa.Array] = field(default_factory=dict)
    stages: Sequence[Stage] | None = None
    reported: Sequence[Reported] | None = None
    marks: Mapping[str, pa.Array] = field(default_factory=dict)
    notes: Mapping[str, pa.Array] = field(default_factory=dict)
    bodies: pa.Array | None = None
    body_ns: pa.Array | None = None
    delivered: Events | None = None
    unlisted: pa.Array | None = None
    where: Bools | None = None

    def __len__(self) -> int:
        """Number of rows, with those that are left out."""
        return len(self.numbers)

    @property
    def good(self) -> Bools:
        """Rows that are there and not refused."""
        return self.sieve.good if self.where is None else self.sieve.good & self.where

    def events(self) -> Events:
        """What was delivered."""
        if self.delivered is not None:
            return self.delivered
        rows = len(self)
        times = pa.nulls(rows, pa.int64()) if self.body_ns is None else self.body_ns
        totals = self.facts.get("output_tokens")
        there = is_true(pc.is_valid(times))
        streamed = np.ones(rows, bool) if self.bodies is None else ~is_true(self.bodies)
        return Events(
            offsets=np.concatenate(([0], np.cumsum(there))),
            times_ns=times.drop_null().to_numpy(),
            counts=np.zeros(np.count_nonzero(there), np.int64),
            counts_source=np.full(rows, _EVENTS),
            totals=np.full(rows, -1) if totals is None else pc.fill_null(totals, -1).to_numpy(),
            totals_source=np.full(rows, _USAGE),
            observed=there,
            streamed=streamed,
        )


class RowBatches:
    """Makes the batches of one file."""

    def __init__(self, source_id: str, trace: str) -> None:
        self._source_id = source_id
        self._trace = trace
        self._constants = Constants()

    def batch(self, rows: Rows) -> pa.RecordBatch:
        """Return the rows without those that are left out."""
        notes = {name: is_true(where) for name, where in rows.notes.items()}
        facts = {**self._facts(rows), **rows.facts}
        batch = assemble(facts, rows.events(), notes, self._constants)
        good = rows.good
        return batch if good.all() else batch.filter(pa.array(good))

    def _facts(self, rows: Rows) -> dict[str, Any]:
        """Columns that are made alike in all formats."""
        count = len(rows)
        none = None if rows.unlisted is None else is_true(rows.unlisted)
        stages = None if rows.stages is None else stage_lists(rows.stages, count, none)
        told = None
        if rows.reported is not None:
            told = reported_lists(rows.reported, count, empty=True, none=none)
        numbers = pc.cast(pa.array(rows.numbers), pa.string())
        return {
            "trace": self._trace,
            "attempt": 0,
            "choice": 0,
            "ids": text_maps("ids", rows.ids, count) if rows.ids else [],
            "labels": text_maps("labels", rows.labels, count) if rows.labels else [],
            "stages": stages,
            "reported": told,
            "marks": mark_lists(rows.marks, count) if rows.marks else [],
            "source": prefixed(f"{self._source_id}:", numbers),
        }
