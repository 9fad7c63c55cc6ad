"""The rows of JSON lines: values of some keys, in bulk where all are of the kinds they begin with.

A whole number keeps all its digits; one with a fraction is a double, as it was when it was written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.formats.table.files import Piece, Rows
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.json_blocks import Chunk, chunks, rows_of
from tokengap.adapters.shared.json_columns import column
from tokengap.adapters.shared.lines import LineError, decode
from tokengap.adapters.source import Block, Line, Source
from tokengap.errors import InputError

_BOM: Final = b"\xef\xbb\xbf"
_EXACT: Final = 2.0**53
"""A double from here on may have been a whole number with other digits."""
_ARROW: Final = {
    frozenset({str}): pa.string(), frozenset({int}): pa.int64(), frozenset({bool}): pa.bool_(),
    frozenset({float}): pa.float64(), frozenset({int, float}): pa.float64(),
}  # fmt: skip


class JsonFile:
    """JSON lines.

    A name with dots reaches into objects, unless a key is called that. `names` are those of the
    lines at the file's beginning.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        *lines, rest = source.head.removeprefix(_BOM).split(b"\n")
        self._first = [_object(line) for line in lines or [rest]]
        if not any(self._first):
            raise InputError(
                f"{source.name}: expected one JSON object per line; of an array, `jq -c '.[]'` "
                "makes lines"
            )
        self._keys = {key for each in self._first for key in each}
        self.names: Sequence[str] = list(dict.fromkeys(n for o in self._first for n in _names(o)))

    def pieces(self, wanted: Sequence[str]) -> Iterator[Piece]:
        """Some lines each; lines that are no object, or repeat a wanted key, are rejected."""
        paths = {n: [n] if n in self._keys else n.split(".") for n in wanted}
        keys, schema = _Keys(paths), _schema(list(paths.values()), self._first)
        for block in map(_without_mark, self._source.blocks()):
            if schema is None:
                yield partial(self._singly, block.lines(), keys)
            else:
                yield partial(self._rows, block, keys, partial(_in_bulk, schema, paths))

    def _rows(
        self, block: Block, keys: "_Keys", parse: Callable[[bytes], pa.RecordBatch | None],
        intake: Intake,
    ) -> Iterator[Rows]:  # fmt: skip
        for chunk in chunks(block, parse):
            if chunk.rows is None:
                yield from self._singly(chunk.block.lines(), keys, intake)
            else:
                columns = dict(zip(chunk.rows.schema.names, chunk.rows.columns, strict=True))
                numbers = chunk.block.first_line + np.arange(chunk.rows.num_rows)
                yield Rows(columns, numbers, partial(_line, chunk))

    def _singly(self, lines: Iterable[Line], keys: "_Keys", intake: Intake) -> Iterator[Rows]:
        records, kept = [], []
        for line in lines:
            try:
                records.append(keys.record(line.data))
                kept.append(line)
            except LineError as error:
                intake.reject(self._source, line, error.reason, error.field)
        if kept:
            numbers = np.array([line.number for line in kept])
            yield Rows(keys.columns(records), numbers, kept.__getitem__)


class _Keys:
    """Takes the values of some keys out of lines; a name may be a path of keys."""

    def __init__(self, paths: Mapping[str, Sequence[str]]) -> None:
        self._paths = paths
        self._keys = list(dict.fromkeys(path[0] for path in paths.values()))
        self._quoted = [msgspec.json.encode(key) for key in self._keys]
        fields = [f"f{number}" for number in range(len(self._keys))]
        shape = msgspec.defstruct(
            "Line",
            [(field, Any, None) for field in fields],
            rename=dict(zip(fields, self._keys, strict=True)).get,
            gc=False,
        )
        self._decode = msgspec.json.Decoder(shape).decode
        self._take = {k: attrgetter(field) for k, field in zip(self._keys, fields, strict=True)}

    def record(self, text: bytes) -> Any:
        """One line; LineError if it is no object, or one of the keys comes twice."""
        if b"\\u" in text or any(text.count(key) > 1 for key in self._quoted):
            try:
                decode(text)
            except LineError as error:
                if error.field is None or error.field in self._keys:
                    raise
        try:
            text.decode()  # the decoder lets any bytes pass in what it skips
            return self._decode(text)
        except msgspec.ValidationError as error:
            raise LineError("not a JSON object") from error
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise LineError(f"not JSON: {error}") from error

    def columns(self, records: Sequence[Any]) -> dict[str, pa.Array]:
        """A column for each name."""
        found = {}
        for name, (key, *path) in self._paths.items():
            found[name] = _array([_at(self._take[key](record), path) for record in records])
        return found


