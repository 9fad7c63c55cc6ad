"""One block of tokengap's own log: its events, its facts, its bad lines."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.formats.tokengap.bulk import BulkReader
from tokengap.adapters.formats.tokengap.events import (
    NOT_SAID,
    EventColumns,
    from_records,
    from_rows,
    sort_out,
)
from tokengap.adapters.formats.tokengap.line import FACTS, Record, read
from tokengap.adapters.shared.json_blocks import Chunk
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.source import Block, Line

BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Found:
    """What a block holds. Lines carry their number in the file, all below `end_line`."""

    end_line: int
    tokens: list[EventColumns] = field(default_factory=list)
    marks: list[EventColumns] = field(default_factory=list)
    """Events without tokens and without facts."""
    facts: list[tuple[int, Record, bytes | None]] = field(default_factory=list)
    """Lines that say more; for whole streams, with a digest of their times."""
    rejects: list[tuple[Line, LineError]] = field(default_factory=list)
    _single_tokens: list[tuple[int, Record]] = field(default_factory=list, init=False)
    _single_marks: list[tuple[int, Record]] = field(default_factory=list, init=False)

    def read(self, line: Line) -> dict[str, Any]:
        """Judge a line on its own; its fields, none if it is bad."""
        data = line.data.removeprefix(BOM) if line.number == 1 else line.data
        try:
            record, fields = read(data)
        except LineError as error:
            self.rejects.append((line, error))
            return {}
        says_more = not FACTS.isdisjoint(fields)
        if says_more:
            self.facts.append((line.number, *_without_times(record)))
        if record.carries_tokens:
            self._single_tokens.append((line.number, record))
        elif not says_more:
            self._single_marks.append((line.number, record))
        return fields

    def finish(self) -> None:
        """Put what was read singly with the rest, in the order of the file."""
        if self._single_tokens:
            self.tokens.append(from_records(self._single_tokens, no_choice=0))
        if self._single_marks:
            self.marks.append(from_records(self._single_marks, no_choice=NOT_SAID))
        self._single_tokens, self._single_marks = [], []
        self.rejects.sort(key=lambda reject: reject[0].number)


def read_block(reader: BulkReader, block: Block) -> Found:
    """Every line of the block, in bulk where that is strict, else singly."""
    found = Found(block.first_line)
    for chunk in reader.chunks(block):
        if chunk.rows is None:
            for line in chunk.block.lines():
                reader.learn(found.read(line))
            found.end_line += chunk.block.data.count(b"\n") + 1
        else:
            _read_rows(chunk, chunk.rows, found)
            found.end_line += chunk.rows.num_rows
    found.finish()
    return found


def _read_rows(chunk: Chunk, rows: pa.RecordBatch, found: Found) -> None:
    tokens, marks, leader = sort_out(rows)
    closer = np.flatnonzero(~tokens & ~marks)
    good = [found.read(line) for line in chunk.lines(closer)]
    bad = [at for at, fields in zip(closer.tolist(), good, strict=True) if not fields]
    if bad:
        misled = tokens & np.isin(leader, bad)
        for line in chunk.lines(np.flatnonzero(misled)):
            found.read(line)
        tokens &= ~misled
    for put, which, no_choice in (
        (found.tokens, tokens, 0), (found.marks, marks, NOT_SAID),
    ):  # fmt: skip
        at = np.flatnonzero(which)
        if len(at):
            some = rows if len(at) == rows.num_rows else rows.filter(pa.array(which))
            put.append(from_rows(some, chunk.block.first_line + at, no_choice=no_choice))


def _without_times(record: Record) -> tuple[Record, bytes | None]:
    """The record with its times in a digest, if they are those of a whole stream."""
    if not record.is_stream:
        return record, None
    times = msgspec.msgpack.encode((record.times_ns, record.token_counts))
    observed: list[int] | None = None if record.times_ns is None else []
    facts = msgspec.structs.replace(record, times_ns=observed, token_counts=None)
    return facts, hashlib.sha256(times).digest()
