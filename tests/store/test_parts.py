import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.store.fakes import NOON_NS, PROVENANCE, batch
from tokengap.errors import StoreError
from tokengap.schema import STREAM_COLUMNS, STREAMS
from tokengap.store import parts
from tokengap.store.parts import PartWriter, read_parts, verify
from tokengap.store.records import Part, footer, from_footer

CASES = Path(__file__).parents[1] / "cases" / "data"


def case(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CASES / name).read_text(encoding="utf-8"))
    return found


def write(path: Path, *batches: pa.RecordBatch) -> Part:
    writer = PartWriter(path, PROVENANCE)
    for each in batches:
        writer.write(each)
    return writer.close()


def column_by_every_reader(path: Path, name: str) -> list[list[Any]]:
    return [
        pq.read_table(path)[name].to_pylist(),
        pl.read_parquet(path)[name].to_list(),
        [row[0] for row in duckdb.execute(f"SELECT {name} FROM read_parquet('{path}')").fetchall()],
    ]


def test_packed_deltas_read_equal_in_every_reader(tmp_path: Path) -> None:
    times = case("66-delta-encoded-int64.json")["input"]["times_ns"]
    assert len(times) == 5
    write(tmp_path / "part", batch(times))
    assert column_by_every_reader(tmp_path / "part", "gaps_ns") == [[times]] * 3


def test_nanoseconds_stay_apart_in_every_reader(tmp_path: Path) -> None:
    found = case("65-parquet-nanoseconds.json")
    first, last = found["input"]["times_ns"]
    rows = batch([last - first], sent_ns=[first], stream_close_ns=[last])
    write(tmp_path / "part", rows)
    for name, expected in (
        ("gaps_ns", found["expect"]["gaps_ns"]), ("sent_ns", first), ("stream_close_ns", last),
    ):  # fmt: skip
        assert column_by_every_reader(tmp_path / "part", name) == [[expected]] * 3


def test_a_row_comes_back_as_it_was(tmp_path: Path) -> None:
    rows = batch(
        [3, -1], None, [],
        trace=["a", "a", "b"],
        request_id=["r1", "r2", "r1"],
        ids=[[("x_request_id", "u")], None, []],
        token_counts=[[1, 2, 1], None, [4]],
        stages=[[{"name": "queue", "start_ns": 1, "end_ns": 3, "duration_ns": 2}], None, []],
        marks=[[{"kind": "role", "t_ns": -5}], [], None],
        reported=[None, [{"metric": "tpot", "value_ns": 9, "formula": "f"}], []],
        quality=[["smeared"], [], None],
        kv_bytes=[2**40, None, 0],
        output_tokens=[4, None, 4],
    )  # fmt: skip
    write(tmp_path / "part", rows)
    assert pq.read_table(tmp_path / "part").to_pylist() == rows.to_pylist()


def test_columns_keep_their_field_ids(tmp_path: Path) -> None:
    write(tmp_path / "part", batch([1]))
    read = pq.ParquetFile(tmp_path / "part").schema_arrow
    ids = {field.name: int(field.metadata[b"PARQUET:field_id"]) for field in read}
    assert ids == {column.name: column.field_id for column in STREAM_COLUMNS}
    for name in ("gaps_ns", "token_counts", "quality", "stages", "marks", "reported"):
        here, there = read.field(name).type, STREAMS.field(name).type
        assert here.value_field.metadata == there.value_field.metadata


def test_every_row_group_packs_its_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROW_GROUP_GAPS", 40)
    write(tmp_path / "part", batch([1, 2], None, [], [5]))
    metadata = pq.read_metadata(tmp_path / "part")
    encodings = {
        group: metadata.row_group(group).column(index).encodings
        for group in range(metadata.num_row_groups)
        for index in range(metadata.num_columns)
        if metadata.schema.column(index).path == "gaps_ns.list.element"
    }
    assert list(encodings) == [0, 1]
    for found in encodings.values():
        assert "DELTA_BINARY_PACKED" in found
        assert "PLAIN" not in found


def test_a_part_with_plain_gaps_is_refused(tmp_path: Path) -> None:
    misspelt = {"gaps_ns.list.item": "DELTA_BINARY_PACKED"}
    pq.write_table(
        pa.Table.from_batches([batch([1, 2])]),
        tmp_path / "plain",
        use_dictionary=False,
        column_encoding=misspelt,
    )
    with pytest.raises(
        StoreError, match=r"plain: row group 0 holds gaps_ns.list.element as .*PLAIN"
    ):
        verify(tmp_path / "plain")


