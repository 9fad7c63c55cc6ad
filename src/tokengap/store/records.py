"""What a part of the store is and what it was made from."""

import hashlib
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

import msgspec
import pyarrow as pa

from tokengap.adapters.source import Source
from tokengap.schema import SCHEMA_VERSION

HEAD_DIGEST_BYTES: Final = 4096
"""Files that differ in their first bytes are told apart without hashing the rest."""

SHOWN_NAMES: Final = 3

UNDATED: Final = "undated"
"""Day of streams without an origin on a wall clock."""


@dataclass(frozen=True)
class FileId:
    """One file that was read: its bytes as on disk, and the name the user gave it."""

    name: str
    size_bytes: int
    sha256: str
    head_sha256: str
    """Digest of the first `HEAD_DIGEST_BYTES`, or of the whole file if it is shorter."""
    mtime_ns: int | None = None
    """When it was last changed, before it was read; None if its load is from before that was
    kept. Tells only that it need not be hashed again."""

    @property
    def head_bytes(self) -> int:
        """How many bytes `head_sha256` covers."""
        return min(self.size_bytes, HEAD_DIGEST_BYTES)

    @classmethod
    def of(cls, source: Source, mtime_ns: int | None = None) -> "FileId":
        """Hash the file as it is now."""
        head = source.digest_of_first(min(source.size_bytes, HEAD_DIGEST_BYTES))
        return cls(source.name, source.size_bytes, source.sha256, head, mtime_ns)


@dataclass(frozen=True)
class Provenance:
    """What one load read, and how."""

    adapter: str
    adapter_version: int
    files: tuple[FileId, ...]
    options: dict[str, str]
    """What the user chose and the rows depend on, such as `trace`; empty if nothing."""
    schema_version: int = SCHEMA_VERSION

    @cached_property
    def load_id(self) -> str:
        """Equal for two loads that must give the same rows, whatever their files are called."""
        read = sorted(file.sha256 for file in self.files)
        how = [self.adapter, self.adapter_version, self.schema_version]
        identity = msgspec.json.encode([*how, sorted(self.options.items()), read])
        return hashlib.sha256(identity).hexdigest()[:32]

    @property
    def names(self) -> str:
        """The files, for a message."""
        shown = ", ".join(file.name for file in self.files[:SHOWN_NAMES])
        more = len(self.files) - SHOWN_NAMES
        return f"{shown} and {more} more" if more > 0 else shown


@dataclass(frozen=True)
class Part:
    """The rows of one load in one Parquet file; the file's footer says all of it but `uri`."""

    uri: str
    """Absolute path, or URI of an object store."""
    provenance: Provenance
    day: str | None
    """UTC day of every row's origin, `undated` without a wall clock; None if not split by day."""
    streams: int
    tokens: int
    """Sum of `output_tokens`; streams with an unknown number add nothing."""
    first_origin_ns: int | None
    """Earliest origin on a wall clock; None if no row has one."""
    last_origin_ns: int | None
    first_row: int = 0
    """Where in the file its rows begin: a merged file has those of several loads, in turn."""
    pruned: bool = False
    """Its rows were removed for their age: only the memory of the load is left."""
    loaded_ns: int | None = None
    """When its rows were read, on the wall clock; None if its file is from before that was kept."""

    @property
    def load_id(self) -> str:
        """Id of the load that wrote the rows."""
        return self.provenance.load_id


def now_ns() -> int:
    """The wall clock that says when rows are read."""
    return time.time_ns()


def footer(parts: Iterable[Part]) -> bytes:
    """What a Parquet file says about the loads in it."""
    facts = [asdict(part) for part in parts]
    for each in facts:
        del each["uri"]
    return msgspec.json.encode(facts)


def from_footer(uri: str, said: bytes) -> list[Part]:
    """The parts in the file at `uri`; msgspec.ValidationError if the footer is not one of ours."""
    facts: Any = msgspec.json.decode(said)
    if isinstance(facts, dict):  # what files of one load said before files could be merged
        facts = [facts]
    named = [each | {"uri": uri} if isinstance(each, dict) else each for each in facts]
    return msgspec.convert(named, list[Part])


def uris(parts: Iterable[Part]) -> list[str]:
    """The files that the parts are in, each once, in order."""
    return list(dict.fromkeys(part.uri for part in parts))


@dataclass(frozen=True)
class Loaded:
    """What one source set gave: its parts, and what was left out of them."""

    sources: tuple[Source, ...]
    expected: str
    """What the adapter reads, in its own words."""
    provenance: Provenance
    parts: tuple[Part, ...]
    rejects: pa.Table
    clocks: pa.Table
    seconds: float
    """Wall time spent reading and encoding."""

    @property
    def streams(self) -> int:
        """Rows over all parts."""
        return sum(part.streams for part in self.parts)

    @property
    def tokens(self) -> int:
        """Tokens over all parts."""
        return sum(part.tokens for part in self.parts)
