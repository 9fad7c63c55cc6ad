"""Files of JSON records: one a line, or in arrays that an endpoint returned and a user appended."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Final

import msgspec
import numpy as np

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.shared.places import number_of
from tokengap.adapters.source import Block, Line, Source
from tokengap.errors import InputError

PIECE_BYTES: Final = 1 << 19
"""Of a larger piece, what was decoded is no longer in the cache when it is looked at."""

Item = tuple[Line | int, bytes]
"""A record and its place: its line, or its index."""

_SEAM: Final = re.compile(rb"(?<=[\]}])(?=\s*[\[{])")
"""Where one document ends and the next begins; in JSON itself, a comma would stand between."""


def read_records(source: Source, expected: str) -> Iterator[Item]:
    """Yield every record with its place: its line, or its index where lines do not cut the file.

    A file whose first line is one object is read line by line. Any other is a row of documents,
    each an object or an array of records; it is held in memory, and InputError if it is no JSON.
    Records are not looked into. `expected` says which file of which tool it should be.
    """
    if holds_lines(source):
        yield from ((line, line.data) for line in source.lines())
    else:
        yield from enumerate(_of_documents(source, expected))


@dataclass(frozen=True)
class Piece:
    """Records that follow each other in a file.

    text: each on a line of its own; there may be blank lines. numbers: of lines with these
    positions, the number of each in the file, or the index of its record. items: the records,
    looked up when needed.
    """

    text: bytes
    numbers: Callable[[Ints], Ints]
    items: Callable[[], Iterable[Item]]


def read_pieces(source: Source, expected: str) -> Iterator[Piece]:
    """Do as `read_records`, many records at once."""
    if holds_lines(source):
        yield from pieces_of_lines(source)
    else:
        yield from pieces_of(enumerate(_of_documents(source, expected)))


def pieces_of_lines(source: Source) -> Iterator[Piece]:
    """Every line, many at once."""
    for block in source.blocks(PIECE_BYTES):
        yield Piece(block.data, partial(add, block.first_line), partial(_items_of, block))


def _items_of(block: Block) -> Iterator[Item]:
    return ((line, line.data) for line in block.lines())


def pieces_of(items: Iterable[Item]) -> Iterator[Piece]:
    """Records of valid JSON, many at once."""
    held: list[Item] = []
    size = 0
    for item in items:
        held.append(item)
        size += len(item[1])
        if size >= PIECE_BYTES:
            yield _piece(held)
            held, size = [], 0
    if held:
        yield _piece(held)


def _piece(items: Sequence[Item]) -> Piece:
    text = b"\n".join([data for _, data in items])
    if text.count(b"\n") >= len(items):  # in valid JSON, one within a record is a mere blank
        text = b"\n".join([data.replace(b"\n", b" ") for _, data in items])
    numbers = np.array([number_of(place) for place, _ in items], np.int64)
    return Piece(text, numbers.__getitem__, lambda: items)


def holds_lines(source: Source) -> bool:
    """Whether the first line is one object."""
    blocks = source.blocks(PIECE_BYTES)
    first = next((line.data for block in blocks for line in block.lines()), b"{}").strip()
    return first.startswith(b"{") and first.endswith(b"}")


def _of_documents(source: Source, expected: str) -> Iterator[bytes]:
    try:
        for document in _documents(source.read()):
            if document.lstrip().startswith(b"["):
                yield from map(bytes, msgspec.json.decode(document, type=list[msgspec.Raw]))
            else:
                yield document
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(
            f"{source.name}: not JSON records ({error}); expected {expected}. A file that was cut "
            "while it was written has no end: take a finished one"
        ) from error


def _documents(data: bytes) -> Iterator[bytes]:
    """The documents one after another. What looks like a seam may be inside a text: then go on."""
    if _is_whole(data):
        yield data
        return
    held = b""
    for piece in _SEAM.split(data):
        held += piece
        if _is_whole(held):
            yield held
            held = b""
    if held.strip():
        msgspec.json.decode(held, type=msgspec.Raw)


def _is_whole(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True
