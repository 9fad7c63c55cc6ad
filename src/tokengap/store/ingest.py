"""Load logs and keep them in a store."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Adapter
from tokengap.errors import InputError
from tokengap.store.discover import Found, discover
from tokengap.store.late import late_streams
from tokengap.store.load import SourceSet, load_set, require_streams, source_sets
from tokengap.store.records import Loaded, Provenance
from tokengap.store.standing import LiveLoads, Standing, why_replaced
from tokengap.store.tables import Store, prepare_store

Action = Literal["loaded", "replaced", "already loaded"]


@dataclass(frozen=True)
class Outcome:
    """What became of one source set, and what the store now holds of it."""

    names: str
    action: Action
    reason: str
    """Why an older load was replaced, under which other name the source is there, or that its rows
    were pruned; else empty."""
    streams: int
    tokens: int
    rejects: int


@dataclass(frozen=True)
class IngestSummary:
    """What a call of `ingest` did; nothing changed if every source was there already."""

    outcomes: tuple[Outcome, ...]
    found: Found
    late: Mapping[str, int]
    """Streams by day (YYYY-MM-DD) that came long after it, and were not there before."""

    @property
    def changed(self) -> bool:
        """True if the store holds something else than before."""
        return any(outcome.action != "already loaded" for outcome in self.outcomes)


def ingest(
    paths: Sequence[str],
    store_path: str,
    scratch: Path,
    *,
    format_name: str | None = None,
    trace: str | None = None,
    mapping: str | None = None,
    accept: Callable[[Sequence[Loaded]], None] | None = None,
    adapters: Sequence[Adapter] = ADAPTERS,
) -> IngestSummary:
    """Load files into the store, all of them or, after an error, none.

    accept: may raise at what was read, before any of it is kept.

    Sources that are there already are not read again; a file whose name, size, time of change and
    first bytes are those of one that was read is not even hashed. Raises InputError and its kinds.
    """
    store = prepare_store(store_path)
    before = store.live_parts()
    there = LiveLoads(part.provenance for part in before)
    found = discover(
        paths, scratch, format_name=format_name, adapters=adapters, as_read=there.as_read
    )
    if found.stores:
        raise InputError(f"{found.stores[0]}: a store; ingest reads logs, name their files")
    sets = source_sets(found.files, trace, mapping)
    # Comparing whole digests takes as long as hashing the files: mostly their heads tell enough.
    standings = [
        there.standing(files.provenance, files.sources)
        if files.was_read or there.may_concern(files.sources)
        else Standing()
        for files in sets
    ]
    fresh = [files for files, stand in zip(sets, standings, strict=True) if not stand.already]
    loads: list[Loaded] = []
    committed: list[Standing] = []
    if fresh:
        loads = [load_set(files, scratch, by_day=True) for files in fresh]
        if len(fresh) == len(sets):
            require_streams(loads)
        if accept is not None:
            accept(loads)
        committed = store.commit(loads, scratch, adapters=adapters)
    stands = {files.load_id: stand for files, stand in zip(sets, standings, strict=True)} | {
        load.provenance.load_id: stand for load, stand in zip(loads, committed, strict=True)
    }
    return IngestSummary(
        _outcomes(store, sets, stands), found, late_streams(loads, committed, before)
    )


def _outcomes(
    store: Store, sets: Sequence[SourceSet], stands: Mapping[str, Standing]
) -> tuple[Outcome, ...]:
    """One outcome per set, with the counts the store has for it now."""
    streams, tokens = Counter[str](), Counter[str]()
    pruned: set[str] = set()
    for part in store.live_parts():
        streams[part.load_id] += part.streams
        tokens[part.load_id] += part.tokens
        if part.pruned:
            pruned.add(part.load_id)
    rejects = store.reject_counts()
    outcomes = []
    for files in sets:
        stand = stands[files.load_id]
        load_id = (stand.already or files.provenance).load_id
        action, reason = _action(files.provenance, stand)
        if load_id in pruned:
            reason = ", ".join(filter(None, (reason, "rows were pruned for their age")))
        outcomes.append(
            Outcome(
                files.provenance.names,
                action,
                reason,
                streams[load_id],
                tokens[load_id],
                rejects.get(load_id, 0),
            )
        )
    return tuple(outcomes)


def _action(new: Provenance, stand: Standing) -> tuple[Action, str]:
    if stand.already:
        same = stand.already.names == new.names
        return "already loaded", "" if same else f"as {stand.already.names}"
    if stand.replaces:
        return "replaced", "; ".join(sorted({why_replaced(old, new) for old in stand.replaces}))
    return "loaded", ""
