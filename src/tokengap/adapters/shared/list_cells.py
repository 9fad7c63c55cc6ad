"""Cells of a table's columns that hold lists."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.cells import characters, plain

_BLANKS_AND_BRACKETS: Final = " \t\n\r[]()"


def lists(column: pa.Array) -> tuple[pa.Array, Ints, Bools]:
    """Elements of all cells, where each row's begin, and which rows have a list.

    A list is one of Arrow's, or text: elements between commas, semicolons or blanks, in all cells
    the same, in brackets or not.
    """
    column = plain(column)
    if pa.types.is_null(column.type) or pa.types.is_string(column.type):
        column = _split(pc.ascii_trim(pc.cast(column, pa.string()), _BLANKS_AND_BRACKETS))
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise TypeError(f"it holds {column.type}, and a list is expected")
    sizes = pc.fill_null(pc.list_value_length(column), 0)
    offsets = np.concatenate(([0], np.cumsum(sizes.to_numpy(zero_copy_only=False), dtype=np.int64)))
    return column.flatten(), offsets, pc.is_valid(column).to_numpy(zero_copy_only=False)


def in_rows(where: Bools, offsets: Ints) -> Bools:
    """Which rows have a marked element; row r holds `offsets[r]:offsets[r + 1]`."""
    running = np.concatenate(([0], np.cumsum(where)))
    found: Bools = running[offsets[1:]] > running[offsets[:-1]]
    return found


def _split(column: pa.Array) -> pa.Array:
    """Texts cut into elements, at the first of these that any of them holds: , ; or blanks."""
    found = characters(column)
    mark = next((mark for mark in (",", ";") if (found == ord(mark)).any()), None)
    return split(column, mark)


def split(column: pa.Array, mark: str | None) -> pa.Array:
    """Texts cut into elements between marks, or between blanks; an empty text has none."""
    parts = pc.split_pattern(column, mark) if mark else pc.ascii_split_whitespace(column)
    empty = pc.fill_null(pc.equal(column, ""), False)
    return pc.if_else(empty, pa.scalar([], parts.type), parts) if pc.any(empty).as_py() else parts
