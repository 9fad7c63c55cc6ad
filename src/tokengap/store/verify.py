"""Whether a store still is what its commits say: bytes, columns, counts, whose rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokengap.adapters.source import short_digest
from tokengap.errors import StoreError
from tokengap.schema import STREAMS
from tokengap.store.delta import DIGEST_DIGITS, DeltaFiles, LiveFile, digest_of
from tokengap.store.parts import read_parts
from tokengap.store.places import of_each, reason
from tokengap.store.records import Part
from tokengap.store.tables import Store
from tokengap.store.unnamed import GRACE_NS, unseen
from tokengap.units import format_count

_DIGEST: Final = re.compile(rf"-([0-9a-f]{{{DIGEST_DIGITS}}})\.parquet$")


@dataclass(frozen=True)
class Problem:
    """What is wrong with a file of the store, or with a load."""

    place: str
    says: str


def verify(store: Store, *, grace_ns: int = GRACE_NS) -> list[Problem]:
    """Read every file of the latest version and compare it with what was written; none is well.

    A file that no commit names counts once it is older than the grace: until then a writer may
    be about to commit it.
    """
    problems = [problem for table in store.tables for problem in _of_table(table)]
    problems += [
        Problem(file.uri, "no commit names it; `tokengap store vacuum` removes it")
        for table in store.tables
        for file in unseen(table, grace_ns)
        if not file.named
    ]
    return problems or list(_of_loads(store))


def _of_table(table: DeltaFiles) -> list[Problem]:
    files = table.files()

    def check(uri: str) -> list[Problem]:
        return [Problem(uri, says) for says in _of_file(table, uri, files[uri])]

    return list(chain.from_iterable(of_each(check, list(files))))


def _of_file(table: DeltaFiles, uri: str, file: LiveFile) -> Iterator[str]:
    filesystem, root = table.place
    path = root + uri.removeprefix(table.uri)
    try:
        size_bytes = filesystem.get_file_info(path).size
        if size_bytes is None:
            yield "the file is missing; restore it, or load its sources again"
            return
        if size_bytes != file.size_bytes:
            yield f"{size_bytes} bytes, {file.size_bytes} were committed; restore the file"
            return
        digest = _DIGEST.search(uri)
        if digest and digest_of(path, filesystem) != digest[1]:
            yield "its bytes are not those that were committed; restore the file"
            return
        with filesystem.open_input_file(path) as opened:
            yield from _of_rows(table, uri, file, pq.ParquetFile(opened))
    except (OSError, pa.ArrowException, StoreError) as error:
        yield f"cannot be read ({reason(error)}); restore the file"


def _of_rows(table: DeltaFiles, uri: str, file: LiveFile, parquet: pq.ParquetFile) -> Iterator[str]:
    there = parquet.metadata.num_rows
    if there != file.rows:
        yield f"{_rows(there)}, its commit says {_rows(file.rows)}"
    columns = table.columns
    wrong = [f.name for f in parquet.schema_arrow if columns and not _is_column(columns, f)]
    if wrong:
        yield f"column {wrong[0]} is none of this table, or of another type"
    elif columns is STREAMS:
        rows = parquet.read(["source", "output_tokens"])
        yield from _of_parts(read_parts(uri), rows)


def _is_column(columns: pa.Schema, field: pa.Field) -> bool:
    index = columns.get_field_index(field.name)
    return index >= 0 and bool(columns.field(index).type.equals(field.type))


def _of_parts(parts: Sequence[Part], rows: pa.Table) -> Iterator[str]:
    """The loads in a file follow each other, and each has the rows and tokens it says."""
    start = 0
    for part in parts:
        own = rows.slice(start, part.streams)
        if part.first_row != start or own.num_rows != part.streams:
            yield f"the rows of {part.provenance.names} are not where the file says"
            return
        tokens = pc.sum(own["output_tokens"]).as_py() or 0
        if tokens != part.tokens:
            yield (
                f"{format_count(tokens)} tokens of {part.provenance.names}, it says "
                f"{format_count(part.tokens)}"
            )
        strangers = _sources(own) - _written(part)
        if part.provenance.files and strangers:
            yield f"rows of {min(strangers)} among those of {part.provenance.names}"
        start += part.streams
    if start != rows.num_rows:
        yield f"{_rows(rows.num_rows - start)} of no load"


def _sources(rows: pa.Table) -> set[str]:
    """Format and file of the rows, as in `source` before the line."""
    sources = pc.replace_substring_regex(rows["source"], r"^([^:]*:[^:]*):.*$", r"\1")
    return set(pc.unique(sources).to_pylist())


def _written(part: Part) -> set[str]:
    provenance = part.provenance
    return {f"{provenance.adapter}:{short_digest(file.sha256)}" for file in provenance.files}


def _of_loads(store: Store) -> Iterator[Problem]:
    """What the commits say that a load brought is still there, as far back as they are kept."""
    said = _said(store)
    rejects = store.reject_counts()
    parts = sorted(store.live_parts(), key=lambda part: part.load_id)
    for load_id, group in groupby(parts, key=lambda part: part.load_id):
        own = list(group)
        note = said.get(load_id)
        if note is None:
            continue
        name = own[0].provenance.names
        there = {"rejects": rejects.get(load_id, 0)}
        if not any(part.pruned for part in own):
            there |= {
                "streams": sum(part.streams for part in own),
                "tokens": sum(part.tokens for part in own),
            }
        for what, count in there.items():
            if count != note[what]:
                yield Problem(name, f"{count} {what}, its commit says {note[what]}")


def _said(store: Store) -> dict[str, Mapping[str, Any]]:
    """What the latest commit of each load says about it."""
    table = store.streams.table()
    said: dict[str, Mapping[str, Any]] = {}
    for entry in reversed(table.history() if table else []):
        notes = entry.get("tokengap", [])
        said |= {note["load_id"]: note for note in notes if isinstance(note, dict)}
    return said


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{format_count(count)} rows"
