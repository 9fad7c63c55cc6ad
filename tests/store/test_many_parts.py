import os
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.store.fakes import PROVENANCE, batch
from tokengap.errors import StoreError
from tokengap.store.connect import streams_scan
from tokengap.store.parts import MANY_FILES, PartWriter, _read_many, read_all, read_parts


def part(path: Path, request: str, kv_bytes: int, *, without: tuple[str, ...] = ()) -> str:
    """A part of one row; `without` some columns, as from before they were added."""
    writer = PartWriter(path, PROVENANCE)
    marks = [[{"kind": "role", "t_ns": 5}]]
    writer.write(batch([3, 4], request_id=[request], kv_bytes=[kv_bytes], marks=marks))
    writer.close()
    if without:
        pq.write_table(pq.read_table(path).drop_columns(list(without)), path)
    return str(path)


@pytest.mark.parametrize("older_first", [True, False])
def test_parts_from_before_a_column_are_read_beside_newer_ones(
    tmp_path: Path, older_first: bool
) -> None:
    older = part(tmp_path / "older", "old", 7, without=("kv_bytes", "marks"))
    newer = part(tmp_path / "newer", "new", 8)
    files = [older, newer] if older_first else [newer, older]
    query = f"SELECT request_id, gaps_ns, kv_bytes, marks FROM {streams_scan(files)} ORDER BY ALL"
    assert duckdb.execute(query).fetchall() == [
        ("new", [3, 4], 8, [{"kind": "role", "t_ns": 5}]), ("old", [3, 4], None, None),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["plain", "run[1]*", "a blank?"])
def test_many_footers_are_read_as_one_by_one(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    files = [part(folder / f"{number}", f"r{number}", number) for number in range(MANY_FILES)]
    expected = {file: read_parts(file) for file in files}
    assert _read_many(files) == expected
    assert read_all(files) == expected


def test_a_damaged_one_of_many_is_named(tmp_path: Path) -> None:
    files = [part(tmp_path / f"{number}", f"r{number}", number) for number in range(MANY_FILES)]
    os.truncate(files[5], 100)
    with pytest.raises(StoreError, match=f"{files[5]}: no part that tokengap wrote"):
        read_all(files)
