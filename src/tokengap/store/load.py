"""Files through their adapters into parts: the way in for raw logs, kept or not."""

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Final

from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Adapter, Intake
from tokengap.adapters.source import Source
from tokengap.errors import InputError
from tokengap.store.days import PartSet
from tokengap.store.discover import Found, Recognised, discover, stamp_of
from tokengap.store.keys import check_unique
from tokengap.store.records import Loaded, Part, Provenance
from tokengap.store.tables import open_store

_SHOWN_REJECTS: Final = 3


@dataclass(frozen=True)
class SourceSet:
    """Files that are read as one: one file, or all of a format whose requests may span files."""

    adapter: Adapter
    files: tuple[Recognised, ...]
    trace: str | None
    """`--trace`; None to take the first file's stem."""
    mapping: str | None = None
    """Text of the `--map` file."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """The files, in the order given."""
        return tuple(file.source for file in self.files)

    @property
    def named(self) -> bool:
        """True if the user named one of the files, not just their folder."""
        return any(file.named for file in self.files)

    @property
    def was_read(self) -> bool:
        """True if loads in the store have read every file as it is."""
        return all(file.as_read for file in self.files)

    @property
    def doubts(self) -> str:
        """What files look like that do not look like the format the user named."""
        return "".join(f"\n  {f.source.name}: {f.doubt}" for f in self.files if f.doubt)

    @cached_property
    def provenance(self) -> Provenance:
        """What a load of the files comes from; hashes those that no load has read before."""
        options = {
            name: value
            for name, value in (("trace", self.trace), ("mapping", self.mapping))
            if value is not None
        }
        files = tuple(file.file_id for file in self.files)
        return Provenance(self.adapter.name, self.adapter.version, files, options)

    @property
    def load_id(self) -> str:
        """Id of the load that reading the files gives."""
        return self.provenance.load_id


@dataclass(frozen=True)
class Loads:
    """All that was read in one call."""

    found: Found
    loaded: list[Loaded]
    stored: list[list[Part]]
    """Live parts of each store."""

    @property
    def parts(self) -> list[Part]:
        """Every part, of stores and of logs."""
        loaded = (load.parts for load in self.loaded)
        return list(chain(*self.stored, *loaded))


def source_sets(
    files: Sequence[Recognised], trace: str | None = None, mapping: str | None = None
) -> list[SourceSet]:
    """Files into sets, in the order given; all files of a format that joins them are one set."""
    groups: dict[object, list[Recognised]] = {}
    for file in files:
        alone = file.source if not file.adapter.joins_files else None
        groups.setdefault((file.adapter.name, alone), []).append(file)
    return [SourceSet(group[0].adapter, tuple(group), trace, mapping) for group in groups.values()]


def load_set(files: SourceSet, scratch: Path, *, by_day: bool = False) -> Loaded:
    """Read one set into parts in `scratch`.

    Raises InputError if a named file gives no stream but rejects, or if a file changes meanwhile.
    """
    try:
        return _load_set(files, scratch, by_day=by_day)
    except InputError as error:
        if not files.doubts:
            raise
        raise type(error)(f"{error}{files.doubts}") from error


def _load_set(files: SourceSet, scratch: Path, *, by_day: bool) -> Loaded:
    started = time.perf_counter()
    intake = Intake(files.trace or files.sources[0].stem, files.adapter.name, files.mapping)
    for source in files.sources:
        source.start_hashing()
    try:
        with _without_collector():
            batches = files.adapter.read(files.sources, intake)
            first = list(islice(batches, 1))  # by now the digests are there, too
            with PartSet(scratch, files.provenance, by_day=by_day) as parts:
                for batch in chain(first, batches):
                    parts.write(batch)
                _require_unchanged(files)
    except OSError as error:
        names = ", ".join(source.name for source in files.sources)
        raise InputError(f"{names}: cannot be read ({error})") from error
    loaded = Loaded(
        sources=files.sources,
        expected=files.adapter.about.reads,
        provenance=files.provenance,
        parts=parts.parts,
        rejects=intake.reject_table(),
        clocks=intake.clock_table(),
        seconds=time.perf_counter() - started,
    )
    if files.named:
        require_streams([loaded])
    return loaded


@contextmanager
def _without_collector() -> Iterator[None]:
    """Readers make millions of objects and no cycles: looking for some costs a twentieth."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _require_unchanged(files: SourceSet) -> None:
    for file in files.files:
        if stamp_of(file.source) != file.stamp:
            raise InputError(
                f"{file.source.name}: changed while it was read; load a copy of it, and the whole "
                "log when it is done: that replaces the copy"
            )


def require_streams(loads: Sequence[Loaded]) -> None:
    """InputError if nothing but rejects came out of all the loads together."""
    empty = next((load for load in loads if load.rejects.num_rows), None)
    if empty is None or any(load.streams for load in loads):
        return
    rejects = empty.rejects
    shown = "".join(
        f"\n  {reject['source_name']}:{reject['line']}: {reject['reason']}"
        for reject in rejects.slice(0, _SHOWN_REJECTS).to_pylist()
    )
    number = "1 record was" if rejects.num_rows == 1 else f"{rejects.num_rows} records were"
    raise InputError(
        f"{empty.provenance.names}: not one stream could be read as {empty.provenance.adapter}, "
        f"{number} rejected; expected: {empty.expected}. "
        f"If it is another format, say which with --format NAME{shown}"
    )


def load(
    paths: Sequence[str],
    scratch: Path,
    *,
    format_name: str | None = None,
    trace: str | None = None,
    mapping: str | None = None,
    adapters: Sequence[Adapter] = ADAPTERS,
) -> Loads:
    """Read logs and stores for one look at them; parts of logs are in `scratch`, and stay there.

    Raises InputError and its kinds: a path that cannot be read, a format that is not known, two
    files that hold the same stream.
    """
    found = discover(paths, scratch, format_name=format_name, adapters=adapters)
    loaded = [load_set(files, scratch) for files in source_sets(found.files, trace, mapping)]
    if not found.stores:
        require_streams(loaded)
    loads = Loads(found, loaded, [open_store(path).live_parts() for path in found.stores])
    # the keys within one store are unique already
    standing = loads.stored[0] if loads.stored else []
    check_unique(loads.parts[len(standing) :], scratch, standing=standing, adapters=adapters)
    return loads
