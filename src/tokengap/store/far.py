"""Files in a bucket as DuckDB reads them: through Arrow, and without an extension.

A file of a store never changes. Each is looked up once however often it is read, and what DuckDB
keeps of it in memory stays good.
"""

from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs
from fsspec import AbstractFileSystem

from tokengap.store.places import S3, reaching

_LONG_AGO: Final = datetime(2000, 1, 1, tzinfo=UTC)


class FarFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """What DuckDB asks of a file system, for files whose names are known to be there."""

    protocol = S3
    cachable = False

    def __init__(self, files: pafs.FileSystem) -> None:
        super().__init__()
        self._files = files
        self._found: dict[str, pa.NativeFile] = {}

    def glob(self, path: str, **_: Any) -> list[str]:
        """The file itself: in the places of stores nothing is a pattern."""
        return [path]

    def size(self, path: str) -> int:
        """Bytes; StoreError if the file cannot be reached."""
        size_bytes: int = self._find(self._strip_protocol(path)).size()
        return size_bytes

    def modified(self, path: str) -> datetime:  # noqa: ARG002  # the same for every file
        """Always the same."""
        return _LONG_AGO

    def _open(self, path: str, **_: Any) -> "FarFile":
        return FarFile(path, self._find(path))

    def _find(self, path: str) -> pa.NativeFile:
        """The file, which several threads may read at once."""
        if path not in self._found:
            with reaching(f"{S3}://{path}"):
                self._found[path] = self._files.open_input_file(path)
        return self._found[path]


class FarFile:
    """One reader's position in a file."""

    def __init__(self, path: str, file: pa.NativeFile) -> None:
        self._path = path
        self._file = file
        self._at = 0

    def seek(self, at: int) -> int:
        """Go there."""
        self._at = at
        return at

    def read(self, number: int) -> bytes:
        """So many bytes, fewer at the end; StoreError if the file cannot be reached."""
        with reaching(f"{S3}://{self._path}"):
            content: bytes = self._file.read_at(number, self._at)
        self._at += len(content)
        return content

    def close(self) -> None:
        """Others may go on reading."""
