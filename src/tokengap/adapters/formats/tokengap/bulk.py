"""Many short JSON lines at once: Arrow's JSON reader, used only where its answer is a strict one.

With an explicit schema and unexpected fields refused, that reader takes integers only where they
are written as integers, and no key twice. What it does not see is checked beside it: text that is
not UTF-8, two objects on one line, an object over two lines, a blank line. Where a block fails,
smaller and smaller pieces of it are tried, and the smallest that fail are left to be read line by
line: so a bad line costs little, and no line is judged by anything but a strict reader.

Fields beyond the schema are learned from lines read singly. Arrow could infer them itself, but it
crashes on deep nesting and needs quadratic time where keys differ from line to line.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from tokengap.adapters.source import Block, Line

LEAF_BYTES: Final = 32 << 10
"""Lines are read singly in pieces no larger than this."""
COLUMNS_LIMIT: Final = 48
"""Every column costs time on every row, so lines with further fields are read singly."""
WORKERS: Final = min(4, os.cpu_count() or 1)

_PIECES: Final = 16
_LEARNABLE: Final = {
    str: pa.string(), bool: pa.bool_(), int: pa.float64(), float: pa.float64(),
}  # fmt: skip

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines; `rows` holds one row for each, or is None where they must be read singly."""

    block: Block
    rows: pa.RecordBatch | None

    def lines(self, positions: npt.NDArray[np.int64]) -> Iterator[Line]:
        """The lines of some rows."""
        if not len(positions):
            return
        block = self.block
        breaks = _breaks(block.data)
        starts = np.concatenate(([0], breaks + 1))[positions].tolist()
        stops = np.append(breaks, len(block.data))[positions].tolist()
        for at, start, stop in zip(positions.tolist(), starts, stops, strict=True):
            data = block.data[start:stop].removesuffix(b"\r")
            yield Line(block.first_line + at, block.offset + start, data)


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
        rows = self._parse(block.data)
        pieces = [block]
        if rows is None and len(block.data) > LEAF_BYTES:
            pieces = list(_split(block, len(block.data) // _PIECES))
        if len(pieces) == 1:
            yield Chunk(block, rows)
            return
        for piece in pieces:
            yield from self.chunks(piece)

    def learn(self, record: Mapping[str, object]) -> None:
        """Expect the fields of this line from now on."""
        for name, value in record.items():
            if name not in self._known and len(self._known) < COLUMNS_LIMIT:
                type_ = self._expected.get(name, _LEARNABLE.get(type(value)))
                if type_ is not None and value is not None:
                    self._known = {**self._known, name: type_}

    def _parse(self, data: bytes) -> pa.RecordBatch | None:
        text = data.replace(b"\r\n", b"\n") if b"\r" in data else data
        breaks = _breaks(text)
        if not (_objects_fill_lines(text, breaks) and _is_utf8(text)):
            return None
        known = self._known
        try:
            table = pj.read_json(
                pa.BufferReader(text),
                read_options=pj.ReadOptions(block_size=len(text) + 1, use_threads=False),
                parse_options=pj.ParseOptions(
                    explicit_schema=pa.schema(known.items()), unexpected_field_behavior="error"
                ),
            )
        except pa.ArrowException:
            return None
        if table.num_rows != len(breaks) + (not text.endswith(b"\n")) or not _is_finite(table):
            return None
        schema = pa.schema({f.name: f.type for f in self._columns} | known)
        columns = [
            table.column(f.name).combine_chunks() if f.name in known
            else pa.nulls(table.num_rows, f.type)
            for f in schema
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def _breaks(text: bytes) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))


def _objects_fill_lines(text: bytes, breaks: npt.NDArray[np.int64]) -> bool:
    """Whether every line break stands between two objects, or ends the text.

    Inside one valid JSON value, no `}` is followed by a line break and `{`, and no text holds a
    raw line break: if there are then as many objects as lines, each line is one object.
    """
    if not (text.startswith(b"{") and text.endswith((b"}", b"}\n"))):
        return False
    at, inner = np.frombuffer(text, np.uint8), breaks[: len(breaks) - text.endswith(b"\n")]
    return bool((at[inner - 1] == ord("}")).all() and (at[inner + 1] == ord("{")).all())


def _is_finite(table: pa.Table) -> bool:
    """False after NaN or Infinity, which older versions of Arrow take for numbers."""
    numbers = (column for column in table.columns if column.type == pa.float64())
    return not any(pc.any(pc.invert(pc.is_finite(column))).as_py() for column in numbers)


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _split(block: Block, size: int) -> Iterator[Block]:
    """Pieces of whole lines, of at least `size` bytes but for the last."""
    number, start = block.first_line, 0
    while start < len(block.data):
        stop = block.data.find(b"\n", start + size) + 1 or len(block.data)
        piece = block.data[start:stop]
        yield Block(number, block.offset + start, piece)
        number += piece.count(b"\n")
        start = stop


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int = WORKERS
) -> Iterator[Result]:
    """`work` on every item, in threads, results in the items' order and only a few ahead."""
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) > workers + 1:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
