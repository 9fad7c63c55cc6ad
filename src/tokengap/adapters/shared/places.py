"""Where a record stands in its file."""

from typing import NamedTuple

from tokengap.adapters.source import Line


def number_of(record: Line | int) -> int:
    """Number of a line, or the index of a record in a document."""
    return record if isinstance(record, int) else record.number


class Place(NamedTuple):
    """Where a record stands: its file's short id, and its line or its index in a document."""

    source_id: str
    record: Line | int

    @property
    def number(self) -> int:
        """Line number, or index."""
        return number_of(self.record)

    @property
    def text(self) -> str:
        """As written in `streams.source`."""
        return f"{self.source_id}:{self.number}"
