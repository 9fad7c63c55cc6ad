"""Rows that loads bring beside their streams: `rejects` and `clocks`.

A load brings one file, whose name begins with its id; a merged file has the rows of many loads, in
turn, and its footer says whose.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tokengap.errors import StoreError
from tokengap.store.delta import COMMIT_TRIES, Change, DeltaFiles, NewFile
from tokengap.store.parts import as_store_error
from tokengap.store.places import file_system, of_each, reaching

_FOOTER_KEY: Final = b"tokengap.loads"
_MERGED: Final = "merged"
_HELD_BYTES: Final = 64 * 2**20
"""Of rows in memory while files are merged; each time they become a row group."""


@dataclass(frozen=True)
class _Span:
    """Where the rows of a load lie in a file."""

    load_id: str
    first_row: int
    rows: int


class Beside(DeltaFiles):
    """One of these tables. Rows are never removed: an older version of `streams` finds its own."""

    def __init__(self, uri: str, schema: pa.Schema, *, read_only: bool = False) -> None:
        super().__init__(uri, schema, read_only=read_only)
        self._schema = schema
        self._merged: dict[str, list[_Span]] = {}

    def counts(self) -> dict[str, int]:
        """Rows by `load_id`; loads without any are missing."""
        return {
            span.load_id: span.rows
            for uri, file in self.files().items()
            for span in self._spans(uri, file.rows)
        }

    def of(self, loads: Collection[str]) -> pa.Table:
        """The rows that these loads brought."""
        wanted = {
            uri: spans
            for uri, file in sorted(self.files().items())
            if (spans := [s for s in self._spans(uri, file.rows) if s.load_id in loads])
        }
        tables = of_each(self._read, list(wanted))
        rows = [
            table.slice(span.first_row, span.rows)
            for table, spans in zip(tables, wanted.values(), strict=True)
            for span in spans
        ]
        return pa.concat_tables([self._schema.empty_table(), *rows])

    def add(self, rows: Mapping[str, pa.Table], scratch: Path) -> None:
        """Commit the rows of each load, unless a load of the same id brought them before."""
        files: dict[str, NewFile] = {}

        def plan(live: list[str]) -> Change:
            there = {span.load_id for uri in live for span in self._spans(uri)}
            return Change(tuple(file for load_id, file in files.items() if load_id not in there))

        try:
            for load_id, content in rows.items():
                if content.num_rows:
                    files[load_id] = self._put(load_id, [content], scratch)
            self.commit(plan)
        finally:
            self.drop_unused(files.values())

    def merge(self, scratch: Path, *, target_bytes: int, many_files: int) -> list[int]:
        """Merge small files where there are more than `many_files`; how many went into each new.

        As with `compact`, each merger is one commit, and a second call changes nothing.
        """
        done: list[int] = []
        for _ in range(COMMIT_TRIES):
            groups = list(self._groups(target_bytes, many_files))
            if not groups:
                return done
            done += [len(group) for group in groups if self._merge(group, scratch)]
        raise StoreError(f"{self.uri}: other writers keep changing it; try again")

    def _groups(self, target_bytes: int, many_files: int) -> Iterator[list[str]]:
        files = sorted(self.files().items())
        small = [(uri, file) for uri, file in files if file.size_bytes < target_bytes / 2]
        group: list[str] = []
        held_bytes = 0
        for uri, file in small if len(files) > many_files else ():
            group.append(uri)
            held_bytes += file.size_bytes
            if held_bytes >= target_bytes:
                yield group
                group, held_bytes = [], 0
        if len(group) > 1:
            yield group

    def _merge(self, before: Sequence[str], scratch: Path) -> bool:
        """Swap the files for one with the same rows; False if another writer took one away."""
        rows = {uri: file.rows for uri, file in self.files().items()}
        spans = [span for uri in before for span in self._spans(uri, rows.get(uri, 0))]
        counts = [(span.load_id, span.rows) for span in spans]
        file = self._put(_MERGED, map(self._read, before), scratch, counts)

        return self.swap(before, file)

    def _put(
        self,
        name: str,
        tables: Iterable[pa.Table],
        scratch: Path,
        counts: Sequence[tuple[str, int]] = (),
    ) -> NewFile:
        path = scratch / f"{name}-{uuid4().hex[:12]}.parquet"
        try:
            with (
                as_store_error(path),
                pq.ParquetWriter(path, self._schema, compression="zstd") as writer,
            ):
                if counts:
                    writer.add_key_value_metadata({_FOOTER_KEY: msgspec.json.encode(counts)})
                for group in _groups_of(tables):
                    writer.write_table(group)
            return self.put(path, pq.read_metadata(path).num_rows)
        finally:
            path.unlink(missing_ok=True)

    def _spans(self, uri: str, rows: int = 0) -> list[_Span]:
        """Whose rows the file has. rows: how many there are of a load's own file."""
        load_id = uri.rsplit("/", 1)[-1].split("-", 1)[0]
        if load_id != _MERGED:
            return [_Span(load_id, 0, rows)]
        if uri not in self._merged:
            self._merged[uri] = _said(uri)
        return self._merged[uri]

    def _read(self, uri: str) -> pa.Table:
        filesystem, path = file_system(uri)
        with reaching(uri), filesystem.open_input_file(path) as file:
            return pq.ParquetFile(pa.BufferReader(file.read())).read().cast(self._schema)


def _groups_of(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Tables together until they are worth a row group."""
    held: list[pa.Table] = []
    held_bytes = 0
    for table in tables:
        held.append(table)
        held_bytes += table.nbytes
        if held_bytes >= _HELD_BYTES:
            yield pa.concat_tables(held)
            held, held_bytes = [], 0
    if held:
        yield pa.concat_tables(held)


def _said(uri: str) -> list[_Span]:
    """What the footer of a merged file says; StoreError if it is damaged or not tokengap's."""
    filesystem, path = file_system(uri)
    try:
        with reaching(uri), filesystem.open_input_file(path) as file:
            said = pq.ParquetFile(file).metadata.metadata[_FOOTER_KEY]
        counts = msgspec.json.decode(said, type=list[tuple[str, int]])
    except (pa.ArrowException, KeyError, msgspec.MsgspecError) as error:
        raise StoreError(f"{uri}: no rows that tokengap merged ({error}); restore it") from error
    spans, first = [], 0
    for load_id, rows in counts:
        spans.append(_Span(load_id, first, rows))
        first += rows
    return spans
