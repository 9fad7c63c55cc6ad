"""Rows put aside in any order and read back sorted, in memory that does not grow with their number.

DuckDB holds them, and moves to a temporary folder what does not fit.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, islice
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokengap.errors import InputError

GROUP: Final = "group"
"""Column of every table: which rows are read back together, from 0."""
MEMORY: Final = "512MB"

_HELD_BYTES: Final = 16 << 20
"""Many small inserts take three times as long as few large ones."""
_FETCH_ROWS: Final = 1 << 17
_PARTS: Final = 4


class Spill(AbstractContextManager["Spill"]):
    """Tables of rows, gone when the block is left."""

    def __init__(self, tables: Mapping[str, pa.Schema]) -> None:
        self._folder = TemporaryDirectory(prefix="tokengap-", ignore_cleanup_errors=True)
        self._connection = duckdb.connect(
            config={
                "memory_limit": MEMORY,
                "temp_directory": self._folder.name,
                "preserve_insertion_order": False,
            }
        )
        self._cursors: list[duckdb.DuckDBPyConnection] = []
        self._schemas = tables
        self._held: dict[str, list[pa.RecordBatch]] = {name: [] for name in tables}
        self._held_bytes = dict.fromkeys(tables, 0)
        for name, schema in tables.items():
            self._connection.from_arrow(schema.empty_table()).create(name)

    def add(self, table: str, rows: pa.RecordBatch) -> None:
        """Put rows aside; InputError if there is no room for them."""
        self._held[table].append(rows)
        self._held_bytes[table] += rows.nbytes
        if self._held_bytes[table] >= _HELD_BYTES:
            self._insert(table)

    def _insert(self, table: str) -> None:
        rows = pa.Table.from_batches(self._held[table], self._schemas[table])
        with self._room():
            self._connection.from_arrow(rows).insert_into(table)
        self._held[table], self._held_bytes[table] = [], 0

    def sizes(self, table: str, groups: int) -> npt.NDArray[np.int64]:
        """Number of rows of each group, of `groups` in all."""
        self._insert(table)
        counted = self._connection.table(table).aggregate(f'"{GROUP}", count(*) AS n')
        found = counted.to_arrow_table()
        sizes = np.zeros(groups, np.int64)
        sizes[found.column(GROUP).to_numpy()] = found.column("n").to_numpy()
        return sizes

    def read(self, table: str, order: Sequence[str], ends: Sequence[int]) -> Iterator[pa.Table]:
        """Rows by group, then by the columns in `order`: a table up to each group in `ends`.

        `ends` ascends, and an end is the first group left out. InputError if there is no room.
        """
        self._insert(table)
        schema = self._schemas[table]
        with self._room(), ThreadPoolExecutor(1) as ahead:
            parts = _parts(ends)
            opened = [ahead.submit(self._sorted, table, order, *part[0]) for part in parts[:1]]
            for number, (_, own_ends) in enumerate(parts):
                batches = opened.pop().result()
                if number + 1 < len(parts):
                    opened.append(ahead.submit(self._sorted, table, order, *parts[number + 1][0]))
                yield from _cut(batches, own_ends, schema)

    def _sorted(
        self, table: str, order: Sequence[str], first: int, end: int
    ) -> Iterator[pa.RecordBatch]:
        """Rows of groups from `first` to before `end`; returns when the first are there."""
        columns = ", ".join(f'"{name}"' for name in (GROUP, *order))
        cursor = self._connection.cursor()
        self._cursors.append(cursor)  # DuckDB 1.4 closes one that nobody holds
        wanted = cursor.table(table).filter(f'"{GROUP}" >= {first} AND "{GROUP}" < {end}')
        batches = iter(_reader(wanted.order(columns)))
        return chain(list(islice(batches, 1)), batches)

    @contextmanager
    def _room(self) -> Iterator[None]:
        try:
            yield
        except (duckdb.Error, pa.ArrowException) as error:
            raise InputError(
                f"{self._folder.name}: no room to sort the log in ({error}); make some there, or "
                "set TMPDIR to a folder that has more"
            ) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Forget all rows."""
        for connection in (*self._cursors, self._connection):
            connection.close()
        self._folder.cleanup()


def _parts(ends: Sequence[int]) -> list[tuple[tuple[int, int], Sequence[int]]]:
    """`ends` in a few runs, each with its groups: one is sorted while the one before is used."""
    size = -(-len(ends) // _PARTS) or 1
    runs = [ends[start : start + size] for start in range(0, len(ends), size)]
    firsts = [0, *(run[-1] for run in runs)]
    return [((first, run[-1]), run) for first, run in zip(firsts, runs, strict=False)]


def _cut(
    batches: Iterator[pa.RecordBatch], ends: Sequence[int], schema: pa.Schema
) -> Iterator[pa.Table]:
    rest: pa.RecordBatch | None = pa.RecordBatch.from_pylist([], schema)
    for end in ends:
        parts = []
        while rest is not None:
            stop = int(np.searchsorted(rest.column(GROUP).to_numpy(), end))
            parts.append(rest.slice(0, stop))
            if stop < rest.num_rows:
                rest = rest.slice(stop)
                break
            rest = next(batches, None)
        yield pa.Table.from_batches(parts, schema)


def _reader(rows: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """A result as it is computed; DuckDB 2 gave the method another name."""
    read = getattr(rows, "to_arrow_reader", None) or rows.fetch_arrow_reader
    return read(_FETCH_ROWS)
