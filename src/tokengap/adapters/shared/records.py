"""Records of one shape, decoded strictly: the way from bytes to a msgspec struct."""

from typing import Generic, TypeVar

from tokengap.adapters.shared.lines import decode, shaped

T = TypeVar("T")


class Records(Generic[T]):
    """Decodes records of the msgspec type `shape`.

    non_finite: let NaN and Infinity pass, which are not JSON but which tools write.
    """

    def __init__(self, shape: type[T], *, non_finite: bool = False) -> None:
        self._shape = shape
        self._non_finite = non_finite

    def decode(self, data: bytes) -> T:
        """Return the record in `data`; LineError if it is no such record, or repeats a key."""
        return shaped(decode(data, non_finite=self._non_finite), self._shape)
