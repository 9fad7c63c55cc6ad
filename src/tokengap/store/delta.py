"""One Delta table made of Parquet files that tokengap wrote itself.

Every commit is refused if another one came in between: what was checked against the table before
it (is the source there already? are the keys free?) then still holds when it lands. A file that
is in no commit is invisible, and any Delta vacuum removes it in time.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
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
from tokengap.store.places import file_system, is_remote, reaching, reason, storage_options

COMMIT_TRIES: Final = 50
"""Each refusal means that another writer got through, so trying again makes progress."""


DIGEST_DIGITS: Final = 32
COPY_BYTES: Final = 2**22

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
    """What one commit adds and removes, by URI; and what its log entry says.

    same_rows: the same rows lie elsewhere afterwards, so that who follows the table skips it.
    """

    add: tuple[NewFile, ...] = ()
    remove: tuple[str, ...] = ()
    note: Mapping[str, Any] | None = None
    same_rows: bool = False


@dataclass(frozen=True)
class LiveFile:
    """A file of the latest version, as the table's log has it."""

    rows: int
    size_bytes: int


def digest_of(path: str, filesystem: pafs.FileSystem | None = None) -> str:
    """The digits of a file's sha256 that its name in a table ends in."""
    there = filesystem or pafs.LocalFileSystem()
    with there.open_input_stream(path, compression=None, buffer_size=COPY_BYTES) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_DIGITS]


def is_table(uri: str) -> bool:
    """True if a Delta table begins at `uri`."""
    if is_remote(uri):
        with reaching(uri):
            return DeltaTable.is_deltatable(uri, storage_options(uri))
    return (Path(uri) / "_delta_log").is_dir()


