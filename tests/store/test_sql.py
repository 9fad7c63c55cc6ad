from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokengap.store.sql import parquet_scan


def write(path: Path, value: int) -> str:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"a": [value]}), path)
    return str(path)


@pytest.mark.parametrize("name", ["run[1]", "run*", "run?", "run[a-z]", "it's"])
def test_a_path_means_itself_whatever_is_in_it(tmp_path: Path, name: str) -> None:
    neighbours = [write(tmp_path / near / "part", 2) for near in ("run1", "runa")]
    odd = write(tmp_path / name / "part", 1)
    assert duckdb.execute(f"SELECT a FROM {parquet_scan([odd])}").fetchall() == [(1,)]
    both = parquet_scan([odd, *neighbours])
    assert duckdb.execute(f"SELECT a FROM {both}").fetchall() == [(1,), (2,), (2,)]


def test_a_folder_is_no_column(tmp_path: Path) -> None:
    path = write(tmp_path / "a=9" / "part", 1)
    found = duckdb.execute(f"SELECT * FROM {parquet_scan([path])}")
    assert [column[0] for column in found.description or []] == ["a"]
    assert found.fetchall() == [(1,)]
