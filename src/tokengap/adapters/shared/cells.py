"""Cells of a table's columns as exact integers: times in ns, and counts.

Text is read digit by digit, so that 1700047063.979960012 s keeps its last nanosecond; a number
that is a double already is rounded to ns once. A whole number stays one however many digits it has.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.lines import COUNT_LIMIT
from tokengap.schema import TIME_LIMIT_NS

PLACES: Final = {"s": 9, "ms": 6, "us": 3, "ns": 0}
"""Units of numbers, and how many decimal places of each one nanosecond takes."""
ISO: Final = "iso"
"""Unit of a date and time, as text or as a column that holds such."""

_EXACT_BELOW: Final = 2.0**50
"""Of the size of fewer nanoseconds, a double of any unit tells two of them apart."""
_DECIMAL_PLACES: Final = 18
_FRACTIONS: Final = pa.decimal128(38, _DECIMAL_PLACES)
_ZONE: Final = r"(?:Z|[+-]\d\d(?::?\d\d)?)$"


@dataclass(frozen=True, slots=True)
class Cells:
    """Integers of one column. Of each cell: is it there, can it be read; `values` is 0 if not."""

    values: Ints
    there: Bools
    bad: Bools

    def without(self, where: Bools) -> "Cells":
        """The same with the marked cells missing."""
        there = self.there & ~where
        return Cells(np.where(there, self.values, 0), there, self.bad & ~where)


def times(column: pa.Array, unit: str, *, utc: bool = False) -> Cells:
    """Times or durations in ns; a cell beyond `TIME_LIMIT_NS` is bad, NaN is missing.

    unit: a key of `PLACES`, or `ISO`. utc: whether a date and time without a zone is in UTC; it is
    bad if not. TypeError, saying what the column holds, if it cannot have that unit at all.
    """
    column = plain(column)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _typed_times(column, unit, utc=utc)
    if unit == ISO:
        if not pa.types.is_string(kind) and not pa.types.is_null(kind):
            raise TypeError(f"it holds {kind}, and iso is for dates and times")
        return _iso(pc.cast(column, pa.string()), utc=utc)
    return _limited(_scaled(column, PLACES[unit]), TIME_LIMIT_NS, -TIME_LIMIT_NS)


def counts(column: pa.Array, limit: int = COUNT_LIMIT) -> Cells:
    """Whole numbers from 0 to `limit`, written 12 or 12.0; NaN is missing."""
    column = plain(column)
    cells = _scaled(column, 0)
    if not (pa.types.is_integer(column.type) or _is_whole(column)):
        broken = cells.there & _numpy(_is_broken(column, cells.values))
        cells = Cells(np.where(broken, 0, cells.values), cells.there & ~broken, cells.bad | broken)
    return _limited(cells, limit, 0)


def texts(column: pa.Array) -> pa.Array:
    """Each cell as text; NULL where it is missing or empty. TypeError if it holds no such."""
    column = plain(column)
    if pa.types.is_nested(column.type):
        raise TypeError(f"it holds {column.type}, and text is expected")
    text = pc.cast(column, pa.string())
    empty = pc.equal(text, "")
    return pc.if_else(empty, pa.scalar(None, pa.string()), text) if pc.any(empty).as_py() else text


def plain(column: pa.Array) -> pa.Array:
    """The column without dictionary or large offsets."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if pa.types.is_large_string(kind) or kind == pa.string_view():
        return pc.cast(column, pa.string())
    return column


def cast(column: pa.Array, kind: pa.DataType, **options: Any) -> tuple[pa.Array, Bools]:
    """The column as another type, NULL where a cell is not of it, and where that is."""
    try:
        return pc.cast(column, kind, **options), np.zeros(len(column), bool)
    except pa.ArrowInvalid:
        if len(column) == 1:
            return pa.nulls(1, kind), np.ones(1, bool)
    half = len(column) // 2
    parts = [cast(part, kind, **options) for part in (column.slice(0, half), column.slice(half))]
    return (
        pa.concat_arrays([values for values, _ in parts]),
        np.concatenate([bad for _, bad in parts]),
    )


