"""Many JSON lines at once: Arrow's JSON reader, used only where its answer is a strict one.

With an explicit schema that reader takes integers only where they are written as integers, and no
key of the schema twice. What it does not see is checked beside it: text that is not UTF-8, two
objects on one line, an object over two lines, a blank line. Where a block fails, smaller and
smaller pieces of it are tried, and the smallest that fail are left to be read line by line: so a
bad line costs little, and no line is judged by anything but a strict reader.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.json as pj

from tokengap.adapters.source import Block, Line

LEAF_BYTES: Final = 32 << 10
"""Lines are read singly in pieces no larger than this."""

_PIECES: Final = 16


@dataclass(frozen=True)
class Chunk:
    """Whole lines; `rows` holds one row for each, or is None where they must be read singly."""

    block: Block
    rows: pa.RecordBatch | None

    def lines(self, positions: npt.NDArray[np.int64]) -> Iterator[Line]:
        """The lines of some rows."""
        block = self.block
        for at in positions.tolist():
            start, stop = self._bounds[at].tolist()
            data = block.data[start:stop].removesuffix(b"\r")
            yield Line(block.first_line + at, block.offset + start, data)

    @cached_property
    def _bounds(self) -> npt.NDArray[np.int64]:
        """Where each line starts and stops."""
        breaks = _breaks(self.block.data)
        starts = np.concatenate(([0], breaks + 1))
        return np.column_stack((starts, np.append(breaks, len(self.block.data))))


def chunks(block: Block, parse: Callable[[bytes], pa.RecordBatch | None]) -> Iterator[Chunk]:
    """The block's lines in order; `parse` gives the rows of some of them, or None if it cannot."""
    rows = parse(block.data)
    pieces = [block]
    if rows is None and len(block.data) > LEAF_BYTES:
        pieces = list(_split(block, len(block.data) // _PIECES))
    if len(pieces) == 1:
        yield Chunk(block, rows)
        return
    for piece in pieces:
        yield from chunks(piece, parse)


def rows_of(
    data: bytes, schema: pa.Schema, unexpected: Literal["error", "ignore"]
) -> pa.RecordBatch | None:
    """One row for each line; None where the lines are not sure to be objects of this schema.

    A column is NULL where the line lacks it or says null. unexpected: what to do about a field that
    the schema has not; of one to ignore nothing is known but that it is JSON, or NaN or Infinity.
    """
    text = data.replace(b"\r\n", b"\n") if b"\r" in data else data
    breaks = _breaks(text)
    if not (_objects_fill_lines(text, breaks) and _is_utf8(text)):
        return None
    try:
        table = pj.read_json(
            pa.BufferReader(text),
            read_options=pj.ReadOptions(block_size=len(text) + 1, use_threads=False),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior=unexpected
            ),
        )
    except pa.ArrowException:
        return None
    if table.num_rows != len(breaks) + (not text.endswith(b"\n")):
        return None
    return table.combine_chunks().to_batches()[0]


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
