"""One Delta table made of Parquet files that tokengap wrote itself.

Every commit is refused if another one came in between: what was checked against the table before
it (is the source there already? are the keys free?) then still holds when it lands. A file that
is in no commit is invisible, and any Delta vacuum removes it in time.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.fs as pafs
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from tokengap.errors import StoreError

COMMIT_TRIES: Final = 50
"""Each refusal means that another writer got through, so trying again makes progress."""


CHECKPOINT_COMMITS: Final = "10"
"""Opening a table replays the commits since its last checkpoint."""


@dataclass(frozen=True)
class NewFile:
    """A Parquet file to commit; `uri` lies below the table already."""

    uri: str
    rows: int
    day: str | None = None


@dataclass(frozen=True)
class Change:
    """What one commit adds and removes, by URI; and what its log entry says."""

    add: tuple[NewFile, ...] = ()
    remove: tuple[str, ...] = ()
    note: Mapping[str, Any] | None = None


def is_table(uri: str) -> bool:
    """True if a Delta table begins at `uri`."""
    if "://" in uri:
        return DeltaTable.is_deltatable(uri)
    return (Path(uri) / "_delta_log").is_dir()


class DeltaFiles:
    """The files of the Delta table at `uri`; partitioned by `day` if `by_day`."""

    def __init__(self, uri: str, schema: pa.Schema, *, by_day: bool = False) -> None:
        self.uri = uri
        self._schema = schema.append(pa.field("day", pa.string())) if by_day else schema
        self._partition_by = ["day"] if by_day else []

    @cached_property
    def _place(self) -> tuple[pafs.FileSystem, str]:
        filesystem, root = pafs.FileSystem.from_uri(self.uri)
        return filesystem, root

    def live(self) -> list[str]:
        """URIs of the files of the latest version, sorted; none if there is no table yet."""
        return sorted(self.row_counts())

    def row_counts(self) -> dict[str, int]:
        """Rows of each live file, by URI."""
        table = self._table()
        return self._row_counts(table) if table else {}

    def _row_counts(self, table: DeltaTable) -> dict[str, int]:
        # not file_uris(): it quotes local paths, so that one with a blank cannot be opened
        files = pa.table(table.get_add_actions(flatten=True)).select(["path", "num_records"])
        return {f"{self.uri}/{file['path']}": file["num_records"] for file in files.to_pylist()}

    def ensure(self) -> DeltaTable:
        """The table, made now if it is missing."""
        return self._table() or self._create()

    def put(self, file: Path, rows: int, day: str | None = None) -> NewFile:
        """Copy a finished Parquet file below the table; its name was never used there before."""
        filesystem, root = self._place
        folder = f"/day={day}" if day else ""
        name = file.name
        try:
            filesystem.create_dir(f"{root}{folder}", recursive=True)
            pafs.copy_files(str(file), f"{root}{folder}/{name}", destination_filesystem=filesystem)
        except OSError as error:
            raise StoreError(f"{self.uri}: cannot be written ({error})") from error
        return NewFile(f"{self.uri}{folder}/{name}", rows, day)

    def commit(self, plan: Callable[[list[str]], Change]) -> list[str]:
        """Commit what `plan` makes of the live files, asking again after another writer's commit.

        Returns the files that were live before. StoreError if the table is damaged, cannot be
        written, or never stands still.
        """
        for _ in range(COMMIT_TRIES):
            table = self.ensure()
            live = sorted(self._row_counts(table))
            change = plan(live)
            try:
                if change.add or change.remove:
                    self._write(table, change)
            except CommitFailedError:
                continue
            return live
        raise StoreError(f"{self.uri}: other writers keep changing it; try again")

    def drop_unused(self, files: Iterable[NewFile]) -> None:
        """Remove those of `files` that no commit made live."""
        filesystem, root = self._place
        for uri in {file.uri for file in files}.difference(self.live()):
            filesystem.delete_file(root + uri.removeprefix(self.uri))

    def _table(self) -> DeltaTable | None:
        try:
            return DeltaTable(self.uri) if DeltaTable.is_deltatable(self.uri) else None
        except (DeltaError, OSError) as error:
            raise StoreError(f"{self.uri}: not a readable Delta table ({error})") from error

    def _create(self) -> DeltaTable:
        try:
            return DeltaTable.create(
                self.uri,
                self._schema,
                mode="ignore",
                partition_by=self._partition_by,
                configuration={"delta.checkpointInterval": CHECKPOINT_COMMITS},
            )
        except (DeltaError, OSError) as error:
            table = self._table()  # another writer may have been first
            if table is None:
                raise StoreError(f"{self.uri}: cannot be created ({error})") from error
            return table

    def _write(self, table: DeltaTable, change: Change) -> None:
        now_ms = time.time_ns() // 10**6
        added = (self._add(file, now_ms) for file in change.add)
        removed = (self._remove(uri, now_ms) for uri in change.remove)
        try:
            table.create_write_transaction(
                [*added, *removed],
                "append",
                table.schema(),
                self._partition_by,
                commit_properties=CommitProperties(dict(change.note or {}), max_commit_retries=0),
            )
        except CommitFailedError:
            raise
        except (DeltaError, OSError) as error:
            raise StoreError(f"{self.uri}: cannot be written ({error})") from error

    def _add(self, file: NewFile, now_ms: int) -> AddAction:
        filesystem, root = self._place
        path = file.uri.removeprefix(f"{self.uri}/")
        size_bytes = filesystem.get_file_info(f"{root}/{path}").size
        stats = msgspec.json.encode({"numRecords": file.rows}).decode()
        return AddAction(path, size_bytes, _partition(file.day), now_ms, True, stats)

    def _remove(self, uri: str, now_ms: int) -> RemoveAction:
        path = uri.removeprefix(f"{self.uri}/")
        day = path.split("/")[0].removeprefix("day=") if self._partition_by else None
        return RemoveAction(path, True, now_ms, None, _partition(day))


def _partition(day: str | None) -> dict[str, str | None]:
    return {} if day is None else {"day": day}
