"""Fields of msgspec structs as Arrow arrays, by their types: NULL where a struct lacks one.

A field may hold text, a number, a truth value, or another struct. A field of any other type is kept
as it was decoded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
from msgspec import inspect
from msgspec.structs import astuple

from tokengap.adapters.shared.lines import COUNT_LIMIT

_SCALARS: Final = {
    inspect.StrType: pa.string(),
    inspect.FloatType: pa.float64(),
    inspect.BoolType: pa.bool_(),
}


@dataclass(frozen=True)
class Fields:
    """Fields of structs. there: which of the structs are there at all."""

    there: pa.Array
    arrays: Mapping[str, pa.Array]
    parts: Mapping[str, "Fields"]
    others: Mapping[str, Sequence[Any]]


def joined(found: Sequence[Fields]) -> Fields:
    """Fields of structs of one type, one after another."""
    first = found[0]
    return Fields(
        pa.concat_arrays([each.there for each in found]),
        {name: pa.concat_arrays([each.arrays[name] for each in found]) for name in first.arrays},
        {name: joined([each.parts[name] for each in found]) for name in first.parts},
        {
            name: list(chain.from_iterable(each.others[name] for each in found))
            for name in first.others
        },
    )


class Layout:
    """What the fields of a msgspec struct hold."""

    def __init__(self, shape: inspect.Type) -> None:
        fields = shape.fields if isinstance(shape, inspect.StructType) else ()
        kinds = {field.name: _kind(field.type) for field in fields}
        self._names = tuple(kinds)
        self._arrays = {n: kind for n, kind in kinds.items() if isinstance(kind, pa.DataType)}
        self._parts = {n: kind for n, kind in kinds.items() if isinstance(kind, Layout)}
        self._others = [n for n, kind in kinds.items() if kind is None]

    def fields(self, structs: Sequence[Any]) -> Fields:
        """Return the fields of some structs, each of this type, or of a kind of it, or None."""
        absent = structs.count(None)
        if absent == len(structs):
            return self.missing(absent)
        if not absent:
            return self._of_rows(list(map(astuple, structs)), pa.array(np.ones(len(structs), bool)))
        there = [struct is not None for struct in structs]
        none = (None,) * len(self._names)
        rows = [astuple(struct) if at else none for struct, at in zip(structs, there, strict=True)]
        return self._of_rows(rows, pa.array(there))

    def missing(self, rows: int) -> Fields:
        """Return the fields where there is no such struct."""
        return Fields(
            pa.array(np.zeros(rows, bool)),
            {name: pa.nulls(rows, kind) for name, kind in self._arrays.items()},
            {name: layout.missing(rows) for name, layout in self._parts.items()},
            dict.fromkeys(self._others, (None,) * rows),
        )

    def _of_rows(self, rows: Sequence[tuple[Any, ...]], there: pa.Array) -> Fields:
        found = dict(zip(self._names, zip(*rows, strict=False), strict=False))
        return Fields(
            there,
            {name: _array(found[name], kind) for name, kind in self._arrays.items()},
            {name: layout.fields(found[name]) for name, layout in self._parts.items()},
            {name: found[name] for name in self._others},
        )


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_integer(kind):
        try:
            return pa.array(np.fromiter(values, str(kind), len(values)))
        except TypeError:  # of None; without it, this takes half the time
            pass
    return pa.array(values, kind)


def _kind(kind: inspect.Type) -> pa.DataType | Layout | None:
    """Type of an array for the values, or layout for structs; None for anything else."""
    if isinstance(kind, inspect.UnionType):
        kinds = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        return _kind(kinds[0]) if len(kinds) == 1 else None
    if isinstance(kind, inspect.IntType):
        if kind.ge is None or kind.le is None:
            return None
        return pa.int32() if kind.le <= COUNT_LIMIT else pa.int64()
    if isinstance(kind, inspect.StructType):
        return Layout(kind)
    return _SCALARS.get(type(kind))
