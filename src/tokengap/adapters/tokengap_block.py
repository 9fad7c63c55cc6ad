"""One block of tokengap's own log: its token events, its facts, its bad lines."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.bulk import BulkReader, Chunk
from tokengap.adapters.lines import LineError
from tokengap.adapters.source import Block, Line
from tokengap.adapters.tokengap_events import Tokens, from_records, from_rows, plain
from tokengap.adapters.tokengap_line import FACTS, Record, read

BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Found:
    """What a block holds. Lines carry their number in the file, all below `end_line`."""

    end_line: int
    tokens: list[Tokens] = field(default_factory=list)
    facts: list[tuple[int, Record, bytes | None]] = field(default_factory=list)
    """Lines that say more than that a token came; for whole streams, a digest of their times."""
    rejects: list[tuple[Line, LineError]] = field(default_factory=list)


def read_block(reader: BulkReader, block: Block) -> Found:
    """Every line of the block, in bulk where that is strict, else singly."""
    found = Found(block.first_line)
    for chunk in reader.chunks(block):
        if chunk.rows is None:
            for fields in _read_singly(chunk.block.lines(), found):
                reader.learn(fields)
            found.end_line += chunk.block.data.count(b"\n") + 1
        else:
            _read_rows(chunk, chunk.rows, found)
            found.end_line += chunk.rows.num_rows
    found.rejects.sort(key=lambda reject: reject[0].number)
    return found


def _read_rows(chunk: Chunk, rows: pa.RecordBatch, found: Found) -> None:
    usual, leader = plain(rows)
    first_line = chunk.block.first_line
    if not usual.all():
        before = len(found.rejects)
        _read_singly(chunk.lines(np.flatnonzero(~usual)), found)
        bad = [line.number - first_line for line, _ in found.rejects[before:]]
        if bad:
            misled = usual & np.isin(leader, bad)
            _read_singly(chunk.lines(np.flatnonzero(misled)), found)
            usual &= ~misled
        rows = rows.filter(pa.array(usual))
    if rows.num_rows:
        found.tokens.append(from_rows(rows, first_line + np.flatnonzero(usual)))


def _read_singly(lines: Iterable[Line], found: Found) -> list[dict[str, Any]]:
    """Reads lines into `found`; the fields of the good ones."""
    good, records, numbers = [], [], []
    for line in lines:
        data = line.data.removeprefix(BOM) if line.number == 1 else line.data
        try:
            record, fields = read(data)
        except LineError as error:
            found.rejects.append((line, error))
            continue
        good.append(fields)
        tokens = record.carries_tokens
        if not tokens or not FACTS.isdisjoint(fields):
            found.facts.append((line.number, *_without_times(record)))
        if tokens:
            records.append(record)
            numbers.append(line.number)
    if records:
        found.tokens.append(from_records(records, numbers))
    return good


def _without_times(record: Record) -> tuple[Record, bytes | None]:
    """The record with its times in a digest, if they are those of a whole stream."""
    if not record.is_stream:
        return record, None
    times = msgspec.msgpack.encode((record.times_ns, record.token_counts))
    observed: list[int] | None = None if record.times_ns is None else []
    facts = msgspec.structs.replace(record, times_ns=observed, token_counts=None)
    return facts, hashlib.sha256(times).digest()
