"""Rows of a table with commas, in bulk and with a place for each: one bad row costs only itself.

A row ends at a line break outside quotes. A block that does not parse, or not into as many rows as
it has, is halved until the bad row stands alone.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from tokengap.adapters.interface import Intake
from tokengap.adapters.source import Block, Line, Source
from tokengap.errors import InputError

BLOCK_BYTES: Final = 2 << 20
"""Of a larger piece, columns that were made are no longer in the cache when they are used."""
OPEN_QUOTE_BYTES: Final = 64 << 20
"""A quote that is not closed within this is taken for a character like any other."""

_BOM: Final = b"\xef\xbb\xbf"
_QUOTE, _BREAK, _RETURN = b'"\n\r'
_COUNTED: Final = re.compile(r"Expected (\d+) columns, got (\d+)")

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Some rows of a table, as columns of text; an empty cell is NULL."""

    columns: Mapping[str, pa.Array]
    spans: "Spans"

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.spans)

    def place(self, row: int) -> Line:
        """The line that holds a row, or its first one."""
        return self.spans.line(row)

    @cached_property
    def numbers(self) -> Positions:
        """Line of every row, from 1."""
        return self.spans.numbers


@dataclass(frozen=True)
class Spans:
    """Whole rows: a block, and where in its data each of them begins and ends."""

    block: Block
    starts: Positions
    ends: Positions

    @classmethod
    def of(cls, block: Block, *, quotes: bool = True) -> "Spans":
        """The rows of a block, blank lines left out; without `quotes` every line is one."""
        at = np.frombuffer(block.data, np.uint8)
        ends = np.flatnonzero(at == _BREAK)
        if quotes and b'"' in block.data:
            opened_and_closed = np.searchsorted(np.flatnonzero(at == _QUOTE), ends)
            ends = ends[opened_and_closed % 2 == 0]
        if not len(ends) or ends[-1] != len(at) - 1:
            ends = np.append(ends, len(at))
        starts = np.concatenate(([0], ends[:-1] + 1))
        sizes = ends - starts
        short = np.flatnonzero(sizes <= 1)
        if not len(short):
            return cls(block, starts, ends)
        blank = short[(sizes[short] == 0) | (at[np.minimum(starts[short], len(at) - 1)] == _RETURN)]
        return cls(block, np.delete(starts, blank), np.delete(ends, blank))

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.starts)

    @property
    def _one_a_line(self) -> bool:
        """Whether a row follows the line break of the one before, and none has one in it."""
        adjoin = bool((self.starts[1:] == self.ends[:-1] + 1).all())
        return adjoin and b'"' not in self.block.data and self.starts[0] == 0

    @cached_property
    def numbers(self) -> Positions:
        """Line of every row, from 1."""
        if self._one_a_line:
            return self.block.first_line + np.arange(len(self))
        breaks = np.flatnonzero(np.frombuffer(self.block.data, np.uint8) == _BREAK)
        return self.block.first_line + np.searchsorted(breaks, self.starts)

    def line(self, row: int) -> Line:
        """One row as a line."""
        start = int(self.starts[row])
        data = self.block.data[start : int(self.ends[row])].removesuffix(b"\r")
        return Line(int(self.numbers[row]), self.block.offset + start, data)

    def halves(self) -> Iterator["Spans"]:
        """The rows in two parts, each with its own data only."""
        half = len(self) // 2
        for rows in (slice(None, half), slice(half, None)):
            starts, ends = self.starts[rows], self.ends[rows]
            first = int(starts[0])
            data = self.block.data[first : int(ends[-1]) + 1]
            block = Block(int(self.numbers[rows][0]), self.block.offset + first, data)
            yield Spans(block, starts - first, ends - first)


