"""What the columns of some rows mean, by the map: times in ns, counts, text."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.formats.table.files import Rows
from tokengap.adapters.formats.table.mapping import (
    Cell,
    Count,
    Duration,
    Sentinels,
    Text,
    Time,
    Timed,
)
from tokengap.adapters.formats.table.parse import Plan
from tokengap.adapters.shared.cells import PLACES, Cells, counts, plain, texts, times
from tokengap.adapters.shared.lines import COUNT_LIMIT
from tokengap.adapters.shared.nested import named
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.source import Source
from tokengap.errors import InputError
from tokengap.schema import TIME_LIMIT_NS

SENTINEL_NOTE: Final = "sentinel_dropped"

T = TypeVar("T")


class Values:
    """Reads some rows of a table by a map.

    sieve: rows that cannot be used. dropped: rows in which a sentinel stood for no value.
    """

    def __init__(self, plan: Plan, rows: Rows, source: Source) -> None:
        self.map = plan.map
        self.size = len(rows.numbers)
        self.sieve = Sieve(self.size)
        self.dropped = np.zeros(self.size, bool)
        self._plan = plan
        self._rows = rows
        self._source = source
        self._stamps: dict[str, Cells] = {}

    def text(self, place: tuple[str, str], cell: Text) -> pa.Array:
        """Text, translated as the map says; NULL where there is none."""
        column = self.column(cell)
        found = self._without_words(self.typed(cell, place, lambda: texts(column)), cell)
        if not (cell.values or cell.other):
            return found
        words = [*cell.values.values(), cell.other]
        position = pc.index_in(found, pa.array(list(cell.values), pa.string()))
        if cell.other:
            unknown = pc.and_(pc.is_null(position), pc.is_valid(found))
            position = pc.if_else(unknown, pa.scalar(len(cell.values), position.type), position)
        meant = named(words, position)
        return meant if cell.other else pc.coalesce(meant, found)

    def count(self, name: str, cell: Count, limit: int = COUNT_LIMIT) -> Cells:
        """Whole numbers from 0 to `limit`; refuses rows that have others."""
        column = self._without_words(self.column(cell), cell)
        cells = self.typed(cell, ("columns", name), lambda: counts(column, limit))
        cells = self._without_numbers(cells, cell, 0)
        self.sieve.refuse(cells.bad, "whole number expected", cell.column or name, column)
        return cells

    def stamp(self, name: str) -> Cells | None:
        """The times of `columns.<name>` as stamps; None if it is not mapped."""
        if name not in self._stamps:
            cell = getattr(self.map.columns, name)
            if cell is not None:
                self._stamps[name] = self.after(self.as_given("columns", name, cell), cell.since)
            elif name == self.map.own_origin:
                there = np.ones(self.size, bool)
                self._stamps[name] = Cells(np.zeros(self.size, np.int64), there, ~there)
        return self._stamps.get(name)

    def as_given(self, part: str, name: str, cell: Time | Duration) -> Cells:
        """Times as they stand in the column; refuses rows that have others."""
        column = self._without_words(self.column(cell), cell)
        cells = self.in_ns(column, (part, name), cell)
        if cell.unit in PLACES:
            cells = self._without_numbers(cells, cell, PLACES[cell.unit])
        self.sieve.refuse(cells.bad, f"time in {cell.unit} expected", cell.column or name, column)
        return cells

    def in_ns(self, column: pa.Array, place: tuple[str, str], cell: Timed) -> Cells:
        """Cells of a column, or elements of its lists, which have the unit that the map says."""
        utc = getattr(cell, "zone", None) is not None
        return self.typed(cell, place, lambda: times(column, cell.unit, utc=utc))

    def after(self, durations: Cells, since: str | None) -> Cells:
        """Durations as stamps: `since` names the time they count from, if they are none yet."""
        start = self.stamp(since) if since else None
        if start is None:
            return durations
        there = durations.there & start.there
        values = np.where(there, durations.values + start.values, 0)
        beyond = np.abs(values) > TIME_LIMIT_NS
        self.sieve.refuse(beyond, f"too long after {since}", since or "")
        return Cells(np.where(beyond, 0, values), there, durations.bad)

    def totals(self) -> Ints:
        """Tokens of each row's whole stream, -1 where they are not given."""
        cell = self.map.columns.output_tokens
        if cell is None:
            return np.full(self.size, -1)
        cells = self.count("output_tokens", cell)
        return np.where(cells.there, cells.values, -1)

    def notes(self) -> dict[str, Bools]:
        """Of which rows each quality note is true."""
        unseen = self.map.holds_tokens and self.map.columns.status is None
        return {SENTINEL_NOTE: self.dropped, "end_not_seen": np.full(self.size, unseen)}

    def column(self, cell: Cell) -> pa.Array:
        """What the table has; the constant for all rows, or NULL for an optional column."""
        if cell.column is not None and cell.column in self._rows.columns:
            return plain(self._rows.columns[cell.column])
        constant = cell.constant
        return pa.nulls(self.size) if constant is None else pa.repeat(constant, self.size)

    def typed(self, cell: Cell, place: tuple[str, str], read: Callable[[], T]) -> T:
        """What `read` gives; InputError, naming the map's line, if the column cannot be that."""
        try:
            return read()
        except TypeError as error:
            where = self._plan.place(*place)
            raise InputError(
                f"{self._source.name}: column {cell.column!r} cannot be that ({where}): {error}"
            ) from error

    def _without_words(self, column: pa.Array, cell: Cell) -> pa.Array:
        """The column without the texts that stand for no value."""
        words = [str(sentinel) for sentinel in self._missing(cell)]
        if not words or not pa.types.is_string(column.type):
            return column
        found = pc.is_in(column, pa.array(words))
        self.dropped |= found.to_numpy(zero_copy_only=False)
        return pc.if_else(found, pa.scalar(None, pa.string()), column)

    def _without_numbers(self, cells: Cells, cell: Cell, places: int) -> Cells:
        """The cells without the numbers that stand for no value, in units of 10^places."""
        numbers = [n for n in self._missing(cell) if not isinstance(n, str)]
        if not numbers:
            return cells
        values = [round(Fraction(str(number)) * 10**places) for number in numbers]
        found = cells.there & np.isin(cells.values, values)
        self.dropped |= found
        return cells.without(found)

    def _missing(self, cell: Cell) -> Sentinels:
        return (*cell.missing, *self.map.missing)
