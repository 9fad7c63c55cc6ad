"""A store: Delta tables of parts, and the rules by which loads enter it.

`rejects` and `clocks` of a load are committed before its `streams`, and count only while those
are live. They are never removed, so that an older version of `streams` finds its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Adapter
from tokengap.errors import StoreError
from tokengap.schema import CLOCKS, REJECTS, STREAMS
from tokengap.store.beside import Beside
from tokengap.store.copies import copied
from tokengap.store.delta import Change, DeltaFiles, NewFile, is_table
from tokengap.store.keys import check_unique
from tokengap.store.parts import read_all
from tokengap.store.places import is_remote, reach
from tokengap.store.records import UNDATED, Loaded, Part, uris
from tokengap.store.standing import LiveLoads, Standing


@dataclass(frozen=True)
class _Decision:
    """How the loads of a call stand towards the live parts, and which files go.

    rewritten: what stays of those that held the rows of others, too; not in the store yet.
    """

    standings: tuple[Standing, ...]
    remove: tuple[str, ...]
    rewritten: tuple[tuple[Part, ...], ...]


class Store:
    """The store at a folder or URI; its tables need not exist before the first commit.

    version: of the table `streams`, to read the store as it was then; None is the latest.
    """

    def __init__(self, root: str, version: int | None = None) -> None:
        self.root = root.rstrip("/") if is_remote(root) else str(Path(root).resolve())
        then = version is not None
        streams = f"{self.root}/streams"
        self.streams = DeltaFiles(streams, STREAMS, by_day=True, read_only=then, version=version)
        self._rejects = Beside(f"{self.root}/rejects", REJECTS, read_only=then)
        self._clocks = Beside(f"{self.root}/clocks", CLOCKS, read_only=then)
        self.beside = {"rejects": self._rejects, "clocks": self._clocks}
        self.latency = DeltaFiles(f"{self.root}/latency", None, by_day=True, read_only=then)
        self.tables = (self.streams, self._rejects, self._clocks, self.latency)
        self._known: dict[str, list[Part]] = {}

    @property
    def version(self) -> int | None:
        """Of the table `streams`: the one asked for, else the latest; None before any commit."""
        table = self.streams.table()
        return table.version() if table else None

    @property
    def is_latest(self) -> bool:
        """Nothing older was asked for: it can be written to."""
        return self.streams.version is None

    def at(self, version: int | None) -> "Store":
        """The same store as of a version of the table `streams`, only to be read; None: this one.

        Hold on to `at(store.version)` to read one state while others write.
        """
        return self if version is None else Store(self.root, version)

    def live_parts(self) -> list[Part]:
        """Parts of the version that is read; StoreError if one is damaged or gone."""
        return self.parts(self.streams.live())

    def rejects(self) -> pa.Table:
        """Records that the live loads left out, schema `REJECTS`."""
        return self._rejects.of(self._loads())

    def clocks(self) -> pa.Table:
        """Relations of clocks that the live loads found, schema `CLOCKS`."""
        return self._clocks.of(self._loads())

    def reject_counts(self) -> dict[str, int]:
        """Records left out, by `load_id`; loads without any are missing."""
        return self._rejects.counts()

    def commit(
        self, loads: Sequence[Loaded], scratch: Path, *, adapters: Sequence[Adapter] = ADAPTERS
    ) -> list[Standing]:
        """Make the loads visible, and what they replace invisible, in one commit.

        Returns how each load stood: one that another writer brought in meanwhile is left out.
        Raises KeyCollisionError, before anything is written, or StoreError.
        """

        @cache
        def decide(live: tuple[str, ...]) -> _Decision:
            return self._decide(loads, self.parts(live), scratch, adapters)

        decide(tuple(self.streams.live()))
        self.streams.ensure()
        self._rejects.add({_id(load): load.rejects for load in loads}, scratch)
        self._clocks.add({_id(load): load.clocks for load in loads}, scratch)
        files: list[list[NewFile]] = [[] for _ in loads]
        rewritten: list[NewFile] = []

        def plan(live: list[str]) -> Change:
            decision = decide(tuple(live))
            again = len(rewritten)
            rewritten.extend(map(self.put, decision.rewritten))
            return _change(loads, files, rewritten[again:], decision)

        try:
            for load, put in zip(loads, files, strict=True):
                put.extend(self.put([part]) for part in load.parts)
            before = self.streams.commit(plan)
        finally:
            self.streams.drop_unused([*chain.from_iterable(files), *rewritten])
        return list(decide(tuple(before)).standings)

    def parts(self, files: Iterable[str]) -> list[Part]:
        """What these files of `streams` hold; StoreError if one is damaged."""
        files = list(files)
        new = [uri for uri in files if uri not in self._known]
        try:
            self._known |= read_all(new)
        except StoreError as error:
            if self.streams.version is None:
                raise
            raise StoreError(
                f"{self.root}: version {self.streams.version} cannot be read any more: `store "
                "vacuum` removes, after its --grace, what later ones lack; name a later one "
                f"({error})"
            ) from error
        return [part for uri in files for part in self._known[uri]]

    def put(self, parts: Sequence[Part]) -> NewFile:
        """Copy a file that holds these parts, all of a day, below `streams`, uncommitted."""
        rows = sum(part.streams for part in parts)
        return self.streams.put(Path(parts[0].uri), rows, parts[0].day or UNDATED)

    def _decide(
        self,
        loads: Sequence[Loaded],
        live: Sequence[Part],
        scratch: Path,
        adapters: Sequence[Adapter],
    ) -> _Decision:
        there = LiveLoads(part.provenance for part in live)
        standings = tuple(there.standing(load.provenance, load.sources) for load in loads)
        replaced = {old.load_id for found in standings for old in found.replaces}
        fresh = [part for load in _wanted(loads, standings) for part in load.parts]
        remove = uris(part for part in live if part.load_id in replaced)
        kept = [part for part in live if part.load_id not in replaced]
        untouched = [part for part in kept if part.uri not in remove]
        rewritten = [
            copied(parts, scratch)
            for uri in remove
            if (parts := [part for part in kept if part.uri == uri])
        ]
        check_unique(fresh, scratch, standing=[*untouched, *chain(*rewritten)], adapters=adapters)
        return _Decision(standings, tuple(remove), tuple(tuple(parts) for parts in rewritten))

    def _loads(self) -> set[str]:
        return {part.load_id for part in self.live_parts()}


def _id(load: Loaded) -> str:
    return load.provenance.load_id


def _wanted(loads: Sequence[Loaded], standings: Sequence[Standing]) -> list[Loaded]:
    return [load for load, found in zip(loads, standings, strict=True) if not found.already]


def _change(
    loads: Sequence[Loaded],
    files: Sequence[Sequence[NewFile]],
    rewritten: Sequence[NewFile],
    decision: _Decision,
) -> Change:
    added = [
        (load, group)
        for load, group, found in zip(loads, files, decision.standings, strict=True)
        if not found.already
    ]
    note = {"tokengap": [_note(load) for load, _ in added]}
    new = (file for _, group in added for file in group)
    return Change((*new, *rewritten), decision.remove, note)


def _note(load: Loaded) -> dict[str, Any]:
    """What the table's history says about a load."""
    return {
        "load_id": load.provenance.load_id,
        "adapter": load.provenance.adapter,
        "files": [file.name for file in load.provenance.files],
        "streams": load.streams,
        "tokens": load.tokens,
        "rejects": load.rejects.num_rows,
    }


