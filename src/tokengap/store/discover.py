"""Paths a user gives into files with a known format, files nothing recognises, and stores."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Final

from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Adapter, Head
from tokengap.adapters.source import STDIN, Source, open_source
from tokengap.errors import InputError, UnknownFormatError, UsageError
from tokengap.store.places import is_remote
from tokengap.store.records import FileId
from tokengap.store.tables import is_store
from tokengap.store.walking import Unrecognised, is_pattern, matching, walk

_FORMATS_HINT: Final = "`tokengap formats` lists what can be read"
_NEAREST: Final = 3
_SHOWN: Final = 10


@dataclass(frozen=True)
class Recognised:
    """A file and the one format it has. `named`: the user named it, not just its folder."""

    source: Source
    adapter: Adapter
    named: bool
    stamp: tuple[int, int]
    """Size in bytes and modification time in ns when it was first looked at."""
    doubt: str = ""
    """What it looks like instead, where the user named a format that it does not look like."""
    as_read: FileId | None = None
    """As a load that is in the store has read it: then it is not hashed again."""

    @cached_property
    def file_id(self) -> FileId:
        """What tells it from others; hashes it, unless that was done before."""
        return self.as_read or FileId.of(self.source, self.stamp[1])

    @property
    def sha256(self) -> str:
        """Digest of its bytes."""
        return self.as_read.sha256 if self.as_read else self.source.sha256


Read = Callable[[Source, tuple[int, int]], FileId | None]
"""What a load made of a file of this stamp that is still as it was; None of others."""


@dataclass
class Found:
    """What lies at the paths, in the order given; folders are sorted."""

    files: list[Recognised] = field(default_factory=list)
    unrecognised: list[Unrecognised] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)
    duplicates: list[tuple[str, str]] = field(default_factory=list)
    """Files left out because an earlier one has the same bytes: (name, earlier name)."""


def discover(
    paths: Sequence[str],
    scratch: Path,
    *,
    format_name: str | None = None,
    adapters: Sequence[Adapter] = ADAPTERS,
    as_read: Read = lambda *_: None,
) -> Found:
    """Look at every path; `-` is standard input, copied into `scratch`.

    A path of no file's name is a pattern if it has `*`, `?` or `[`; `**` stands for any folders. A
    file named by the user must be recognised, one found in a folder or by a pattern is listed if it
    is not. `format_name` is believed for a named file; for others it chooses among the formats that
    match. as_read: says what is known of a file that was read before.
    Raises UnknownFormatError, InputError for a path that cannot be read, UsageError for no such
    format.
    """
    chosen = None if format_name is None else _adapter_called(format_name, adapters)
    known = _Known(adapters, chosen, as_read)
    found = Found()
    for path in paths:
        if path != STDIN and is_store(path):
            found.stores.append(path)
        elif is_remote(path):
            raise InputError(f"{path}: no store; `tokengap ingest` makes one of logs on disk")
        elif path != STDIN and Path(path).is_dir():
            for name in walk(path, found.unrecognised):
                _look_at(name, found, scratch, known, named=False)
        elif path != STDIN and is_pattern(path):
            for name in matching(path, found.unrecognised):
                _look_at(name, found, scratch, known, named=False)
        else:
            _look_at(path, found, scratch, known, named=True)
    _require_something(paths, found)
    return _without_duplicates(found)


def stamp_of(source: Source) -> tuple[int, int]:
    """Size in bytes and modification time in ns: a file that is still written to changes them."""
    stat = source.path.stat()
    return stat.st_size, stat.st_mtime_ns


def _adapter_called(name: str, adapters: Sequence[Adapter]) -> Adapter:
    known = {adapter.name: adapter for adapter in adapters}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
    raise UsageError(f"--format {name}: no such format; {hint}")


@dataclass(frozen=True)
class _Known:
    """Every format, the one that the user named, and what was read before."""

    adapters: Sequence[Adapter]
    chosen: Adapter | None
    as_read: Read

    def matching(self, head: Head) -> list[Adapter]:
        """Those that the file looks like, the chosen one alone if there is one."""
        among = self.adapters if self.chosen is None else [self.chosen]
        return [adapter for adapter in among if adapter.sniff(head).matches]

    def doubt(self, head: Head) -> str:
        """What else the file looks like, if not like the chosen format."""
        if self.chosen is None:
            return ""
        sniff = self.chosen.sniff(head)
        if sniff.matches or not sniff.wanted:  # what wants nothing may look like anything
            return ""
        looks = [adapter.name for adapter in self.adapters if adapter.sniff(head).matches]
        like = f"--format {looks[0]} reads that" if looks else _nearest(head, self.adapters)
        return f"it does not look like {self.chosen.name}, but like {head.kind}; {like}"


def _look_at(name: str, found: Found, scratch: Path, known: _Known, *, named: bool) -> None:
    try:
        source = open_source(name, scratch)
        stamp = stamp_of(source)
        head = Head(replace(source).head)  # of a copy, which does not keep the bytes
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror})") from error
    if named and not head.data:
        raise InputError(f"{name} is empty")
    matching = known.matching(head)
    if named and known.chosen is not None:
        matching = [known.chosen]  # the user knows better
    if len(matching) > 1:
        names = " and ".join(adapter.name for adapter in matching)
        raise UnknownFormatError(f"{name} looks like {names}; say which with --format NAME")
    if matching:
        read = known.as_read(source, stamp)
        found.files.append(Recognised(source, matching[0], named, stamp, known.doubt(head), read))
        return
    stranger = _describe(name, head, known.adapters)
    if named:
        raise UnknownFormatError(f"{stranger}; {_FORMATS_HINT}")
    found.unrecognised.append(stranger)


def _describe(name: str, head: Head, adapters: Sequence[Adapter]) -> Unrecognised:
    why = f"no known format, looks like {head.kind}"
    if not head.data or b"\0" in head.data:
        return Unrecognised(name, why)
    return Unrecognised(name, why, _nearest(head, adapters))


def _nearest(head: Head, adapters: Sequence[Adapter]) -> str:
    """The formats that miss the least of what they want, and what they miss."""
    sniffs = [(adapter.name, adapter.sniff(head)) for adapter in adapters]
    sniffs.sort(key=lambda sniffed: len(sniffed[1].missing) / max(len(sniffed[1].wanted), 1))
    missing = [f"{name} (but no {', '.join(sniff.missing)})" for name, sniff in sniffs[:_NEAREST]]
    return f"nearest: {'; '.join(missing)}"


def _require_something(paths: Sequence[str], found: Found) -> None:
    if found.files or found.stores:
        return
    where = ", ".join(paths)
    if not found.unrecognised:
        raise InputError(f"{where}: no files to read")
    shown = "\n  ".join(str(stranger) for stranger in found.unrecognised[:_SHOWN])
    more = len(found.unrecognised) - _SHOWN
    raise UnknownFormatError(
        f"{where}: nothing to read; {_FORMATS_HINT}\n  {shown}"
        + (f"\n  and {more} more" if more > 0 else "")
    )


def _without_duplicates(found: Found) -> Found:
    sizes = Counter(item.source.size_bytes for item in found.files)
    first: dict[str, Recognised] = {}
    kept = []
    for item in found.files:
        alone = sizes[item.source.size_bytes] == 1  # then no hash is needed to tell it apart
        earlier = item if alone else first.setdefault(item.sha256, item)
        if earlier is item:
            kept.append(item)
        else:
            found.duplicates.append((item.source.name, earlier.source.name))
    return replace(found, files=kept)
