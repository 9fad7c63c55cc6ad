"""Formats with one request per record: from records to rows, the unusable ones put aside."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from tokengap.adapters.interface import Intake
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Line, Source

T = TypeVar("T")


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
