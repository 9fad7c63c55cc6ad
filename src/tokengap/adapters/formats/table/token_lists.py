"""Columns whose cells are lists: when the tokens of a request came, and how many at a time."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.formats.table.mapping import Gaps, Times
from tokengap.adapters.formats.table.values import Values
from tokengap.adapters.shared.cells import counts
from tokengap.adapters.shared.list_cells import in_rows, lists
from tokengap.schema import TIME_LIMIT_NS

FIRST: Final = "first_token"


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Tokens of some requests: row r has `times_ns[offsets[r]:offsets[r + 1]]`.

    counts: tokens of each delivery, 0 where they are not given. observed: rows that have a list.
    """

    times_ns: Ints
    counts: Ints
    offsets: Ints
    observed: Bools

    def of(self, rows: Bools) -> "Deliveries":
        """Those of the marked rows."""
        sizes = np.diff(self.offsets)
        kept = np.repeat(rows, sizes)
        return Deliveries(
            self.times_ns[kept], self.counts[kept], _offsets(sizes[rows]), self.observed[rows]
        )


def deliveries(values: Values) -> Deliveries:
    """What the lists of the rows hold; refuses rows whose list is none, or does not fit."""
    columns = values.map.columns
    if columns.token_times is not None:
        times_ns, offsets, observed = _elements(values, "token_times", columns.token_times)
        start = _start(values, columns.token_times, offsets)
        times_ns = times_ns + np.repeat(start, np.diff(offsets))
    elif columns.gaps is not None:
        gaps_ns, offsets, observed = _elements(values, "gaps", columns.gaps)
        start = _start(values, columns.gaps, offsets)
        if columns.gaps.since == FIRST:
            gaps_ns, offsets = _with_first(values, gaps_ns, offsets, observed)
        _refuse_long(values, columns.gaps, gaps_ns, offsets)
        times_ns = _running(start, gaps_ns, offsets)
    else:
        times_ns, offsets = np.zeros(0, np.int64), np.zeros(values.size + 1, np.int64)
        observed = np.zeros(values.size, bool)
    return Deliveries(times_ns, _token_counts(values, offsets), offsets, observed)


def _elements(values: Values, name: str, cell: Times | Gaps) -> tuple[Ints, Ints, Bools]:
    """Times of all lists, where each list begins, and which rows have one."""
    place = ("columns", name)
    column = values.column(cell)
    flat, offsets, there = values.typed(cell, place, lambda: lists(column))
    cells = values.in_ns(flat, place, cell)
    bad = in_rows(cells.bad | ~cells.there, offsets)
    values.sieve.refuse(bad, f"list of times in {cell.unit} expected", cell.column or name, column)
    return cells.values, offsets, there


def _start(values: Values, cell: Times | Gaps, offsets: Ints) -> Ints:
    """From when each row's times count; refuses rows with times that count from an unknown one."""
    start = values.stamp(cell.since) if cell.since else None
    if start is None:
        return np.zeros(values.size, np.int64)
    unknown = ~start.there & (np.diff(offsets) > 0)
    values.sieve.refuse(
        unknown, f"{cell.since} is missing, which it counts from", cell.column or ""
    )
    return start.values


def _with_first(values: Values, gaps_ns: Ints, offsets: Ints, observed: Bools) -> tuple[Ints, Ints]:
    """The gaps with a 0 for the first token before each list, where there is a first token."""
    first = values.stamp(FIRST)
    has_one = observed & (np.zeros(values.size, bool) if first is None else first.there)
    return np.insert(gaps_ns, offsets[:-1][has_one], 0), _offsets(np.diff(offsets) + has_one)


def _refuse_long(values: Values, cell: Gaps, gaps_ns: Ints, offsets: Ints) -> None:
    most = np.abs(gaps_ns.astype(np.float64))
    if most.sum() <= TIME_LIMIT_NS // 2:
        return
    running = np.concatenate(([0.0], np.cumsum(most)))
    long = running[offsets[1:]] - running[offsets[:-1]] > TIME_LIMIT_NS // 2
    values.sieve.refuse(long, "gaps add up to more than a century", cell.column or "gaps")


def _running(start: Ints, steps: Ints, offsets: Ints) -> Ints:
    """Sums within each row, up to each element; those of all rows wrap and still differ rightly."""
    total = np.zeros(len(steps) + 1, np.int64)
    np.cumsum(steps, out=total[1:])
    sums = total[1:]
    sums += np.repeat(start - total[offsets[:-1]], np.diff(offsets))
    return sums


def _token_counts(values: Values, offsets: Ints) -> Ints:
    """Tokens of each delivery; refuses rows whose list of them is not as long as that of times."""
    found = np.zeros(int(offsets[-1]), np.int64)
    cell = values.map.columns.token_counts
    if cell is None:
        return found
    name, column = cell.column or "token_counts", values.column(cell)
    flat, given, there = values.typed(cell, ("columns", "token_counts"), lambda: lists(column))
    cells = values.typed(cell, ("columns", "token_counts"), lambda: counts(flat))
    sizes, own = np.diff(offsets), np.diff(given)
    values.sieve.refuse(
        in_rows(cells.values < 1, given), "list of whole numbers from 1 expected", name, column
    )
    values.sieve.refuse(there & (sizes != own), "not as many as there are times", name)
    fits = there & (sizes == own)
    found[np.repeat(fits, sizes)] = cells.values[np.repeat(fits, own)]
    return found


def _offsets(sizes: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
