"""From a file of records to rows of `streams`, many records at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from operator import attrgetter
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.bulk_records import Decoded
from tokengap.adapters.shared.columns import Columns
from tokengap.adapters.shared.fields import joined
from tokengap.adapters.shared.places import number_of
from tokengap.adapters.shared.record_files import Piece
from tokengap.adapters.shared.row_batches import RowBatches, Rows
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.source import Line, Source

BATCH_BYTES: Final = 16 << 20
"""Records are looked at together, as far as this: each operation on arrays has a fixed cost."""


class Decoder(Protocol):
    """Decodes records, such as `BulkRecords`."""

    def decode(self, piece: Piece, source: Source, intake: Intake) -> Decoded:
        """Return the records of a piece; those that cannot be decoded go to `intake`."""
        ...


def read_columns(
    source: Source,
    intake: Intake,
    pieces: Iterable[Piece],
    records: Decoder,
    make: Callable[[Columns], Rows],
    *,
    whole: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that `make` makes of the records, without those that are refused.

    A record that cannot be decoded, or that is refused, is quarantined alone. whole: look at all
    records together, of a file that is held in memory anyway.
    """
    yield from read_kinds(source, intake, pieces, records, lambda each: [make(each)], whole=whole)


def read_kinds(
    source: Source,
    intake: Intake,
    pieces: Iterable[Piece],
    records: Decoder,
    make: Callable[[Columns], Iterable[Rows]],
    *,
    whole: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Do as `read_columns` where a record may make several rows, or one of several kinds.

    Rows of one kind follow each other: to put those of one record together takes as long as to read
    it.
    """
    batches = RowBatches(intake.source_id(source), intake.trace)
    for columns in read_groups(source, intake, pieces, records, whole=whole):
        if len(columns):
            yield from map(batches.batch, make(columns))


def read_groups(
    source: Source,
    intake: Intake,
    pieces: Iterable[Piece],
    records: Decoder,
    *,
    whole: bool = False,
) -> Iterator[Columns]:
    """Yield the records themselves, as many as are looked at together.

    Those that are refused until the next ones are asked for are quarantined. whole: see
    `read_columns`.
    """
    for group in _groups(pieces, inf if whole else BATCH_BYTES):
        begun = len(intake.rejects)
        found = [records.decode(piece, source, intake) for piece in group]
        numbers = np.concatenate([each.numbers for each in found])
        fields = joined([each.fields for each in found])
        place, sieve = _Places(numbers, group), Sieve(len(numbers))
        undecoded = [reject.line for reject in intake.rejects[begun:]]
        yield Columns(fields, numbers, sieve, place, undecoded=undecoded)
        sieve.report(source, place, intake)
        intake.rejects[begun:] = sorted(intake.rejects[begun:], key=attrgetter("line"))


def _groups(pieces: Iterable[Piece], least_bytes: float) -> Iterator[list[Piece]]:
    held: list[Piece] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece.text)
        if size >= least_bytes:
            yield held
            held, size = [], 0
    if held:
        yield held


@dataclass(frozen=True)
class _Places:
    """Where the records with these numbers stand, looked up when needed."""

    numbers: Ints
    pieces: Sequence[Piece]

    def __call__(self, row: int) -> Line | int:
        return self._by_number[int(self.numbers[row])]

    @cached_property
    def _by_number(self) -> Mapping[int, Line | int]:
        places = (place for piece in self.pieces for place, _ in piece.items())
        return {number_of(place): place for place in places}
