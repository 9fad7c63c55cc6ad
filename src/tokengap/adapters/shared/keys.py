"""Whether a JSON record has a key twice in one object, told from its bytes and without reading it.

Most records of a log are alike but for their numbers and ids. Where the rest of two records is the
same, so are the quotes, braces and colons in it, and their keys pair off, object by object. If the
keys of each object differ even without the characters that were left out, they differ in every
record that leaves the same rest. That is looked at once and remembered. Of keys that do not differ
without them, such as "queued" and "dequeued", a record has to be asked whether it has each.

Where a text has an escape, none of this holds: it may lose a letter with the ids, and then hide
where the text ends.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import inspect

_NUMBERS_AND_IDS: Final = b"0123456789abcdefABCDEF+-., \t\r\n"
_IN_A_LINE: Final = _NUMBERS_AND_IDS.replace(b"\n", b"")
_ESCAPED: Final = re.compile(rb"\\.[^\"\\]*+(?:\\.[^\"\\]*+)*+", re.DOTALL)
_IS_KEY: Final = re.compile(rb'"\s*:')
_TOKEN: Final = re.compile(rb'"([^"]*+)"\s*(:?)|[{}]')

_REMEMBERED: Final = 1024
_NEW: Final = 64
_PAUSE: Final = 4096
"""Records that are not looked at, after `_NEW` in a row that left something new: they hold text."""


def rests(text: bytes) -> list[bytes]:
    """What is left of each line, of which `Shapes` says the same; nothing of a blank one."""
    return _without_escapes(text).translate(None, _IN_A_LINE).split(b"\n")


def _without_escapes(text: bytes) -> bytes:
    """Leave out texts that have one, but for keys.

    The first backslash of a text begins an escape, and the last quote before it the text.
    """
    if b"\\" not in text:
        return text
    pieces, at = [], 0
    for escaped in _ESCAPED.finditer(text):
        begin, end = escaped.span()
        if not _IS_KEY.match(text, end):
            pieces.append(text[at : text.rfind(b'"', at, begin) + 1])
            at = end
    return b"".join((*pieces, text[at:]))


class Shapes:
    """What is left of records whose keys differ, as far as they were met."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._new = 0
        self._pause = 0

    def repeat_no_key(self, data: bytes) -> bool:
        """Tell that no object in `data` has a key twice; False where that is not sure.

        `data` has to be JSON, or a line of it: then True also says that no object goes beyond it.
        What is said of anything else means nothing.
        """
        if self._pause:
            self._pause -= 1
            return False
        if b"\\" in data:
            return False
        rest = data.translate(None, _NUMBERS_AND_IDS)
        if rest in self._known:
            self._new = 0
            return True
        self._new += 1
        if self._new == _NEW:
            self._new, self._pause = 0, _PAUSE
        differ = _keys_differ(rest)
        if differ and len(self._known) < _REMEMBERED:
            self._known.add(rest)
        return differ


def _keys_differ(rest: bytes) -> bool:
    objects: list[set[bytes]] = []
    for token in _TOKEN.finditer(rest):
        if token[2]:
            if not objects or token[1] in objects[-1]:
                return False
            objects[-1].add(token[1])
        elif token[0] == b"{":
            objects.append(set())
        elif token[0] == b"}":
            if not objects:
                return False
            objects.pop()
    return not objects


def keys_to_find(line: bytes) -> tuple[bytes, ...] | None:
    """Return those keys of a record, as written, that differ only in what a rest leaves out.

    Each is in it once. Where a record that leaves the same rest has all of them too, it has each of
    them once, for it has as many keys: so it has no key twice. None if that cannot be said.
    """
    text = _without_escapes(line)
    if b"\\" in text:
        return None
    keys: list[tuple[bytes, bytes]] = []
    objects: list[set[bytes]] = []
    alike: set[bytes] = set()
    for token in _TOKEN.finditer(text):
        if token[2]:
            rest = token[1].translate(None, _NUMBERS_AND_IDS)
            keys.append((token[1], rest))
            if rest in objects[-1]:
                alike.add(rest)
            objects[-1].add(rest)
        elif token[0] == b"{":
            objects.append(set())
        elif token[0] == b"}":
            objects.pop()
    found = [key for key, rest in keys if rest in alike]
    return tuple(b'"%b":' % key for key in found) if len(set(found)) == len(found) else None


class _Object(dict[str, Any]):
    """A JSON object, with the keys that it has twice, in their order."""

    twice: Sequence[str] = ()


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    found = _Object(pairs)
    if len(found) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        found.twice = [key for key, count in counts.items() if count > 1]
    return found


def key_read_twice(data: bytes, kind: inspect.Type) -> str | None:
    """Return a key that an object in `data` has twice and that the msgspec type `kind` reads.

    Of several in one object, it is the one that comes first. What is kept as `msgspec.Raw` is not
    read yet.
    """
    return next(_read_twice(json.loads(data, object_pairs_hook=_object), kind), None)


def _read_twice(value: object, kind: inspect.Type) -> Iterator[str]:
    match kind:
        case inspect.AnyType():
            yield from _twice_anywhere(value)
        case inspect.StructType() if isinstance(value, _Object):
            read = {field.encode_name for field in kind.fields}
            yield from (key for key in value.twice if key in read)
        case inspect.DictType() if isinstance(value, _Object):
            yield from value.twice
    for part, of_kind in _parts(value, kind):
        yield from _read_twice(part, of_kind)


def _parts(value: object, kind: inspect.Type) -> Iterator[tuple[object, inspect.Type]]:
    match kind:
        case inspect.UnionType():
            yield from ((value, each) for each in kind.types)
        case inspect.StructType() if isinstance(value, _Object):
            yield from ((value.get(field.encode_name), field.type) for field in kind.fields)
        case inspect.DictType() if isinstance(value, _Object):
            yield from ((item, kind.value_type) for item in value.values())
        case inspect.ListType() if isinstance(value, list):
            yield from ((item, kind.item_type) for item in value)


def _twice_anywhere(value: object) -> Iterator[str]:
    if isinstance(value, _Object):
        yield from value.twice
        for item in value.values():
            yield from _twice_anywhere(item)
    elif isinstance(value, list):
        for item in value:
            yield from _twice_anywhere(item)
