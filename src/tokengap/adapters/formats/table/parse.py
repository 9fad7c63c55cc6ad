"""From the text of a map to a checked one, or to an error that says where and what to write."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args, get_type_hints

import msgspec

from tokengap.adapters.formats.table.check import MapError, check, meant
from tokengap.adapters.formats.table.mapping import Duration, Map, Text
from tokengap.errors import UsageError

Path = tuple[str, ...]

_ADVICE: Final = {
    "rows": 'write rows = "request" or rows = "token": what one row of the table is',
    "vantage": 'write vantage = "client", "gateway" or "engine": where the times were stamped',
    "columns": 'write a table [columns] with lines such as request_id = "id"',
    "unit": 'write unit = "s", "ms", "us", "ns", or "iso" for a date and time',
    "kind": 'write kind = "wall" or kind = "monotonic"',
    "zone": 'write zone = "UTC", or leave it out where the column has a zone',
}
_FREE: Final = {"ids": Text, "labels": Text, "reported": Duration}
"""Parts of a map whose names are the user's, and what each of them holds."""
_AT: Final = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_MISSING: Final = re.compile(r"missing required field `(.*)`")
_UNKNOWN: Final = re.compile(r"unknown field `(.*)`")
_NAME: Final = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY: Final = re.compile(rf"\s*(\[)?\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*(?:=|\])")


@dataclass(frozen=True)
class Plan:
    """A checked map and its text."""

    map: Map
    text: str

    def place(self, *path: str) -> str:
        """Where the map says something, for a message."""
        return _place(self.text, path)


def read_map(text: str) -> Plan:
    """The map in a file's text; UsageError with line, key and what to write if it is none."""
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--map: not TOML: {error}; names of columns stand in quotes") from error
    try:
        mapping = _shaped(_spelt_out(document))
        check(mapping)
    except MapError as error:
        raise UsageError(f"{_place(text, error.path)}: {error}") from error
    return Plan(mapping, text)


def _spelt_out(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with every `x = "name"` written as `x = { column = "name" }`."""
    found = dict(document)
    for part in ("columns", *_FREE):
        if isinstance(cells := found.get(part), dict):
            found[part] = {
                name: {"column": cell} if isinstance(cell, str) else cell
                for name, cell in cells.items()
            }
    return found


def _shaped(document: Mapping[str, Any]) -> Map:
    """The document as a map; MapError if it has another shape."""
    place: Path = ()
    try:
        for part, kind in _FREE.items():
            if isinstance(cells := document.get(part), dict):
                for name, cell in cells.items():  # of which the whole would not tell the name
                    place = (part, name)
                    msgspec.convert(cell, kind)
        place = ()
        return msgspec.convert(document, Map)
    except msgspec.ValidationError as error:
        raise _explained(error, place) from error


def _explained(error: msgspec.ValidationError, place: Path) -> MapError:
    """Where the map is wrong, and what to write."""
    found = _AT.fullmatch(str(error))
    message, where = found.groups() if found else (str(error), "")
    path = (*place, *(where or "").split(".")) if where else place
    if missing := _MISSING.search(message):
        name = missing[1]
        return MapError(f"{name} is missing; {_ADVICE[name]}", *(path or (name,)))
    if unknown := _UNKNOWN.search(message):
        name = unknown[1]
        return MapError(f"no such key; {meant(name, _keys_at(path))}", *path, name)
    advice = _ADVICE.get(path[-1]) if path else None
    text = message[:1].lower() + message[1:] + (f"; {advice}" if advice else "")
    return MapError(text, *path)


def _keys_at(path: Path) -> tuple[str, ...]:
    """What may be written in that part of a map."""
    kind: Any = Map
    for name in path:
        hints = get_type_hints(kind)
        kind = _FREE.get(path[0]) or (get_args(hints[name]) or (hints[name],))[0]
    fields: tuple[str, ...] = kind.__struct_fields__
    return fields


def _place(text: str, path: Path) -> str:
    return f"--map, line {_line_of(text, path)}: {'.'.join(path)}"


def _line_of(text: str, path: Path) -> int:
    """The line that says most of the path."""
    best, line = 0, 1
    for number, found in _written(text):
        if found == path[: len(found)] and len(found) > best:
            best, line = len(found), number
    return line


def _written(text: str) -> Iterator[tuple[int, Path]]:
    """Lines with a key or the name of a table, and the path each is about."""
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if found := _KEY.match(line):
            names = tuple(name.strip("\"'") for name in re.findall(_NAME, found[2]))
            if found[1]:
                table = names
            yield number, names if found[1] else table + names
