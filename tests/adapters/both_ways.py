"""A log read in bulk, as far as that goes, and the same log read line by line."""

import copy
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.adapters.reading import Reading, Row, read_lines
from tokengap.adapters.interface import Adapter, Reject
from tokengap.adapters.shared import json_blocks

WRITTEN: Final = (
    "null", "true", "-1", "1", "1.0", "1.5", "1e3", "-0", "01", "1e999", "NaN", "Infinity",
    "9223372036854775807", "9223372036854775808", "4611686018427387904", '"x"', '""', '"\\ud800"',
    '"\\u0000"', "[]", "[null]", "[1]", '["x"]', "{}", '{"a":1}', "tru",
)  # fmt: skip
"""What may stand where something else is expected, or where it is not JSON at all."""

_HERE: Final = "@here@"

Record = dict[str, Any]
Path_ = tuple[str | int, ...]


def spoilt(record: Record) -> Iterator[str]:
    """The record with each of its values replaced, left out, and written twice."""
    for path in _paths(record):
        marked, parent = copy.deepcopy(record), record
        for step in path[:-1]:
            parent = parent[step]  # type: ignore[index]
        _put(marked, path, _HERE)
        text, here = json.dumps(marked), json.dumps(_HERE)
        yield from (text.replace(here, written) for written in WRITTEN)
        if isinstance(path[-1], str):
            value = json.dumps(parent[path[-1]])
            yield text.replace(here, f'{value}, "{path[-1]}": {value}')
            yield text.replace(here, f'{value}, "unknown": 1, "unknown": [2]')
            yield text.replace(f'"{path[-1]}": {here}', f'"other": {value}')


def _paths(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    steps: Iterable[Any] = ()
    if isinstance(value, dict):
        steps = value
    elif isinstance(value, list):
        steps = range(len(value))
    for step in steps:
        yield (*path, step)
        yield from _paths(value[step], (*path, step))


def _put(value: Any, path: Path_, item: object) -> None:
    *outer, last = path
    for step in outer:
        value = value[step]
    value[last] = item


def both_ways(adapter: Adapter, reader: str, folder: Path, lines: list[object]) -> Reading:
    """The log read in bulk, which has to give what it gives line by line.

    reader: where the adapter has `rows_of` from.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_blocks, "LEAF_BYTES", 1)
        in_bulk = read_lines(adapter, folder, lines)
        patch.setattr(f"{reader}.rows_of", lambda *_: None)
        singly = read_lines(adapter, folder, lines)
    assert _by_source(in_bulk) == _by_source(singly)
    assert _by_line(in_bulk) == _by_line(singly)
    return in_bulk


def _by_source(reading: Reading) -> list[Row]:
    return sorted(reading.rows, key=lambda row: (row["source"], row["choice"]))


def _by_line(reading: Reading) -> list[Reject]:
    return sorted(reading.intake.rejects, key=lambda reject: reject.line)