def _array(values: list[Any]) -> pa.Array:
    """The values as they are, or as text where they differ in kind."""
    with suppress(pa.ArrowException, OverflowError):
        return pa.array(values, _kind(values))
    if any(isinstance(value, list) for value in values):
        lists = [[_text(x) for x in v] if isinstance(v, list) else None for v in values]
        return pa.array(lists, pa.list_(pa.string()))
    return pa.array([_text(value) for value in values], pa.string())


def _kind(values: Iterable[Any]) -> pa.DataType:
    """The Arrow type of JSON values; text if they are not all of one kind."""
    kinds = frozenset(map(type, values)) - {type(None)}
    if kinds == {list}:
        return pa.list_(_kind(element for value in values for element in value or ()))
    return _ARROW.get(kinds, pa.string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value) if type(value) is int else msgspec.json.encode(value).decode()


def _at(value: Any, path: Sequence[str]) -> Any:
    """What is at a path of keys; None if something on the way is no object."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _schema(paths: Iterable[Sequence[str]], objects: Sequence[Any]) -> pa.Schema | None:
    """Types of what is at the paths, by some lines; None if a path goes on where another ends."""
    leaves = {tuple(path): _kind([_at(each, path) for each in objects]) for path in paths}
    inner = (path[:size] for path in leaves for size in range(1, len(path)))
    return None if any(path in leaves for path in inner) else pa.schema(_fields(leaves))


def _fields(leaves: Mapping[tuple[str, ...], pa.DataType]) -> list[pa.Field]:
    """Fields of an object; those that hold objects themselves are structs."""
    found: dict[str, dict[tuple[str, ...], pa.DataType]] = {}
    for (key, *path), kind in leaves.items():
        found.setdefault(key, {})[tuple(path)] = kind
    return [
        pa.field(key, below[()] if () in below else pa.struct(_fields(below)))
        for key, below in found.items()
    ]


def _in_bulk(
    schema: pa.Schema, paths: Mapping[str, Sequence[str]], data: bytes
) -> pa.RecordBatch | None:
    """One row for each line; None where a value may not be what the schema says."""
    rows = rows_of(data, schema, "ignore")
    if rows is None:
        return None
    columns = [column(rows, *path) for path in paths.values()]
    if any(map(_may_be_whole, columns)):
        return None
    return pa.RecordBatch.from_arrays(columns, list(paths))


def _may_be_whole(values: pa.Array) -> bool:
    """Whether it holds doubles that may have been whole numbers with other digits."""
    if pa.types.is_list(values.type):
        return _may_be_whole(values.flatten())
    if not pa.types.is_floating(values.type):
        return False
    return bool(pc.any(pc.greater_equal(pc.abs(values), _EXACT)).as_py())


def _without_mark(block: Block) -> Block:
    """The block without the mark of the byte order, which may begin a file."""
    return block if block.offset else replace(block, data=block.data.removeprefix(_BOM))


def _line(chunk: Chunk, row: int) -> Line:
    return next(chunk.lines(np.array([row])))


def _object(line: bytes) -> dict[str, Any]:
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):
        return msgspec.json.decode(line, type=dict[str, Any])
    return {}


def _names(record: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Keys, and with dots those of objects in it."""
    for key, value in record.items():
        yield prefix + key
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{key}.")