class Csv:
    """A file with a name for each column.

    names: those of a file without a line of names; by default its first line has them.
    """

    def __init__(
        self, source: Source, names: Sequence[str] | None = None, delimiter: str = ","
    ) -> None:
        self._source = source
        self._delimiter = delimiter
        self._header_lines = 0 if names else 1
        self.names = tuple(names or self._first_line())

    def _first_line(self) -> list[str]:
        head = self._source.head.removeprefix(_BOM).lstrip(b"\r\n")
        line = head.split(b"\n", 1)[0].decode("utf-8", "replace")
        names = next(csv.reader([line], delimiter=self._delimiter), [])
        return [name.strip() for name in names]

    def blocks(self) -> Iterator[Block]:
        """The file in pieces of whole rows, without the line of names."""
        return self._without_names(_whole_rows(self._source.blocks(BLOCK_BYTES)))

    def rows(self, block: Block, wanted: Sequence[str], intake: Intake) -> Iterator[Rows]:
        """The wanted columns of a piece; bad rows go to `intake`.

        InputError if not one column has such a name.
        """
        for name in wanted:
            if self.names.count(name) != 1:
                raise InputError(
                    f"{self._source.name}: {self.names.count(name)} columns are called {name!r}, "
                    f"and one is expected; there are {', '.join(self.names)}"
                )
        return self._parse(Spans.of(block), wanted, intake)

    def _without_names(self, blocks: Iterator[Block]) -> Iterator[Block]:
        waiting = self._header_lines
        for block in blocks:
            data = block.data.removeprefix(_BOM) if block.offset == 0 else block.data
            offset, line = block.offset + len(block.data) - len(data), block.first_line
            while waiting and data:
                head, _, data = data.partition(b"\n")
                waiting -= bool(head.strip())
                offset, line = offset + len(head) + 1, line + 1
            if data:
                yield Block(line, offset, data)

    def _parse(self, spans: Spans, wanted: Sequence[str], intake: Intake) -> Iterator[Rows]:
        if not len(spans):
            return
        table = self._table(spans, wanted)
        if not isinstance(table, str):
            columns = {name: table.column(name).combine_chunks() for name in wanted}
            yield Rows(columns, spans)
        elif len(spans) > 1:
            for half in spans.halves():
                yield from self._parse(half, wanted, intake)
        elif _is_open(data := spans.block.data) and data.count(b"\n") > 1:
            yield from self._parse(Spans.of(spans.block, quotes=False), wanted, intake)
        elif data.strip():
            intake.reject(self._source, spans.line(0), table)

    def _table(self, spans: Spans, wanted: Sequence[str]) -> pa.Table | str:
        """The rows, or why they do not parse into as many as there are."""
        data = spans.block.data
        if _is_open(data):
            return "a quote is opened and not closed"
        try:
            table = self._read(data, wanted)
        except pa.ArrowInvalid as error:
            found = _COUNTED.search(str(error))
            if found:
                return f"{found[1]} cells expected, and there are {found[2]}"
            return "not UTF-8 text" if "UTF8" in str(error) else "not a row of a table"
        return table if table.num_rows == len(spans) else "a line break within a row"

    def _read(self, data: bytes, wanted: Sequence[str]) -> pa.Table:
        quoted = b'"' in data
        return pa_csv.read_csv(
            pa.BufferReader(data),
            pa_csv.ReadOptions(
                column_names=self.names, block_size=max(len(data) + 1, 2), use_threads=False
            ),
            pa_csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
            ),
            pa_csv.ConvertOptions(
                check_utf8=not data.isascii(),
                include_columns=list(wanted),
                column_types=dict.fromkeys(wanted, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )


def _is_open(data: bytes) -> bool:
    """Whether it ends within quotes, if it did not begin so."""
    return b'"' in data and data.count(b'"') % 2 == 1


def _whole_rows(blocks: Iterator[Block]) -> Iterator[Block]:
    """Blocks that do not end inside quotes, joined with what comes after if they did."""
    held: list[Block] = []
    open_quote = False
    for block in blocks:
        held.append(block)
        open_quote ^= _is_open(block.data)
        if not open_quote or sum(len(b.data) for b in held) > OPEN_QUOTE_BYTES:
            yield _joined(held)
            held, open_quote = [], False
    if held:
        yield _joined(held)


def _joined(blocks: Sequence[Block]) -> Block:
    first = blocks[0]
    if len(blocks) == 1:
        return first
    return Block(first.first_line, first.offset, b"".join(block.data for block in blocks))
