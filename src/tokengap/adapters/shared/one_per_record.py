"""Formats with one request per record: from records to rows, the unusable ones put aside."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.interface import Intake
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Line, Source

T = TypeVar("T")


class Place(NamedTuple):
    """Where a record stands: its file's short id, and its line or its index in a document."""

    source_id: str
    record: Line | int

    @property
    def number(self) -> int:
        """Line number, or index."""
        return self.record if isinstance(self.record, int) else self.record.number

    @property
    def text(self) -> str:
        """As written in `streams.source`."""
        return f"{self.source_id}:{self.number}"


def streams(
    source: Source,
    intake: Intake,
    found: Iterable[tuple[Line | int, bytes]],
    records: Records[T],
    make: Callable[[T, Place], Stream | None],
) -> Iterator[Stream]:
    """Yield the row that `make` makes of each record found, if any.

    A record that cannot be decoded, or that `make` refuses with LineError, is quarantined alone.
    """
    source_id = intake.source_id(source)
    for record, data in found:
        try:
            stream = make(records.decode(data), Place(source_id, record))
        except LineError as error:
            intake.reject(source, record, error.reason, error.field, error.value)
        else:
            if stream is not None:
                yield stream


class Unfinished:
    """Answers of which a part was seen and the end, which alone has the times, was not."""

    def __init__(self) -> None:
        self._seen: dict[str, Line | int] = {}

    def begin(self, answer: str, place: Place) -> None:
        """Note a part of an answer."""
        self._seen.setdefault(answer, place.record)

    def end(self, answer: str) -> None:
        """Note its end."""
        self._seen.pop(answer, None)

    @property
    def is_empty(self) -> bool:
        """Whether all that began have ended."""
        return not self._seen

    def note(
        self, answers: pa.Array, parts: pa.Array, ends: pa.Array, place: Callable[[int], Line | int]
    ) -> None:
        """Note parts and ends of answers, in their order; `place` says where a row stands."""
        rows = zip(
            pc.fill_null(answers, "").to_pylist(), ends.to_pylist(), parts.to_pylist(), strict=True
        )
        for row, (answer, ends_here, goes_on) in enumerate(rows):
            if ends_here:
                self.end(answer)
            elif goes_on and answer not in self._seen:
                self._seen[answer] = place(row)

    def report(self, source: Source, intake: Intake, reason: str) -> None:
        """Quarantine the first part of each answer that never ended."""
        for answer, place in self._seen.items():
            intake.reject(source, place, reason, "id", answer)
