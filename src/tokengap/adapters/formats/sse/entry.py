"""The lines of an SSE capture."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.shared.json_blocks import Chunk, chunks, rows_of
from tokengap.adapters.shared.lines import Int64, LineError
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Block, Line

_NOTHING: Final = msgspec.Raw(b"null")


class Entry(msgspec.Struct, gc=False):
    """What one line says."""

    kind: str
    request_id: str | None = None
    t_ns: Any = None
    t_unix_ns: Any = None
    url_path: str | None = None
    body: msgspec.Raw = _NOTHING
    status: Int64 | None = None
    seq: Int64 | None = None
    raw: str | None = None
    outcome: str | None = None

    @property
    def text(self) -> str:
        """What was received, empty if nothing."""
        return self.raw or ""


_SCHEMA: Final = pa.schema({
    "kind": pa.string(), "request_id": pa.string(), "t_ns": pa.int64(), "t_unix_ns": pa.int64(),
    "url_path": pa.string(),
    "body": pa.struct({
        "model": pa.string(), "max_completion_tokens": pa.int64(), "max_tokens": pa.int64(),
    }),
    "status": pa.int64(), "seq": pa.int64(), "raw": pa.string(), "outcome": pa.string(),
})  # fmt: skip
"""`Entry` in columns."""

_ENTRIES: Final = Records(Entry, non_finite=True)


class Entries:
    """Some lines of a capture, and what they say."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk

    def __iter__(self) -> Iterator[tuple[int, Entry | LineError]]:
        """Yield the number of each line that is not blank, and what it says or what is wrong."""
        block, rows = self._chunk.block, self._chunk.rows
        if rows is None:
            for line in block.lines():
                yield line.number, _decoded(line)
        else:
            columns = [column.to_pylist() for column in rows.columns]
            at = _SCHEMA.get_field_index("body")
            columns[at] = [_raw(body) for body in columns[at]]
            for number, fields in enumerate(zip(*columns, strict=True), block.first_line):
                yield number, Entry(*fields)

    def line(self, number: int) -> Line:
        """The line of this number."""
        (line,) = self._chunk.lines(np.array([number - self._chunk.block.first_line]))
        return line


def read_entries(block: Block) -> list[Entries]:
    """Read all lines of the block."""
    return list(map(Entries, chunks(block, _parse)))


def _parse(data: bytes) -> pa.RecordBatch | None:
    rows = rows_of(data, _SCHEMA, "ignore")
    return None if rows is None or rows.column("kind").null_count else rows


def _raw(body: dict[str, object] | None) -> msgspec.Raw:
    return _NOTHING if body is None else msgspec.Raw(msgspec.json.encode(body))


def _decoded(line: Line) -> Entry | LineError:
    try:
        return _ENTRIES.decode(line.data)
    except LineError as error:
        return error
