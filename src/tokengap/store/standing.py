"""Whether a source is in the store already, and which older loads it replaces."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from tokengap.adapters.source import Source
from tokengap.errors import KeyCollisionError
from tokengap.store.records import HEAD_DIGEST_BYTES, FileId, Provenance


@dataclass(frozen=True)
class Standing:
    """Of a new load: `already` makes it needless, `replaces` are those it takes over from."""

    already: Provenance | None = None
    replaces: tuple[Provenance, ...] = ()


class LiveLoads:
    """The loads whose parts are live, to be compared with new ones."""

    def __init__(self, loads: Iterable[Provenance]) -> None:
        self._loads = {load.load_id: load for load in loads}
        self._by_head: dict[tuple[int, str], set[str]] = defaultdict(set)
        self._by_name: dict[str, list[FileId]] = defaultdict(list)
        for load_id, load in self._loads.items():
            for file in load.files:
                self._by_head[file.head_bytes, file.head_sha256].add(load_id)
                self._by_name[file.name].append(file)

    def as_read(self, source: Source, stamp: tuple[int, int]) -> FileId | None:
        """The file as a load read it under that name, if nothing of it has changed since.

        stamp: its size in bytes and modification time in ns, which with its first bytes must be
        those of then; the rest is believed to be the same, too.
        """
        for file in self._by_name.get(source.name, ()):
            same = (file.size_bytes, file.mtime_ns) == stamp
            if same and source.digest_of_first(file.head_bytes) == file.head_sha256:
                return file
        return None

    def may_concern(self, sources: Sequence[Source]) -> bool:
        """False if no load has a file that begins like one of these: none can stand for them."""
        return bool(self._related(sources))

    def standing(self, new: Provenance, sources: Sequence[Source]) -> Standing:
        """How a load of `sources` stands towards them.

        It is there already if a live load read the same bytes, or those and more, in the same
        way. It replaces a load whose every file it reads too, unchanged or grown at the end.
        KeyCollisionError if a load read some of its files and others that are not given now.
        """
        if new.load_id in self._loads:
            return Standing(already=self._loads[new.load_id])
        related = self._related(sources)
        digests = {file.sha256 for file in new.files}
        for old in related:
            if same_way(old, new) and digests <= {file.sha256 for file in old.files}:
                return Standing(already=old)
        files = list(zip(new.files, sources, strict=True))
        covered = tuple(old for old in related if _covers(files, old))
        for old in related:
            if old not in covered and digests & {file.sha256 for file in old.files}:
                raise KeyCollisionError(
                    f"{new.names}: in the store already, read together with others; give all of "
                    f"{old.names} in this call, so that they are replaced together"
                )
        return Standing(replaces=covered)

    def _related(self, sources: Sequence[Source]) -> list[Provenance]:
        """Loads with a file that begins like one of `sources`."""
        lengths = {length for length, _ in self._by_head}
        ids = {
            load_id
            for source in sources
            for length, digest in _begins(source, lengths)
            for load_id in self._by_head.get((length, digest), ())
        }
        return [self._loads[load_id] for load_id in sorted(ids)]


def why_replaced(old: Provenance, new: Provenance) -> str:
    """What changed between two loads of one source, for a message."""
    if old.adapter != new.adapter:
        return f"read as {new.adapter} instead of {old.adapter}"
    if old.adapter_version != new.adapter_version:
        return f"{new.adapter} reads it better now"
    if old.schema_version != new.schema_version:
        return "the table has more columns now"
    if old.options != new.options:
        return "other options"
    if {file.sha256 for file in old.files} < {file.sha256 for file in new.files}:
        return "read together with more files"
    return "the log has grown"


def same_way(old: Provenance, new: Provenance) -> bool:
    """Files that both read gave them the same rows."""
    return (old.adapter, old.adapter_version, old.schema_version, old.options) == (
        new.adapter, new.adapter_version, new.schema_version, new.options,
    )  # fmt: skip


def _begins(source: Source, lengths: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Digests of the first so many bytes of a file that has as many."""
    head = source.first(HEAD_DIGEST_BYTES)
    for length in lengths:
        if length <= len(head):
            yield length, sha256(head[:length]).hexdigest()


def _covers(files: Sequence[tuple[FileId, Source]], old: Provenance) -> bool:
    there = {now.sha256 for now, _ in files}
    return all(
        file.sha256 in there or any(_continues(source, now, file) for now, source in files)
        for file in old.files
    )


def _continues(source: Source, now: FileId, old: FileId) -> bool:
    """True if the file begins with all of `old`, and has grown since."""
    if old.size_bytes >= now.size_bytes:
        return False
    return source.digest_of_first(old.size_bytes) == old.sha256
