"""Input files as adapters see them: identified, decompressed, cut into whole lines.

`.gz` and `.zst` are recognised by their first bytes, not by their name. A pipe is copied to a
temporary file first, because a source is hashed and sniffed before it is read.
"""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import pyarrow as pa

from tokengap.errors import InputError

BLOCK_BYTES: Final = 8 << 20
HEAD_BYTES: Final = 1 << 16
STDIN: Final = "-"

_MAGIC: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES: Final = (
    ".gz", ".zst", ".jsonl", ".json", ".ndjson", ".log", ".txt", ".csv", ".tsv", ".parquet",
)  # fmt: skip


def short_digest(sha256: str) -> str:
    """The digits of a file's digest by which rows name it."""
    return sha256[:16]


_HASHER: Final = ThreadPoolExecutor(1, thread_name_prefix="sha256")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line without its line break: number from 1, offset in the uncompressed file."""

    number: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """Whole consecutive lines; only the last line of a file may lack its line break."""

    first_line: int
    offset: int
    data: bytes

    def lines(self) -> Iterator[Line]:
        """Every line that is not blank."""
        offset = self.offset
        by_two = b"\r" in self.data
        for number, data in enumerate(self.data.split(b"\n"), self.first_line):
            if data and not data.isspace():
                yield Line(number, offset, data.removesuffix(b"\r") if by_two else data)
            offset += len(data) + 1


@dataclass(frozen=True)
class Source:
    """A file to read: `name` is what the user wrote, `path` where its bytes are."""

    name: str
    path: Path

    @property
    def stem(self) -> str:
        """File name without folder, compression and format endings."""
        if self.name == STDIN:
            return "stdin"
        stem = Path(self.name).name
        while (suffix := Path(stem).suffix) in _SUFFIXES and suffix:
            stem = stem.removesuffix(suffix)
        return stem

    @cached_property
    def size_bytes(self) -> int:
        """Size on disk, as compressed."""
        return self.path.stat().st_size

    @property
    def sha256(self) -> str:
        """Digest of the bytes on disk, as compressed; InputError if they cannot be read."""
        with self._reading():
            return self._hashing.result()

    def start_hashing(self) -> None:
        """Work out `sha256` in the background, while the file is read."""
        self._hashing.running()

    @cached_property
    def _hashing(self) -> Future[str]:
        return _HASHER.submit(_sha256, self.path)

    def first(self, size_bytes: int) -> bytes:
        """The first bytes on disk, as compressed; InputError if they cannot be read."""
        with self._reading(), self.path.open("rb") as file:
            return file.read(size_bytes)

    def digest_of_first(self, size_bytes: int) -> str:
        """Digest of the first `size_bytes` on disk: tells an older file that grew.

        InputError if they cannot be read.
        """
        digest = hashlib.sha256()
        with self._reading(), self.path.open("rb") as file:
            while size_bytes and (data := file.read(min(BLOCK_BYTES, size_bytes))):
                digest.update(data)
                size_bytes -= len(data)
        return digest.hexdigest()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read ({error})") from error

    def open(self) -> BinaryIO:
        """The uncompressed bytes."""
        with self.path.open("rb") as file:
            magic = file.read(4)
        for start, codec in _MAGIC.items():
            if magic.startswith(start):
                unpacked: BinaryIO = pa.CompressedInputStream(pa.OSFile(str(self.path)), codec)
                return unpacked
        return self.path.open("rb")

    def _reads(self, size: int) -> Iterator[bytes]:
        with self.open() as file:
            try:
                while data := file.read(size):
                    yield data
            except (OSError, pa.ArrowException) as error:
                raise InputError(
                    f"{self.name}: the compressed file is cut or damaged ({error}); "
                    "unpack what is whole and read that"
                ) from error

    @cached_property
    def head(self) -> bytes:
        """The first bytes, uncompressed, enough to recognise a format."""
        return next(self._reads(HEAD_BYTES), b"")

    def read(self) -> bytes:
        """The whole uncompressed file, for formats that are one JSON document."""
        return b"".join(self._reads(BLOCK_BYTES))

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[Block]:
        """The file as blocks of whole lines, about `size` bytes each."""
        number, offset = 1, 0
        begun: list[bytes] = []  # joined once: a line may be as long as the file
        for data in self._reads(size):
            cut = data.rfind(b"\n") + 1
            if not cut:
                begun.append(data)
                continue
            whole = b"".join((*begun, memoryview(data)[:cut]))
            begun = [data[cut:]]
            yield Block(number, offset, whole)
            number += whole.count(b"\n")
            offset += len(whole)
        if rest := b"".join(begun):
            yield Block(number, offset, rest)

    def lines(self) -> Iterator[Line]:
        """Every line that is not blank."""
        for block in self.blocks():
            yield from block.lines()


def open_source(name: str, scratch: Path) -> Source:
    """The file called `name`; `-` is standard input, and any pipe is copied into `scratch`."""
    if name == STDIN:
        return Source(name, _copy(sys.stdin.buffer, scratch))
    path = Path(name)
    if path.is_fifo():
        with path.open("rb") as pipe:
            return Source(name, _copy(pipe, scratch))
    if not path.is_file():
        raise InputError(f"{name}: no such file")
    return Source(name, path)


def _copy(stream: BinaryIO, scratch: Path) -> Path:
    with tempfile.NamedTemporaryFile(dir=scratch, prefix="pipe-", delete=False) as copy:
        shutil.copyfileobj(stream, copy)
    return Path(copy.name)