def is_store(path: str) -> bool:
    """True if the folder or URI holds a store's `streams` table; StoreError if none ever can."""
    if is_remote(path):
        reach(path)
    return is_table(f"{path.rstrip('/')}/streams")


def open_store(path: str, version: int | None = None) -> Store:
    """The store at `path`, as of a version of its table `streams` if one is given.

    StoreError if there is none, or no such version.
    """
    if not is_store(path):
        raise StoreError(
            f"{path}: no store (it has no table `streams`); `tokengap ingest` makes one"
        )
    store = Store(path, version)
    if version is not None:
        store.streams.table()
    return store


def prepare_store(path: str) -> Store:
    """The store at `path`, or one to be made there by its first commit.

    StoreError if the place is taken by something else, or cannot be reached.
    """
    place = Path(path)
    if is_remote(path):
        reach(path)
    elif not is_store(path):
        if "%" in str(place.resolve()):
            raise StoreError(f"{path}: Delta Lake misreads a % in a path; name another folder")
        if place.exists() and not place.is_dir():
            raise StoreError(f"{path}: a file; name a folder for the store")
        if place.is_dir() and _holds_more_than_a_beginning(place) and not is_store(path):
            raise StoreError(f"{path}: neither empty nor a store; name an empty or a new folder")
    return Store(path)


def _holds_more_than_a_beginning(place: Path) -> bool:
    """Whether there is more than what another writer's first commit, under way, begins with.

    The other tables follow once `streams` is one, so ask `is_store` after this, not before.
    """
    return any(entry.name != "streams" for entry in place.iterdir())
