"""Records of a JSONL file as columns: in bulk where that is strict, else each on its own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.json_blocks import Chunk, chunks, rows_of
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Block, Line, Source
from tokengap.schema import TIME_LIMIT_NS

T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """Records that can be used, and the numbers of their lines."""

    rows: pa.RecordBatch
    numbers: Ints
    _lines: Callable[[Ints], Iterator[Line]]

    def lines(self, positions: Sequence[int]) -> Iterator[Line]:
        """The lines of some rows."""
        return self._lines(np.array(positions, np.int64))


class JsonColumns(Generic[T]):
    """Reads records into columns of `schema`; fields that it has not are not read.

    fields: what a decoded record has for each column; LineError if it cannot be used. sound: rows
    that are sure to be what `records` decodes and `fields` takes.
    """

    def __init__(
        self,
        schema: pa.Schema,
        sound: Callable[[pa.RecordBatch], Bools],
        records: Records[T],
        fields: Callable[[T], dict[str, Any]],
    ) -> None:
        self._schema = schema
        self._sound = sound
        self._records = records
        self._fields = fields

    def read(self, source: Source, block: Block, intake: Intake) -> Iterator[Found]:
        """Yield the block's records; the bad ones go to `intake`."""
        for chunk in chunks(block, self._parse):
            if chunk.rows is None:
                yield from self._singly(chunk.block.lines(), source, intake)
            else:
                yield from self._in_bulk(chunk, chunk.rows, source, intake)

    def _parse(self, data: bytes) -> pa.RecordBatch | None:
        return rows_of(data, self._schema, "ignore")

    def _in_bulk(
        self, chunk: Chunk, rows: pa.RecordBatch, source: Source, intake: Intake
    ) -> Iterator[Found]:
        good = self._sound(rows)
        places = np.flatnonzero(good)
        if len(places):
            some = rows if good.all() else rows.filter(pa.array(good))
            numbers = chunk.block.first_line + places
            yield Found(some, numbers, lambda positions: chunk.lines(places[positions]))
        yield from self._singly(chunk.lines(np.flatnonzero(~good)), source, intake)

    def _singly(self, lines: Iterator[Line], source: Source, intake: Intake) -> Iterator[Found]:
        found: list[dict[str, Any]] = []
        kept: list[Line] = []
        for line in lines:
            try:
                found.append(self._fields(self._records.decode(line.data)))
            except LineError as error:
                intake.reject(source, line, error.reason, error.field, error.value)
            else:
                kept.append(line)
        if found:
            rows = pa.RecordBatch.from_pylist(found, self._schema)
            numbers = np.array([line.number for line in kept], np.int64)
            yield Found(rows, numbers, lambda positions: (kept[at] for at in positions))


def column(rows: pa.RecordBatch, name: str, *path: str) -> pa.Array:
    """One field of all rows; NULL where an object around it is."""
    return pc.struct_field(rows.column(name), list(path)) if path else rows.column(name)


def there(array: pa.Array) -> Bools:
    """Where a column is not NULL."""
    valid: Bools = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return valid


def values(array: pa.Array) -> npt.NDArray[Any]:
    """The numbers or truth values of a column, 0 or False where it is NULL."""
    zero = False if pa.types.is_boolean(array.type) else 0
    filled: npt.NDArray[Any] = pc.fill_null(array, zero).to_numpy(zero_copy_only=False)
    return filled


def is_text(array: pa.Array, text: str) -> Bools:
    """Where a column holds this text."""
    equal: Bools = pc.fill_null(pc.equal(array, text), False).to_numpy(zero_copy_only=False)
    return equal


def are_times(stamps_ns: npt.NDArray[Any]) -> Bools:
    """Which stamps are within +-`TIME_LIMIT_NS`."""
    within: Bools = (stamps_ns >= -TIME_LIMIT_NS) & (stamps_ns <= TIME_LIMIT_NS)
    return within