def group_sizes(path: Path) -> list[int]:
    metadata = pq.read_metadata(path)
    return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]


def test_row_groups_are_cut_by_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a row weighs its gaps and 16 more: 20 each here, so three of them fill 60 exactly
    monkeypatch.setattr(parts, "ROW_GROUP_GAPS", 60)
    rows = [[1, 2, 3, 4]] * 7
    write(tmp_path / "part", batch(*rows[:5]), batch(*rows[5:]))
    assert group_sizes(tmp_path / "part") == [3, 3, 1]


def test_a_stream_longer_than_a_row_group_is_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "ROW_GROUP_GAPS", 60)
    write(tmp_path / "part", batch([1], list(range(500)), [1], [1]))
    assert group_sizes(tmp_path / "part") == [1, 1, 2]


def test_streams_without_gaps_end_a_row_group_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "ROW_GROUP_GAPS", 32)
    write(tmp_path / "part", batch(*[None] * 5))
    assert group_sizes(tmp_path / "part") == [2, 2, 1]


def test_no_more_than_a_row_group_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROW_GROUP_GAPS", 60)
    writer = PartWriter(tmp_path / "part", PROVENANCE)
    held = []
    for _ in range(9):
        writer.write(batch([1, 2], []))
        held.append(writer.held)
    writer.discard()
    # 34 gaps a batch: one fits, the second is cut after its first row, and so on
    assert max(held) <= 60
    assert held[0] == 34


def test_a_part_says_what_it_is(tmp_path: Path) -> None:
    rows = batch(
        [1], [2], [3], [4],
        output_tokens=[2, None, 5, 1],
        clock_kind=["wall", "wall", "monotonic", "wall"],
        sent_ns=[NOON_NS + 1, None, 5, None],
        received_ns=[NOON_NS - 9, NOON_NS - 3, 6, None],
    )  # fmt: skip
    part = write(tmp_path / "part", rows)
    assert (part.streams, part.tokens) == (4, 8)
    assert (part.first_origin_ns, part.last_origin_ns) == (NOON_NS - 3, NOON_NS + 1)
    assert read_parts(str(tmp_path / "part")) == [part]


def test_a_part_without_rows_is_readable(tmp_path: Path) -> None:
    part = write(tmp_path / "part")
    assert (part.streams, part.tokens, part.first_origin_ns) == (0, 0, None)
    assert column_by_every_reader(tmp_path / "part", "gaps_ns") == [[], [], []]


def test_nothing_is_there_before_the_end_or_after_a_discard(tmp_path: Path) -> None:
    writer = PartWriter(tmp_path / "part", PROVENANCE)
    writer.write(batch([1]))
    writer.flush()
    assert not (tmp_path / "part").exists()
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    writer = PartWriter(tmp_path / "part", PROVENANCE)
    writer.write(batch([1]))
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(StoreError, match=r"part: cannot be written .*No space left"):
        writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_part_that_fails_its_check_gets_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_encoding", dict)
    with pytest.raises(StoreError, match="not DELTA_BINARY_PACKED"):
        write(tmp_path / "part", batch([1]))
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_file_is_no_part(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign")
    (tmp_path / "garbage").write_bytes(b"PAR1" + bytes(100))
    for name in ("foreign", "garbage", "missing"):
        with pytest.raises(StoreError, match=f"{name}: no part that tokengap wrote"):
            read_parts(str(tmp_path / name))


def test_a_file_from_before_files_were_merged_is_read(tmp_path: Path) -> None:
    part = write(tmp_path / "part", batch([1], output_tokens=[2]))
    [facts] = json.loads(footer([part]))
    for later in ("first_row", "pruned"):
        del facts[later]
    older = pq.read_table(tmp_path / "part")
    older = older.replace_schema_metadata({parts.FOOTER_KEY: json.dumps(facts).encode()})
    pq.write_table(older, tmp_path / "older")
    assert read_parts(str(tmp_path / "older")) == [replace(part, uri=str(tmp_path / "older"))]


def test_a_part_says_when_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "now_ns", lambda: NOON_NS)
    written = write(tmp_path / "part", batch([1]))
    assert written.loaded_ns == NOON_NS
    assert read_parts(str(tmp_path / "part")) == [written]
    facts = json.loads(footer([written]))
    del facts[0]["loaded_ns"]  # as files say that are from before
    [older] = from_footer("file", json.dumps(facts).encode())
    assert older == replace(written, uri="file", loaded_ns=None)
    assert older.load_id == written.load_id
