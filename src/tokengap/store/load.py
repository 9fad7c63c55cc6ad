"""Files through their adapters into parts: the way in for raw logs, kept or not."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Adapter, Intake
from tokengap.adapters.source import Source
from tokengap.errors import InputError
from tokengap.store.days import PartSet
from tokengap.store.discover import Found, Recognised, discover, stamp_of
from tokengap.store.keys import check_unique
from tokengap.store.records import FileId, Loaded, Part, Provenance
from tokengap.store.tables import open_store

_SHOWN_REJECTS: Final = 3


@dataclass(frozen=True)
class SourceSet:
    """Files that are read as one: one file, or all of a format whose requests may span files."""

    adapter: Adapter
    files: tuple[Recognised, ...]
    trace: str | None
    """`--trace`; None to take the first file's stem."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """The files, in the order given."""
        return tuple(file.source for file in self.files)

    @property
    def named(self) -> bool:
        """True if the user named one of the files, not just their folder."""
        return any(file.named for file in self.files)

    @cached_property
    def provenance(self) -> Provenance:
        """What a load of the files comes from; hashes them."""
        options = {} if self.trace is None else {"trace": self.trace}
        files = tuple(FileId.of(source) for source in self.sources)
        return Provenance(self.adapter.name, self.adapter.version, files, options)

    @property
    def load_id(self) -> str:
        """Id of the load that reading the files gives."""
        return self.provenance.load_id


@dataclass(frozen=True)
class Loads:
    """All that was read in one call: raw logs as `loaded`, stores as their live parts."""

    found: Found
    loaded: list[Loaded] = field(default_factory=list)
    stored: list[Part] = field(default_factory=list)

    @property
    def parts(self) -> list[Part]:
        """Every part, of logs and of stores."""
        return [part for load in self.loaded for part in load.parts] + self.stored


def source_sets(files: Sequence[Recognised], trace: str | None = None) -> list[SourceSet]:
    """Files into sets, in the order given; all files of a format that joins them are one set."""
    groups: dict[object, list[Recognised]] = {}
    for file in files:
        alone = file.source if not file.adapter.joins_files else None
        groups.setdefault((file.adapter.name, alone), []).append(file)
    return [SourceSet(group[0].adapter, tuple(group), trace) for group in groups.values()]


def load_set(files: SourceSet, scratch: Path, *, by_day: bool = False) -> Loaded:
    """Read one set into parts in `scratch`.

    Raises InputError if a named file gives no stream but rejects, or if a file changes meanwhile.
    """
    started = time.perf_counter()
    intake = Intake(files.trace or files.sources[0].stem, files.adapter.name)
    try:
        with PartSet(scratch, files.provenance, by_day=by_day) as parts:
            for batch in files.adapter.read(files.sources, intake):
                parts.write(batch)
            _require_unchanged(files)
    except OSError as error:
        raise InputError(f"{files.provenance.names}: cannot be read ({error})") from error
    loaded = Loaded(
        files.sources, files.provenance, parts.parts, intake.reject_table(), intake.clock_table(),
        time.perf_counter() - started,
    )  # fmt: skip
    if files.named and not loaded.streams and intake.rejects:
        raise _nothing_read(files, intake)
    return loaded


def _require_unchanged(files: SourceSet) -> None:
    for file in files.files:
        if stamp_of(file.source) != file.stamp:
            raise InputError(
                f"{file.source.name}: changed while it was read; load a copy of it, and the whole "
                "log when it is done: that replaces the copy"
            )


def _nothing_read(files: SourceSet, intake: Intake) -> InputError:
    name, rejects = files.adapter.name, intake.rejects
    shown = "".join(
        f"\n  {reject.source_name}:{reject.line}: {reject.reason}"
        for reject in rejects[:_SHOWN_REJECTS]
    )
    return InputError(
        f"{files.provenance.names}: not one stream could be read as "
        f"{name}, {len(rejects)} records were rejected; expected: {files.adapter.reads}. "
        f"If it is another format, say which with --format NAME{shown}"
    )


def load(
    paths: Sequence[str],
    scratch: Path,
    *,
    format_name: str | None = None,
    trace: str | None = None,
    adapters: Sequence[Adapter] = ADAPTERS,
) -> Loads:
    """Read logs and stores for one look at them; parts of logs are in `scratch`, and stay there.

    Raises InputError and its kinds: a path that cannot be read, a format that is not known, two
    files that hold the same stream.
    """
    found = discover(paths, scratch, format_name=format_name, adapters=adapters)
    loads = Loads(found)
    for files in source_sets(found.files, trace):
        loads.loaded.append(load_set(files, scratch))
    for path in found.stores:
        loads.stored.extend(open_store(path).live_parts())
    check_unique(loads.parts, scratch, adapters=adapters)
    return loads