def shown(column: pa.Array, row: int) -> str | None:
    """A cell for a message; None where it has a space, and so may be a user's text, or is NULL."""
    value = column[row].as_py()
    return None if value is None or any(map(str.isspace, str(value))) else str(value)


def characters(column: pa.Array) -> npt.NDArray[np.uint8]:
    """All text of a column at once, with that of rows around it."""
    return np.frombuffer(column.buffers()[2] or b"", np.uint8)


def _is_whole(column: pa.Array) -> bool:
    """Whether it is text with nothing in it that an integer has not: to try is slow if it fails."""
    if not pa.types.is_string(column.type):
        return False
    found = characters(column)
    return not ((found == ord(".")) | (found > ord("9"))).any()


def _scaled(column: pa.Array, places: int) -> Cells:
    """Numbers times 10^places, rounded to whole ones once."""
    kind = column.type
    if pa.types.is_string(kind):
        return _from_text(column, places)
    if pa.types.is_integer(kind):
        whole, bad = cast(column, pa.int64())
        return _times_ten_to(whole, bad, places)
    if pa.types.is_floating(kind):
        return _from_floats(pc.cast(column, pa.float64()), places)
    if pa.types.is_decimal(kind):
        return _from_decimals(*cast(column, _FRACTIONS, safe=False), places)
    if pa.types.is_null(kind):
        none = np.zeros(len(column), bool)
        return Cells(np.zeros(len(column), np.int64), none, none)
    raise TypeError(f"it holds {kind}, and numbers are expected")


def _from_text(column: pa.Array, places: int) -> Cells:
    if (characters(column) <= ord(" ")).any():  # each cell that fails for it costs a message
        column = pc.ascii_trim_whitespace(column)
    if _is_whole(column):
        return _times_ten_to(*cast(column, pa.int64()), places)
    floats, bad = cast(column, pa.float64())
    cells = _from_floats(floats, places)
    cells = Cells(cells.values, cells.there, cells.bad | bad)
    long = np.flatnonzero(cells.there & (np.abs(cells.values) >= _EXACT_BELOW))
    if len(long):
        exact = _from_digits(column.take(pa.array(long)), places)
        cells.values[long], cells.there[long] = exact.values, exact.there
        cells.bad[long] |= exact.bad
    return cells


def _from_digits(column: pa.Array, places: int) -> Cells:
    """Decimal text, most often without digits that have to be rounded away."""
    try:
        exact = pc.cast(column, pa.decimal128(38, places))
    except pa.ArrowInvalid:
        return _from_decimals(*cast(column, _FRACTIONS, safe=False), places)
    return _from_words(exact, np.zeros(len(column), bool))


def _times_ten_to(whole: pa.Array, bad: Bools, places: int) -> Cells:
    there = _there(whole)
    values = _numpy(pc.fill_null(whole, 0) if whole.null_count else whole)
    most = TIME_LIMIT_NS // 10**places
    if _within(values, most, -most):
        return Cells(values * 10**places, there, bad)
    large = (values > most) | (values < -most)
    values = np.where(large, 0, values) * 10**places
    return Cells(values, there & ~large, bad | large)


def _from_floats(column: pa.Array, places: int) -> Cells:
    values = _numpy(pc.fill_null(column, np.nan) if column.null_count else column)
    most = TIME_LIMIT_NS / 10**places
    there, large = np.ones(len(values), bool), np.zeros(len(values), bool)
    if not _within(values, most, -most):  # as where one is NaN
        there = ~np.isnan(values)
        large = there & ~(np.abs(values) <= most)
        there &= ~large
        values = np.where(there, values, 0.0)
    # Multiplied as it is, a double that is full of digits would be rounded twice.
    whole = np.trunc(values)
    part = np.rint((values - whole) * 10.0**places)
    return Cells(whole.astype(np.int64) * 10**places + part.astype(np.int64), there, large)


