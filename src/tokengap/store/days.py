"""The parts of one load, a part for each UTC day its streams began on."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.store.parts import ROW_GROUP_GAPS, PartWriter, origin_ns
from tokengap.store.records import UNDATED, Part, Provenance
from tokengap.utc import DAY_NS

_NO_DAY: Final = -(10**6)  # before every day an int64 of nanoseconds can name

OPEN_DAYS: Final = 64
"""A log over more days than files may be open at once gets a second part for some of them."""


class PartSet(AbstractContextManager["PartSet"]):
    """Writes the rows of one load into parts in `folder`, split by day if asked.

    All open parts together hold about one row group. After the block, `parts` lists what was
    written, at least one part even without rows; left by an error, the block leaves no file.
    """

    def __init__(self, folder: Path, provenance: Provenance, *, by_day: bool) -> None:
        self.parts: tuple[Part, ...] = ()
        self._folder = folder
        self._provenance = provenance
        self._by_day = by_day
        self._open: dict[str | None, PartWriter] = {}
        self._done: list[Part] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; StoreError if they cannot be written."""
        for day, rows in days(batch) if self._by_day else [(None, batch)]:
            self._writer(day).write(rows)
        if sum(writer.held for writer in self._open.values()) > ROW_GROUP_GAPS:
            max(self._open.values(), key=lambda writer: writer.held).flush()

    def _writer(self, day: str | None) -> PartWriter:
        writer = self._open.pop(day, None)
        if writer is None:
            if len(self._open) >= OPEN_DAYS:
                self._close(next(iter(self._open)))
            path = self._folder / f"{self._provenance.load_id}-{uuid4().hex[:12]}.parquet"
            writer = PartWriter(path, self._provenance, day)
        self._open[day] = writer  # last: the first one is the longest unused
        return writer

    def _close(self, day: str | None) -> None:
        self._done.append(self._open.pop(day).close())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish every part, or remove all of them."""
        try:
            if kind is None:
                self._close_all()
        finally:
            if not self.parts:
                self._discard()

    def _close_all(self) -> None:
        if not (self._open or self._done):
            self._writer(UNDATED if self._by_day else None)
        for day in list(self._open):
            self._close(day)
        self.parts = tuple(self._done)

    def _discard(self) -> None:
        for writer in self._open.values():
            writer.discard()
        for part in self._done:
            Path(part.uri).unlink(missing_ok=True)


def days(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows by the UTC day of their origin on a wall clock, `undated` without one; order is kept."""
    on_wall = pc.equal(batch.column("clock_kind"), "wall")
    origins = pc.if_else(on_wall, origin_ns(batch), pa.scalar(None, pa.int64()))
    dated = pc.is_valid(origins).to_numpy(zero_copy_only=False)
    numbers = np.where(dated, pc.fill_null(origins, 0).to_numpy() // DAY_NS, _NO_DAY)
    order = np.argsort(numbers, kind="stable")
    rows, numbers = batch.take(pa.array(order)), numbers[order]
    starts = np.flatnonzero(np.diff(numbers, prepend=_NO_DAY - 1))
    for start, stop in pairwise([*starts.tolist(), batch.num_rows]):
        number = int(numbers[start])
        day = UNDATED if number == _NO_DAY else str(np.datetime64(number, "D"))
        yield day, rows.slice(start, stop - start)
