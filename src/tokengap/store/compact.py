"""Many small files of a day into few of a good size.

The rows stay as they are, and so do the loads they came with: a source that is there already is
still known, and a newer load of it replaces just its rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tokengap.errors import StoreError
from tokengap.store.copies import copied
from tokengap.store.delta import COMMIT_TRIES
from tokengap.store.records import Part, uris
from tokengap.store.tables import Store

TARGET_BYTES: Final = 128 * 2**20
"""Large enough that opening a file costs nothing beside reading it, and small enough to copy."""
MANY_FILES: Final = 32
"""A day with no more is left alone: copying would cost more than reading ever saves."""


@dataclass(frozen=True)
class Merged:
    """What was merged: so many files into so many."""

    place: str
    """A day, or a table beside `streams`."""
    files_before: int
    files_after: int


def compact(
    store: Store,
    scratch: Path,
    *,
    target_bytes: int = TARGET_BYTES,
    many_files: int = MANY_FILES,
) -> list[Merged]:
    """Merge the files of every day that has more than `many_files`; what was done, by day.

    Then those of the tables `rejects` and `clocks`, by the same rule.

    Each merger is one commit, so that it can be killed or run beside other writers at any moment:
    where one of them took a file away first, its day is looked at again. A second call changes
    nothing. StoreError if a file is damaged, or other writers leave no day alone.
    """
    done: dict[str, list[int]] = defaultdict(list)
    for _ in range(COMMIT_TRIES):
        groups = list(_groups(store, target_bytes, many_files))
        for group in groups:
            if _merge(store, group, scratch):
                done[str(group[0].day)].append(len(uris(group)))
        if not groups:
            break
    else:
        raise StoreError(f"{store.root}: other writers keep changing it; try again")
    beside = {
        name: table.merge(scratch, target_bytes=target_bytes, many_files=many_files)
        for name, table in store.beside.items()
    }
    merged = [*sorted(done.items()), *((name, counts) for name, counts in beside.items() if counts)]
    return [Merged(place, sum(counts), len(counts)) for place, counts in merged]


def _groups(store: Store, target_bytes: int, many_files: int) -> Iterator[list[Part]]:
    """Parts to be merged into one file: of one day and one format, small files next to small."""
    sizes = {uri: file.size_bytes for uri, file in store.streams.files().items()}
    days: dict[str | None, dict[str, list[Part]]] = defaultdict(lambda: defaultdict(list))
    for part in store.parts(sorted(sizes)):
        days[part.day][part.uri].append(part)
    for files in days.values():
        if len(files) > many_files:
            yield from _filled(list(files.values()), sizes, target_bytes)


def _filled(
    files: Sequence[list[Part]], sizes: dict[str, int], target_bytes: int
) -> Iterator[list[Part]]:
    """Files of each format until they reach the target; those that are half as large are done."""
    open_: dict[str, list[Part]] = defaultdict(list)
    held_bytes = Counter[str]()
    for parts in files:
        adapter, size_bytes = parts[0].provenance.adapter, sizes[parts[0].uri]
        if size_bytes < target_bytes / 2 and not any(part.pruned for part in parts):
            open_[adapter].extend(parts)
            held_bytes[adapter] += size_bytes
        if held_bytes[adapter] >= target_bytes:
            yield open_.pop(adapter)
            del held_bytes[adapter]
    yield from (group for group in open_.values() if len(uris(group)) > 1)


def _merge(store: Store, parts: Sequence[Part], scratch: Path) -> bool:
    """Swap the files for one with the same rows; False if another writer took one away."""
    before = uris(parts)
    new = copied(parts, scratch)
    file = store.put(new)
    Path(new[0].uri).unlink()

    return store.streams.swap(before, file)
