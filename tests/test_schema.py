from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokengap.schema import (
    CLOCK_COLUMNS,
    CLOCKS,
    COUNT_SOURCES,
    GRANULARITIES,
    REJECT_COLUMNS,
    REJECTS,
    STATUSES,
    STREAM_COLUMNS,
    STREAMS,
    VANTAGES,
    Column,
)

TABLES = {"streams": STREAMS, "clocks": CLOCKS, "rejects": REJECTS}
COLUMNS = [*STREAM_COLUMNS, *CLOCK_COLUMNS, *REJECT_COLUMNS]
# A store written today is read by these positions for ever: append, never reorder.
STREAM_NAMES = [
    "trace", "request_id", "attempt", "choice", "vantage", "ids", "clock", "clock_kind",
    "granularity", "status", "error_kind", "finish_reason", "deployment", "model", "tenant",
    "slo_class", "labels", "prompt_tokens", "cached_prompt_tokens", "requested_output_tokens",
    "output_tokens", "token_count_source", "planned_ns", "sent_ns", "received_ns", "arrival_ns",
    "stream_close_ns", "first_token_ns", "gaps_ns", "min_gap_ns", "token_counts",
    "first_answer_ns", "last_token_ns", "reported", "last_prefill_token", "handoff_source",
    "prefill_worker", "decode_worker", "kv_bytes", "stages", "marks", "quality", "source",
]  # fmt: skip


def field_ids(fields: Iterator[pa.Field] | pa.Schema) -> Iterator[int]:
    """Ids of all fields, those inside lists, maps and structs included."""
    for field in fields:
        identified = field.metadata and field.metadata.get(b"PARQUET:field_id")
        if identified:
            yield int(identified)
        yield from field_ids(field.type.field(i) for i in range(field.type.num_fields))


def column(name: str) -> Column:
    return next(column for column in STREAM_COLUMNS if column.name == name)


def test_the_columns_of_streams_and_their_field_ids_are_these() -> None:
    assert [(c.field_id, c.name) for c in STREAM_COLUMNS] == list(enumerate(STREAM_NAMES, 1))


@pytest.mark.parametrize("table", TABLES)
def test_no_field_id_is_used_twice(table: str) -> None:
    ids = list(field_ids(TABLES[table]))
    assert len(ids) >= len(TABLES[table])
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("table", TABLES)
def test_parquet_keeps_every_field_id(table: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pq.write_table(TABLES[table].empty_table(), path)
    written = pq.read_schema(path)
    assert set(field_ids(TABLES[table])) <= set(field_ids(written))
    assert written.names == TABLES[table].names


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_every_column_says_what_it_holds(column: Column) -> None:
    assert column.doc.endswith(".")


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_times_are_whole_nanoseconds_and_named_so(column: Column) -> None:
    held = column.type.value_type if pa.types.is_list(column.type) else column.type
    assert (column.unit == "ns") == column.name.endswith("_ns")
    if column.unit == "ns":
        assert held == pa.int64()


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_counts_of_tokens_are_named_so(column: Column) -> None:
    named = column.name.endswith("_tokens") or column.name == "token_counts"
    assert (column.unit == "tokens") == named


@pytest.mark.parametrize("table", TABLES)
def test_no_time_anywhere_is_a_double(table: str) -> None:
    def types(fields: Iterator[pa.Field] | pa.Schema) -> Iterator[pa.DataType]:
        for field in fields:
            yield field.type
            yield from types(field.type.field(i) for i in range(field.type.num_fields))

    assert not [held for held in types(TABLES[table]) if pa.types.is_floating(held)]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("vantage", VANTAGES),
        ("granularity", GRANULARITIES),
        ("status", STATUSES),
        ("token_count_source", COUNT_SOURCES),
    ],
)
def test_a_closed_set_is_listed_in_its_columns_line(name: str, values: tuple[str, ...]) -> None:
    assert [value for value in values if value not in column(name).doc] == []
