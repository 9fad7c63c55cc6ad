"""Files below folders and by patterns, and what lies there that is no file to read."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Final

from tokengap.errors import InputError
from tokengap.store.tables import is_store

_NESTED_STORE: Final = "a store inside the folder; name it to read it"
_MATCHED_STORE: Final = "a store; name it to read it"
_NO_FILE: Final = "a broken link, or no regular file"


@dataclass(frozen=True)
class Unrecognised:
    """A file no adapter reads, why, and what the nearest formats miss in it."""

    name: str
    why: str
    nearest: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, (f"{self.name}: {self.why}", self.nearest)))


def is_pattern(path: str) -> bool:
    """It has `*`, `?` or `[`, and is no file's name."""
    return has_magic(path) and not os.path.lexists(path)


def walk(folder: str, left_out: list[Unrecognised]) -> Iterator[str]:
    """Files below `folder`, sorted, hidden ones left out; a store inside is listed, not entered."""

    def refuse(error: OSError) -> None:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror})") from error

    for root, folders, files in os.walk(folder, onerror=refuse):
        below = {name: str(Path(root, name)) for name in sorted(folders) if name[0] != "."}
        stores = [name for name, path in below.items() if is_store(path)]
        left_out += [Unrecognised(below[name], _NESTED_STORE) for name in stores]
        folders[:] = [name for name in below if name not in stores]
        for path in (Path(root, name) for name in sorted(files) if name[0] != "."):
            if path.is_file():
                yield str(path)
            else:
                left_out.append(Unrecognised(str(path), _NO_FILE))


def matching(pattern: str, left_out: list[Unrecognised]) -> Iterator[str]:
    """Files that match, sorted, and those in folders that do, each once; no store is entered."""
    # a Path's own glob takes no absolute pattern
    matches = [Path(match) for match in sorted(glob(pattern, recursive=True))]  # noqa: PTH207
    if not matches:
        raise InputError(f"{pattern}: no file matches this pattern")
    folders = {folder for match in matches for folder in (match, *match.parents)}
    entered = {folder for folder in folders if is_store(str(folder))}
    left_out += [Unrecognised(str(store), _MATCHED_STORE) for store in sorted(entered)]
    for match in matches:
        if not entered.isdisjoint((match, *match.parents)):
            continue
        if match.is_dir():
            entered.add(match)
            yield from walk(str(match), left_out)
        elif match.is_file():
            yield str(match)
        else:
            left_out.append(Unrecognised(str(match), _NO_FILE))
