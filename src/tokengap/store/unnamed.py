"""Files below a store that no commit names, and those that only its older versions name.

A writer that was killed leaves files of the first kind; mergers, prunings and newer loads those of
the second. No query sees either. They go only after a time of grace: a file is put in its place
before its commit, and a reader may be at work on the version before the last.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import pyarrow.fs as pafs

from tokengap.errors import StoreError
from tokengap.store.delta import DeltaFiles
from tokengap.store.places import reaching, reason
from tokengap.store.tables import Store
from tokengap.utc import DAY_NS, HOUR_NS

GRACE_NS: Final = 7 * DAY_NS


@dataclass(frozen=True)
class Unseen:
    """A file that the latest version does not hold."""

    uri: str
    size_bytes: int
    age_ns: int
    named: bool
    """An older version holds it."""


def unseen(table: DeltaFiles, grace_ns: int) -> list[Unseen]:
    """Files below the table that can go: out of every version, or out of the latest, for so long.

    A file that an older version names counts from the commit that took it out.
    """
    table.require_writable()
    there = _files(table)  # before the versions: what is committed meanwhile is named then
    latest = table.table()
    if latest is None:
        return []
    live, removed = set(table.files(latest)), set(_removed(table, latest, 0))
    expired = set(_removed(table, latest, grace_ns // HOUR_NS))
    found = []
    for info in there:
        uri = f"{table.uri}/{info.path.removeprefix(table.place[1]).lstrip('/')}"
        age_ns = time.time_ns() - info.mtime_ns
        gone = uri in expired if uri in removed else age_ns >= grace_ns
        if uri not in live and gone:
            found.append(Unseen(uri, info.size, age_ns, named=uri in removed))
    return found


def _files(table: DeltaFiles) -> list[Any]:
    filesystem, root = table.place
    selector = pafs.FileSelector(root, recursive=True, allow_not_found=True)
    with reaching(table.uri):
        there = filesystem.get_file_info(selector)
    return [info for info in there if info.is_file and "/_delta_log/" not in info.path]


def _removed(table: DeltaFiles, latest: Any, hours: int) -> list[str]:
    """Files that commits took out of the table, that many hours ago or more."""
    paths = latest.vacuum(hours, dry_run=True, enforce_retention_duration=False)
    return [f"{table.uri}/{unquote(path)}" for path in paths]


def vacuum(store: Store, *, grace_ns: int = GRACE_NS, dry_run: bool = False) -> list[Unseen]:
    """Remove the files that no version, or no version so young, holds; what they were.

    Older versions of the store can be read only as far back as the grace reaches. StoreError if a
    file cannot be removed.
    """
    found = [(table, file) for table in store.tables for file in unseen(table, grace_ns)]
    for table, file in found if not dry_run else ():
        filesystem, root = table.place
        try:
            filesystem.delete_file(root + file.uri.removeprefix(table.uri))
        except FileNotFoundError:
            continue  # another vacuum was first
        except OSError as error:
            raise StoreError(f"{file.uri}: cannot be removed ({reason(error)})") from error
    return [file for _, file in found]


def total_bytes(files: Sequence[Unseen]) -> int:
    """Their sizes together."""
    return sum(file.size_bytes for file in files)
