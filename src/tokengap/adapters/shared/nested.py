"""Nested columns of `streams` from flat ones, without an object per row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.cells import Cells
from tokengap.schema import STAGES, STREAMS


class Constants:
    """Columns of `streams` with one value in all rows, kept for the next rows: about as many."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, pa.Array]] = {}

    def column(self, name: str, value: object, rows: int) -> pa.Array:
        """The column `name` of so many rows."""
        kept, column = self._kept.get(name, (None, None))
        if column is None or kept != value or len(column) < rows:
            column = _same(name, value, rows + rows // 4)
            self._kept[name] = value, column
        return column.slice(0, rows)


def _same(name: str, value: object, rows: int) -> pa.Array:
    kind = STREAMS.field(name).type
    if value is None:
        return pa.nulls(rows, kind)
    codes = pa.array(np.zeros(rows, np.int32))  # decoding takes a tenth of repeating text
    return pa.DictionaryArray.from_arrays(codes, pa.array([value], kind)).dictionary_decode()


def prefixed(prefix: str, texts: pa.Array) -> pa.Array:
    """The texts with another one before them."""
    return pc.utf8_replace_slice(texts, 0, 0, prefix)


def suffixed(texts: pa.Array, suffix: str) -> pa.Array:
    """The texts with another one behind them."""
    return pc.binary_join_element_wise(texts, suffix, "")


def by_value(texts: pa.Array, function: Callable[[str], str | None]) -> pa.Array:
    """What `function` makes of each text, of which few differ; NULL stays NULL."""
    found = texts.dictionary_encode()
    made = pa.array(map(function, found.dictionary.to_pylist()), pa.string())
    return pa.DictionaryArray.from_arrays(found.indices, made).dictionary_decode()


def text_maps(name: str, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """The map column `name` of `streams`: an entry for each column that is not NULL in a row."""
    kind = STREAMS.field(name).type
    valid = [pc.is_valid(c).to_numpy(zero_copy_only=False) for c in columns.values()]
    order, offsets = _by_row(valid, rows)
    keys = named(list(columns), pa.array(order // max(rows, 1)))
    return pa.MapArray.from_arrays(offsets, keys, _taken(list(columns.values()), order), kind)


@dataclass(frozen=True, slots=True)
class Reported:
    """A number of the tool's own, for many rows; `formula` says who computes it how."""

    metric: str
    formula: str
    cells: Cells

    @classmethod
    def of(cls, metric: str, formula: str, column: pa.Array) -> "Reported":
        """The number in rows where the column is not NULL."""
        there = pc.is_valid(column).to_numpy(zero_copy_only=False)
        values = pc.fill_null(column, 0).to_numpy()
        return cls(metric, formula, Cells(values, there, np.zeros_like(there)))


def reported_lists(
    found: Sequence[Reported], rows: int, *, empty: bool = False, none: Bools | None = None
) -> pa.Array:
    """The column `reported` of `streams`; NULL, or `empty`, in rows that have none of them.

    none: rows where it is NULL whatever there is.
    """
    kind = STREAMS.field("reported").type
    order, offsets = _by_row([each.cells.there for each in found], rows, none)
    which = pa.array(order // max(rows, 1))
    values = np.concatenate([np.zeros(0, np.int64), *(each.cells.values for each in found)])
    entries = [
        named([each.metric for each in found], which),
        pa.array(values[order]),
        named([each.formula for each in found], which),
    ]
    structs = pa.StructArray.from_arrays(entries, fields=list(kind.value_type))
    none = none if empty else np.diff(offsets.to_numpy()) == 0
    return pa.ListArray.from_arrays(offsets, structs, kind, mask=_mask(none))


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage in many rows, in ns: its ends on `clock`, or only how long it lasted.

    A row has it where its length is known. worker: who went through it, None if unknown.
    """

    name: str
    start_ns: pa.Array | None = None
    end_ns: pa.Array | None = None
    lasted_ns: pa.Array | None = None
    clock: pa.Array | str | None = None
    worker: pa.Array | str | None = None


def stage_lists(found: Sequence[Stage], rows: int, none: Bools | None = None) -> pa.Array:
    """The column `stages` of `streams`; empty in rows that have none of them, NULL in `none`."""
    if strange := [each.name for each in found if each.name not in STAGES]:
        raise ValueError(f"no stage is called {strange[0]}")
    kind = STREAMS.field("stages").type
    unknown = pa.nulls(rows, pa.int64())
    starts = [unknown if each.start_ns is None else each.start_ns for each in found]
    ends = [unknown if each.end_ns is None else each.end_ns for each in found]
    lasted = [
        pc.subtract(end, start) if each.lasted_ns is None else each.lasted_ns
        for each, start, end in zip(found, starts, ends, strict=True)
    ]
    valid = [pc.is_valid(column).to_numpy(zero_copy_only=False) for column in lasted]
    order, offsets = _by_row(valid, rows, none)
    at, which = pa.array(order), order // max(rows, 1)
    start, end, duration = (pa.concat_arrays(parts).take(at) for parts in (starts, ends, lasted))
    unplaced = pc.is_null(start).to_numpy(zero_copy_only=False)
    entries = [
        named([each.name for each in found], pa.array(which)),
        start,
        end,
        duration,
        _texts([each.worker for each in found], rows, order),
        _texts([each.clock for each in found], rows, order, unplaced),
    ]
    structs = pa.StructArray.from_arrays(entries, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(offsets, structs, kind, mask=_mask(none))


def mark_lists(marks: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """The column `marks` of `streams`: a mark for each time that is not NULL in a row."""
    kind = STREAMS.field("marks").type
    valid = [pc.is_valid(c).to_numpy(zero_copy_only=False) for c in marks.values()]
    order, offsets = _by_row(valid, rows)
    times = pa.concat_arrays([pa.array([], pa.int64()), *marks.values()]).take(pa.array(order))
    names = named(list(marks), pa.array(order // max(rows, 1)))
    structs = pa.StructArray.from_arrays([names, times], fields=list(kind.value_type))
    return pa.ListArray.from_arrays(offsets, structs, kind)


def entry_lists(name: str, sizes: Ints, entries: Sequence[pa.Array]) -> pa.Array:
    """A column of lists from the fields of all entries; each row has so many of them."""
    kind = STREAMS.field(name).type
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    structs = pa.StructArray.from_arrays(entries, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs, kind)


def note_lists(notes: Mapping[str, Bools], rows: int) -> pa.Array:
    """The column `quality` of `streams`, from the rows that each note is true of."""
    kind = STREAMS.field("quality").type
    names = sorted(name for name, where in notes.items() if where.any())
    order, offsets = _by_row([notes[name] for name in names], rows)
    entries = named(names, pa.array(order // max(rows, 1)))
    return pa.ListArray.from_arrays(offsets, entries, kind)


def _texts(
    found: Sequence[pa.Array | str | None], rows: int, order: Ints, none: Bools | None = None
) -> pa.Array:
    """The texts at these places of columns laid end to end; NULL where there is none."""
    if any(isinstance(texts, pa.Array) for texts in found):
        columns = [
            t if isinstance(t, pa.Array) else pa.array([t] * rows, pa.string()) for t in found
        ]
        return pa.concat_arrays(columns).take(pa.array(order, mask=none))
    return named(found, pa.array(order // max(rows, 1), mask=none))


def _taken(columns: Sequence[pa.Array], order: Ints) -> pa.Array:
    """The text of columns laid end to end, in this order, which is that of the only one's rows."""
    if len(columns) == 1:
        return columns[0].drop_null()
    return pa.concat_arrays([pa.array([], pa.string()), *columns]).take(pa.array(order))


def named(names: Sequence[str | None], which: pa.Array) -> pa.Array:
    """The names at these places; NULL where there is no place."""
    return pa.DictionaryArray.from_arrays(which, pa.array(names, pa.string())).dictionary_decode()


def _by_row(valid: Sequence[Bools], rows: int, none: Bools | None = None) -> tuple[Ints, pa.Array]:
    """Positions of the marked cells of columns laid end to end, row by row, and rows' offsets.

    none: rows of which no cell counts.
    """
    if none is not None:
        valid = [where & ~none for where in valid]
    if len(valid) == 1:
        order, sizes = np.flatnonzero(valid[0]), valid[0]
    else:
        marked = np.array(valid, bool).reshape(len(valid), rows)
        row, column = np.nonzero(marked.T)
        order, sizes = column * rows + row, marked.sum(axis=0)
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return order, pa.array(offsets)


def _mask(none: Bools | None) -> pa.Array | None:
    return None if none is None else pa.array(none)
