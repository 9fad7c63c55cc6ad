"""Formats that keep whole answers: from a record to one row per choice, named by the answer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from tokengap.adapters.interface import Intake
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Source

T = TypeVar("T")


def answers(
    source: Source,
    intake: Intake,
    found: Iterable[tuple[int, bytes]],
    records: Records[T],
    make: Callable[[T, Place], Sequence[Stream]],
) -> Iterator[Stream]:
    """Yield the rows that `make` makes of each record found, called by the `id` of its events.

    A record that cannot be decoded, or that `make` refuses with LineError, is quarantined alone.
    """
    source_id, names = intake.source_id(source), Names()
    for index, data in found:
        try:
            streams = make(records.decode(data), Place(source_id, index))
        except LineError as error:
            intake.reject(source, index, error.reason, error.field, error.value)
        else:
            request_id = names.name((streams[0].ids or {}).get("sse_id"), index)
            for stream in streams:
                stream.request_id = request_id
                yield stream
