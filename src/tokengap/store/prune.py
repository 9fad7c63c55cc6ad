"""Old days out of a store: their rows go, and what loads they came from stays known.

Each pruned day keeps one file without rows that names its loads, so that an ingest of the same
logs does not bring them back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokengap.errors import StoreError
from tokengap.store.copies import emptied
from tokengap.store.delta import COMMIT_TRIES, Change
from tokengap.store.latency import around, by_day, kept_days, loads_digest
from tokengap.store.records import UNDATED, Part, uris
from tokengap.store.tables import Store


@dataclass(frozen=True)
class Pruned:
    """What went of one day."""

    day: str
    streams: int
    tokens: int


def prune(store: Store, before: str, scratch: Path, *, keep_latency: bool) -> list[Pruned]:
    """Remove the rows of every day before `before` (YYYY-MM-DD), oldest first; what went.

    keep_latency: the rows of the table `latency` stay, else they go too. Each day is one commit; a
    day that another writer changes meanwhile is looked at again. Rows on no wall clock have no age
    and stay. StoreError, before anything is removed, if latency rows that are to be kept are not
    there, or are of other loads.
    """
    done: dict[str, Pruned] = {}
    for _ in range(COMMIT_TRIES):
        days = _due(store, before, keep_latency=keep_latency)
        if not days:
            break
        for day, parts in days.items():
            if _prune(store, parts, scratch):
                streams, tokens = (
                    sum(getattr(part, name) for part in parts) for name in ("streams", "tokens")
                )
                done[day] = Pruned(day, streams, tokens)
    else:
        raise StoreError(f"{store.root}: other writers keep changing it; try again")
    if not keep_latency:
        _drop_latency(store, before)
    return list(done.values())


def _due(store: Store, before: str, *, keep_latency: bool) -> dict[str, Sequence[Part]]:
    """Days with rows that are old enough, each with its parts."""
    days = by_day(store.live_parts())
    due = {
        day: parts
        for day, parts in days.items()
        if day != UNDATED and day < before and not all(part.pruned for part in parts)
    }
    if not keep_latency:
        return due
    kept = kept_days(store)
    lacking = [
        day
        for day in due
        if not any(f.is_of(loads_digest(around(days, day))) for f in kept.get(day, ()))
    ]
    if lacking:
        raise StoreError(
            f"{store.root}: no latency rows of {lacking[0]} as it is now"
            f"{f' and {len(lacking) - 1} more days' * (len(lacking) > 1)}; "
            "make them with `tokengap store latency`, then prune"
        )
    return due


def _prune(store: Store, parts: Sequence[Part], scratch: Path) -> bool:
    """Swap the day's files for one without rows; False if another writer changed the day."""
    new = emptied(parts, scratch)
    file = store.put(new)
    Path(new[0].uri).unlink()
    before = set(uris(parts))
    folder = f"{store.streams.uri}/day={parts[0].day}/"

    def stands(live: Sequence[str]) -> bool:
        return before == {uri for uri in live if uri.startswith(folder)}

    def plan(live: list[str]) -> Change:
        if not stands(live):
            return Change()
        return Change((file,), tuple(before), {"tokengap": ["rows pruned"]})

    try:
        return stands(store.streams.commit(plan))
    finally:
        store.streams.drop_unused([file])


def _drop_latency(store: Store, before: str) -> None:
    old = {
        file.uri
        for day, files in kept_days(store).items()
        if day != UNDATED and day < before
        for file in files
    }
    if old:
        store.latency.commit(lambda live: Change(remove=tuple(old.intersection(live))))
