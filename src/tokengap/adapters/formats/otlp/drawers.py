"""Rows of one table put aside until all files are read, in memory that does not grow with them.

They are held as columns; what is too much lies in a temporary file. Reading back takes as many
compartments of it at a time as may be held.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from types import TracebackType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tokengap.adapters.formats.otlp.compartments import (
    COMPARTMENTS,
    Compartments,
    compartment_of,
)

HELD_ROWS: Final = 1 << 16
_LISTED_ROWS: Final = 1 << 11
"""Rows that are held as lists, which Arrow makes columns of: of few rows, that would take long."""


class Drawers(AbstractContextManager["Drawers"]):
    """Rows by group, which one column of text names; gone when the block is left."""

    def __init__(self, schema: pa.Schema, group: str, held_rows: int = HELD_ROWS) -> None:
        self._schema = schema
        self._group = group
        self._limit = held_rows
        self._listed: list[list[Any]] = [[] for _ in schema]
        self._held: list[pa.RecordBatch] = []
        self._written = Compartments()
        self._sizes = np.zeros(COMPARTMENTS, np.int64)

    def add(self, columns: Sequence[Sequence[Any]]) -> None:
        """Put rows aside, given as columns; InputError if there is no room for them."""
        for listed, values in zip(self._listed, columns, strict=True):
            listed.extend(values)
        if len(self._listed[0]) >= min(_LISTED_ROWS, self._limit):
            self._hold()
            if sum(map(len, self._held)) >= self._limit:
                self._write()

    def _hold(self) -> None:
        if self._listed[0]:
            columns = zip(self._listed, self._schema.types, strict=True)
            arrays = [pa.array(values, kind) for values, kind in columns]
            self._held.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
            self._listed = [[] for _ in self._schema]

    def _write(self) -> None:
        rows = self._emptied()
        groups = rows.column(self._group).to_pylist()
        numbers = np.fromiter(map(compartment_of, groups), np.int64, len(groups))
        sizes = np.bincount(numbers, minlength=COMPARTMENTS)
        order = pa.array(np.argsort(numbers, kind="stable"))
        rows = rows.take(order)
        cuts = enumerate(pairwise([0, *np.cumsum(sizes).tolist()]))
        self._written.put(
            (number, rows.slice(start, stop - start).serialize())
            for number, (start, stop) in cuts
            if start < stop
        )
        self._sizes += sizes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, those of a group in one batch and in the order they were put aside."""
        self._hold()
        if self._held and self._sizes.any():
            self._write()
        rows = 0
        for number in range(COMPARTMENTS):
            if self._held and rows + self._sizes[number] > self._limit:
                yield self._emptied()
                rows = 0
            rows += self._sizes[number]
            buffers = map(pa.py_buffer, self._written.take(number))
            self._held += [pa.ipc.read_record_batch(each, self._schema) for each in buffers]
        if self._held:
            yield self._emptied()

    def _emptied(self) -> pa.RecordBatch:
        rows = pa.concat_batches(self._held)
        self._held.clear()
        return rows

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Forget all rows."""
        self._written.__exit__(kind, error, trace)
