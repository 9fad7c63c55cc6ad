"""Spans put aside until all files are read, in memory that does not grow with the files.

The spans of one request come from several processes, in any order and possibly in several files, so
nothing says that a request is complete before the last line. What is needed of each span is kept
with its group: in memory while that is little, else in a temporary file. Reading back takes the
groups of one compartment at a time.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final

import msgspec

from tokengap.adapters.formats.otlp.compartments import (
    COMPARTMENTS,
    Compartments,
    compartment_of,
)
from tokengap.adapters.formats.otlp.spans import Span

HELD: Final = 1 << 15
"""Pieces that are kept in memory before they are written out: some 30 MB."""


class Piece(msgspec.Struct, array_like=True, gc=False):
    """What is kept of a span.

    group: pieces with the same one are read back together. facts: what its dialect needs, by name.
    marks: (name, ns) of events that its dialect needs. file, place: as in `Span`.
    """

    group: str
    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int
    failed: bool
    file: int
    place: int
    facts: dict[str, Any]
    marks: list[tuple[str, int]]

    @classmethod
    def of(
        cls,
        span: Span,
        group: str,
        facts: dict[str, Any],
        marks: list[tuple[str, int]] | None = None,
    ) -> "Piece":
        """Keep the span with these of its facts and events."""
        return cls(
            group,
            span.trace_id,
            span.span_id,
            span.parent_id,
            span.name,
            span.start_ns,
            span.end_ns,
            span.failed,
            span.file,
            span.place,
            facts,
            marks or [],
        )


class Shelf(AbstractContextManager["Shelf"]):
    """Pieces by group; gone when the block is left."""

    def __init__(self, held: int = HELD) -> None:
        self._limit = held
        self._held: defaultdict[int, list[Piece]] = defaultdict(list)
        self._number = 0
        self._written = Compartments()
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(list[Piece]).decode

    def add(self, piece: Piece) -> None:
        """Put a piece aside; InputError if there is no room for it."""
        self._held[compartment_of(piece.group)].append(piece)
        self._number += 1
        if self._number >= self._limit:
            self._written.put(
                (number, self._encode(pieces)) for number, pieces in self._held.items()
            )
            self._held.clear()
            self._number = 0

    def groups(self) -> Iterator[list[Piece]]:
        """Yield the pieces of every group, in the order in which they were put aside."""
        for number in range(COMPARTMENTS):
            found: defaultdict[str, list[Piece]] = defaultdict(list)
            for piece in self._compartment(number):
                found[piece.group].append(piece)
            yield from found.values()

    def _compartment(self, number: int) -> Iterator[Piece]:
        for data in self._written.take(number):
            yield from self._decode(data)
        yield from self._held[number]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Forget all pieces."""
        self._written.__exit__(kind, error, trace)


def without_repeats(pieces: list[Piece]) -> tuple[list[Piece], set[str]]:
    """Each span once, and the ids of those that were exported more than once."""
    if len(pieces) == 1:
        return pieces, set()
    first: dict[str, Piece] = {}
    repeated: set[str] = set()
    for piece in pieces:
        if first.setdefault(piece.span_id, piece) is not piece:
            repeated.add(piece.span_id)
    return list(first.values()), repeated
