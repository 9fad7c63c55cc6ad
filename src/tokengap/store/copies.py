"""Rows that are in a store already, copied into another file: to be fewer files, or less rows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tokengap.errors import StoreError
from tokengap.schema import STREAMS
from tokengap.store.parts import PartFile
from tokengap.store.places import file_system, is_remote, reason
from tokengap.store.records import Part

BATCH_ROWS: Final = 4096


def copied(parts: Sequence[Part], folder: Path) -> list[Part]:
    """One new file in `folder` with the rows of these parts, each load still told from the others.

    The parts are of one day, and those of one file follow each other in its order. StoreError if a
    file cannot be read, or does not hold the rows it should.
    """
    path = (folder / f"merged-{uuid4().hex[:12]}.parquet").absolute()
    starts = accumulate((part.streams for part in parts), initial=0)
    new = [
        replace(part, uri=str(path), first_row=start)
        for part, start in zip(parts, starts, strict=False)
    ]
    writer = PartFile(path)
    try:
        for uri, of_one_file in groupby(parts, lambda part: part.uri):
            for batch in _rows(uri, [part for part in of_one_file if part.streams]):
                writer.write(batch)
        writer.finish(new)
    finally:
        writer.discard()
    return new


def emptied(parts: Sequence[Part], folder: Path) -> list[Part]:
    """One new file without rows that only names the loads of these parts, as pruned."""
    gone = [replace(part, streams=0, tokens=0, pruned=True) for part in parts]
    return copied(gone, folder)


def _rows(uri: str, parts: Sequence[Part]) -> Iterator[pa.RecordBatch]:
    """The rows of these parts of one file."""
    if not parts:
        return
    filesystem, path = file_system(uri)
    spans = [(part.first_row, part.first_row + part.streams) for part in parts]
    found = start = 0
    try:
        with filesystem.open_input_file(path) as file:
            # far away, all columns of a row group are worth one request
            parquet = pq.ParquetFile(file, pre_buffer=is_remote(uri))
            for batch in parquet.iter_batches(BATCH_ROWS):
                for first, last in spans:
                    low, high = max(first - start, 0), min(last - start, batch.num_rows)
                    if low < high:
                        found += high - low
                        yield _whole(batch.slice(low, high - low))
                start += batch.num_rows
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"{uri}: cannot be read ({reason(error)}); see `tokengap store verify`"
        ) from error
    if found != sum(part.streams for part in parts):
        raise StoreError(f"{uri}: rows are missing; see `tokengap store verify`")


def _whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows in all columns of today: those that the file was written without are NULL."""
    there = set(batch.schema.names)
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in there
        else pa.nulls(batch.num_rows, field.type)
        for field in STREAMS
    ]
    return pa.RecordBatch.from_arrays(columns, schema=STREAMS)