def _from_decimals(column: pa.Array, bad: Bools, places: int) -> Cells:
    rounded = pc.round(column, places, "half_to_even")
    return _from_words(pc.cast(rounded, pa.decimal128(38, places), safe=False), bad)


def _from_words(column: pa.Array, bad: Bools) -> Cells:
    """Decimals without their point; each of them is held as two words."""
    there = _numpy(pc.is_valid(column))
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset :]
    low, high = words[: 2 * len(column) : 2], words[1 : 2 * len(column) : 2]
    large = there & (high != np.where(low < 0, -1, 0))
    return Cells(np.where(there & ~large, low, 0), there & ~large, bad | large)


def _is_broken(column: pa.Array, whole: Ints) -> pa.Array:
    """Where a number is not the whole one it was rounded to."""
    values, _ = cast(column, pa.float64())
    return pc.fill_null(pc.not_equal(values, pc.cast(pa.array(whole), pa.float64())), False)


def _there(column: pa.Array) -> Bools:
    """Which cells are not NULL."""
    return _numpy(pc.is_valid(column)) if column.null_count else np.ones(len(column), bool)


def _within(values: npt.NDArray[Any], most: float, least: float) -> bool:
    return not len(values) or bool(values.max() <= most and values.min() >= least)


def _limited(cells: Cells, most: int, least: int) -> Cells:
    if _within(cells.values, most, least):
        return cells
    beyond = cells.there & ((cells.values > most) | (cells.values < least))
    return Cells(np.where(beyond, 0, cells.values), cells.there & ~beyond, cells.bad | beyond)


def _iso(column: pa.Array, *, utc: bool) -> Cells:
    """Dates and times as text, most often all with a zone or all without."""
    zoned = pa.timestamp("ns", "UTC")
    for kind in (pa.timestamp("ns"), zoned) if utc else (zoned,):
        try:
            return _stamped(pc.cast(column, kind), np.zeros(len(column), bool))
        except pa.ArrowInvalid:
            continue
    column = pc.utf8_trim_whitespace(column)
    has_zone = pc.fill_null(pc.match_substring_regex(column, _ZONE), fill_value=True)
    named, bad = cast(pc.if_else(has_zone, column, None), zoned)
    if not utc:
        return _stamped(named, bad | ~_numpy(has_zone))
    bare, bare_bad = cast(pc.if_else(has_zone, None, column), pa.timestamp("ns"))
    both = pc.coalesce(pc.cast(named, pa.int64()), pc.cast(bare, pa.int64()))
    return _stamped(both, bad | bare_bad)


def _typed_times(column: pa.Array, unit: str, *, utc: bool) -> Cells:
    kind = column.type
    if pa.types.is_duration(kind):
        if unit != kind.unit:
            raise TypeError(f'it holds durations in {kind.unit}: unit = "{kind.unit}"')
        return _times_ten_to(
            pc.cast(column, pa.int64()), np.zeros(len(column), bool), PLACES[kind.unit]
        )
    if unit != ISO:
        raise TypeError(f'it holds dates and times: unit = "{ISO}"')
    if kind.tz is None and not utc:
        raise TypeError('it holds dates and times without a zone; if they are UTC: zone = "UTC"')
    ticks = pc.cast(column, pa.timestamp(kind.unit)) if kind.tz is None else column
    return _times_ten_to(pc.cast(ticks, pa.int64()), np.zeros(len(column), bool), PLACES[kind.unit])


def _stamped(column: pa.Array, bad: Bools) -> Cells:
    there = _numpy(pc.is_valid(column))
    values = _numpy(pc.fill_null(pc.cast(column, pa.int64()), 0))
    return _limited(Cells(values, there, bad), TIME_LIMIT_NS, -TIME_LIMIT_NS)


def _numpy(array: pa.Array) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values
