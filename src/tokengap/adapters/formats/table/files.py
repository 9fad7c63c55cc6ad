"""The rows of a CSV or Parquet file, in pieces that can be read beside each other."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.csv_rows import Csv
from tokengap.adapters.source import Block, Line, Source
from tokengap.errors import InputError

BATCH_ROWS: Final = 1 << 16


@dataclass(frozen=True)
class Rows:
    """Some rows. numbers: of each its line from 1, or in Parquet its index from 0."""

    columns: Mapping[str, pa.Array]
    numbers: Ints
    place: Callable[[int], Line | int]


Piece = Callable[[Intake], Iterable[Rows]]
"""Reads the rows of a part of a file; those that are none go to the intake."""


class TableFile(Protocol):
    """A file of one kind."""

    names: Sequence[str]
    """What its columns are called."""

    def pieces(self, wanted: Sequence[str]) -> Iterator[Piece]:
        """All rows in order, of the wanted columns."""
        ...


class CsvFile:
    """A table with a line of names; every cell is text."""

    def __init__(self, source: Source, delimiter: str) -> None:
        self._csv = Csv(source, delimiter=delimiter)
        self.names: Sequence[str] = self._csv.names

    def pieces(self, wanted: Sequence[str]) -> Iterator[Piece]:
        """Some whole rows each."""
        return (partial(self._rows, block, wanted) for block in self._csv.blocks())

    def _rows(self, block: Block, wanted: Sequence[str], intake: Intake) -> Iterator[Rows]:
        for rows in self._csv.rows(block, wanted, intake):
            yield Rows(rows.columns, rows.numbers, rows.place)


class ParquetFile:
    """A Parquet file, whose columns have types."""

    def __init__(self, source: Source) -> None:
        try:
            self._file = pq.ParquetFile(source.path)
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"{source.name}: not a whole Parquet file ({error}); one that is packed has to be "
                "unpacked first"
            ) from error
        self.names: Sequence[str] = self._file.schema_arrow.names

    def pieces(self, wanted: Sequence[str]) -> Iterator[Piece]:
        """Some rows each, read by row groups."""
        first = 0
        for batch in self._file.iter_batches(BATCH_ROWS, columns=list(wanted)):
            numbers = np.arange(first, first + batch.num_rows)
            columns = {name: batch.column(name) for name in wanted}
            yield partial(_read_already, Rows(columns, numbers, first.__add__))
            first += batch.num_rows


def _read_already(rows: Rows, _: Intake) -> Iterable[Rows]:
    return [rows]