class DeltaFiles:
    """The files of the Delta table at `uri`; partitioned by `day` if `by_day`.

    schema: None if the table's columns are known only when it is made. read_only: nothing is
    written. version: what is read is this version, not the latest.
    """

    def __init__(
        self,
        uri: str,
        schema: pa.Schema | None,
        *,
        by_day: bool = False,
        read_only: bool = False,
        version: int | None = None,
    ) -> None:
        self.uri = uri
        self.columns = schema
        self.version = version
        self._read_only = read_only
        self._partition_by = ["day"] if by_day else []

    @cached_property
    def place(self) -> tuple[pafs.FileSystem, str]:
        """Where the table is: a file system, and the path in it."""
        return file_system(self.uri)

    def live(self) -> list[str]:
        """URIs of the files of the latest version, sorted; none if there is no table yet."""
        return sorted(self.files())

    def files(self, table: DeltaTable | None = None) -> dict[str, LiveFile]:
        """Files of the version `table`, else of the latest one, by URI."""
        table = table or self.table()
        if table is None:
            return {}
        # not file_uris(): it quotes local paths, so that one with a blank cannot be opened
        actions = pa.table(table.get_add_actions(flatten=True))
        columns = (actions[name].to_pylist() for name in ("path", "num_records", "size_bytes"))
        return {
            f"{self.uri}/{path}": LiveFile(rows, size_bytes)
            for path, rows, size_bytes in zip(*columns, strict=True)
        }

    def require_writable(self) -> None:
        """StoreError if this is an older version."""
        if self._read_only:
            raise StoreError(f"{self.uri}: an older version is only read; open the latest one")

    def ensure(self, schema: pa.Schema | None = None) -> DeltaTable:
        """The table, made now if it is missing."""
        self.require_writable()
        return self.table() or self._create(self.columns if schema is None else schema)

    def put(self, file: Path, rows: int, day: str | None = None) -> NewFile:
        """Copy a finished Parquet file below the table; its name was never used there before.

        The name it gets there ends in the digest of its bytes, so that damage is found later.
        """
        self.require_writable()
        filesystem, root = self.place
        folder = f"/day={day}" if day else ""
        name = f"{file.stem}-{digest_of(str(file))}{file.suffix}"
        try:
            if not is_remote(self.uri):  # a bucket has no folders
                filesystem.create_dir(f"{root}{folder}", recursive=True)
            # not copy_files(), which says nothing of an upload that failed
            with (
                file.open("rb") as source,
                filesystem.open_output_stream(f"{root}{folder}/{name}") as copy,
            ):
                shutil.copyfileobj(source, copy, COPY_BYTES)
        except OSError as error:
            with suppress(OSError):
                filesystem.delete_file(f"{root}{folder}/{name}")
            raise StoreError(f"{self.uri}: cannot be written ({reason(error)})") from error
        return NewFile(f"{self.uri}{folder}/{name}", rows, day)

    def commit(self, plan: Callable[[list[str]], Change]) -> list[str]:
        """Commit what `plan` makes of the live files, asking again after another writer's commit.

        Returns the files that were live before. StoreError if the table is damaged, cannot be
        written, or never stands still.
        """
        for _ in range(COMMIT_TRIES):
            table = self.ensure()
            live = sorted(self.files(table))
            change = plan(live)
            try:
                if change.add or change.remove:
                    self._write(table, change)
            except CommitFailedError:
                continue
            return live
        raise StoreError(f"{self.uri}: other writers keep changing it; try again")

    def swap(self, before: Collection[str], file: NewFile) -> bool:
        """Put one file with the same rows in place of these; False if one of them was gone.

        Another writer may have replaced it: the new file is removed then.
        """

        def plan(live: list[str]) -> Change:
            if not set(before) <= set(live):
                return Change()
            return Change((file,), tuple(before), {"tokengap": ["files merged"]}, same_rows=True)

        try:
            return set(before) <= set(self.commit(plan))
        finally:
            self.drop_unused([file])

    def drop_unused(self, files: Iterable[NewFile]) -> None:
        """Remove those of `files` that no commit made live."""
        filesystem, root = self.place
        with reaching(self.uri):
            for uri in {file.uri for file in files}.difference(self.live()):
                filesystem.delete_file(root + uri.removeprefix(self.uri))

    def table(self) -> DeltaTable | None:
        """The version that is read; None if there is no table yet.

        StoreError if the table is damaged, or has no such version any more.
        """
        try:
            options = storage_options(self.uri)
            there = DeltaTable.is_deltatable(self.uri, options)
            latest = DeltaTable(self.uri, storage_options=options) if there else None
        except (DeltaError, OSError) as error:
            raise StoreError(f"{self.uri}: not a readable Delta table ({reason(error)})") from error
        if self.version is None or (latest and self.version == latest.version()):
            return latest
        return self._older(self.version, latest.version() if latest else -1)

    def _older(self, version: int, latest: int) -> DeltaTable:
        """A version before the latest."""
        if not 0 <= version < latest:
            there = f"the latest is {latest}" if latest >= 0 else "there is none yet"
            raise StoreError(f"{self.uri}: no version {version}; {there}")
        try:
            return DeltaTable(self.uri, version=version, storage_options=storage_options(self.uri))
        except (DeltaError, OSError) as error:
            raise StoreError(
                f"{self.uri}: version {version} cannot be read any more ({reason(error)}); "
                "name a later one"
            ) from error

    def _create(self, schema: pa.Schema) -> DeltaTable:
        partition = [pa.field(name, pa.string()) for name in self._partition_by]
        try:
            return DeltaTable.create(
                self.uri,
                pa.schema([*schema, *partition]),
                mode="ignore",
                partition_by=self._partition_by,
                configuration={"delta.checkpointInterval": CHECKPOINT_COMMITS},
                storage_options=storage_options(self.uri),
            )
        except (DeltaError, OSError) as error:
            table = self.table()  # another writer may have been first
            if table is None:
                raise StoreError(f"{self.uri}: cannot be created ({reason(error)})") from error
            return table

    def _write(self, table: DeltaTable, change: Change) -> None:
        now_ms = time.time_ns() // 10**6
        added = (self._add(file, now_ms, change) for file in change.add)
        removed = (self._remove(uri, now_ms, change) for uri in change.remove)
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
            raise StoreError(f"{self.uri}: cannot be written ({reason(error)})") from error

    def _add(self, file: NewFile, now_ms: int, change: Change) -> AddAction:
        filesystem, root = self.place
        path = file.uri.removeprefix(f"{self.uri}/")
        with reaching(self.uri):
            size_bytes = filesystem.get_file_info(f"{root}/{path}").size
        stats = msgspec.json.encode({"numRecords": file.rows}).decode()
        return AddAction(
            path, size_bytes, _partition(file.day), now_ms, not change.same_rows, stats
        )

    def _remove(self, uri: str, now_ms: int, change: Change) -> RemoveAction:
        path = uri.removeprefix(f"{self.uri}/")
        day = path.split("/")[0].removeprefix("day=") if self._partition_by else None
        return RemoveAction(path, not change.same_rows, now_ms, None, _partition(day))


def _partition(day: str | None) -> dict[str, str | None]:
    return {} if day is None else {"day": day}
