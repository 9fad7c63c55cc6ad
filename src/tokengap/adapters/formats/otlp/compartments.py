"""A temporary file in which pieces of data lie by number, written in any order."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from tempfile import TemporaryFile
from types import TracebackType
from typing import Final
from zlib import crc32

from tokengap.errors import InputError

COMPARTMENTS: Final = 256


def compartment_of(group: str) -> int:
    """Number of the compartment that all pieces of a group are put into."""
    return crc32(group.encode()) % COMPARTMENTS


class Compartments(AbstractContextManager["Compartments"]):
    """What was put into each of them; gone when the block is left."""

    def __init__(self) -> None:
        self._file = TemporaryFile(prefix="tokengap-")  # noqa: SIM115 - closed by __exit__
        self._places: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)

    def put(self, pieces: Iterable[tuple[int, bytes]]) -> None:
        """Put each piece into the compartment of its number; InputError if there is no room."""
        try:
            for number, data in pieces:
                self._places[number].append((self._file.tell(), self._file.write(data)))
        except OSError as error:
            raise InputError(
                f"no room to put spans aside in ({error}); make some, or set TMPDIR to a folder "
                "that has more"
            ) from error

    def take(self, number: int) -> Iterator[bytes]:
        """Yield the pieces of a compartment, in the order in which they were put there."""
        for offset, size_bytes in self._places[number]:
            self._file.seek(offset)
            yield self._file.read(size_bytes)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Forget all pieces."""
        self._file.close()
