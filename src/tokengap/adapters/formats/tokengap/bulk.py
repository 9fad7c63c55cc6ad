"""Many short JSON lines of tokengap's own log at once, with the fields they turn out to have.

Fields beyond the schema are learned from lines read singly. Arrow could infer them itself, but it
crashes on deep nesting and needs quadratic time where keys differ from line to line.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.shared.json_blocks import Chunk, chunks, rows_of
from tokengap.adapters.source import Block

COLUMNS_LIMIT: Final = 48
"""Every column costs time on every row, so lines with further fields are read singly."""

_LEARNABLE: Final = {
    str: pa.string(), bool: pa.bool_(), int: pa.float64(), float: pa.float64(),
}  # fmt: skip


class BulkReader:
    """Parses blocks of JSON lines into columns; may be used from several threads.

    columns: those every row has, in that order; expected: types of further fields. A field is only
    looked for once a line has shown that it occurs. Any other field becomes a column as well if it
    is text, a truth value, or a number, of which an integer may then have lost digits. A column is
    NULL where the line lacks it or says null.
    """

    def __init__(self, columns: pa.Schema, expected: pa.Schema) -> None:
        self._columns = columns
        self._expected = {f.name: f.type for f in (*columns, *expected)}
        self._known: dict[str, pa.DataType] = {}

    def chunks(self, block: Block) -> Iterator[Chunk]:
        """The block's lines in order; `learn` from a chunk without rows before taking the next."""
        return chunks(block, self._parse)

    def learn(self, record: Mapping[str, object]) -> None:
        """Expect the fields of this line from now on."""
        for name, value in record.items():
            if name not in self._known and len(self._known) < COLUMNS_LIMIT:
                type_ = self._expected.get(name, _LEARNABLE.get(type(value)))
                if type_ is not None and value is not None:
                    self._known = {**self._known, name: type_}

    def _parse(self, data: bytes) -> pa.RecordBatch | None:
        known = self._known
        rows = rows_of(data, pa.schema(known.items()), "error")
        if rows is None or not _are_finite(rows):
            return None
        schema = pa.schema({f.name: f.type for f in self._columns} | known)
        columns = [
            rows.column(f.name) if f.name in known else pa.nulls(rows.num_rows, f.type)
            for f in schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def _are_finite(rows: pa.RecordBatch) -> bool:
    """False after NaN or Infinity, which Arrow takes for numbers."""
    numbers = (column for column in rows.columns if column.type == pa.float64())
    return not any(pc.any(pc.invert(pc.is_finite(column))).as_py() for column in numbers)
