"""Rows come back sorted and whole, whatever their number and order."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from tokengap.adapters.shared import spill
from tokengap.adapters.shared.spill import GROUP, Spill
from tokengap.errors import InputError

SCHEMA = pa.schema({GROUP: pa.int32(), "at": pa.int64(), "data": pa.binary()})


def rows(*values: tuple[int, int, bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array(column, f.type)
            for column, f in zip(zip(*values, strict=True), SCHEMA, strict=True)
        ],
        schema=SCHEMA,
    )


def test_rows_are_sorted_and_cut_before_each_end() -> None:
    with Spill({"t": SCHEMA, "none": SCHEMA}) as put_aside:
        put_aside.add("t", rows((2, 1, b"e"), (0, 5, b"b"), (3, 0, b"f")))
        put_aside.add("t", rows((0, 4, b"a"), (2, 0, b"d")))
        cut = [t.column("data").to_pylist() for t in put_aside.read("t", ["at"], [1, 2, 3, 4])]
        assert cut == [[b"a", b"b"], [], [b"d", b"e"], [b"f"]]
        assert put_aside.sizes("t", 5).tolist() == [2, 0, 2, 1, 0]
        assert [t.num_rows for t in put_aside.read("none", ["at"], [1, 2])] == [0, 0]
        assert put_aside.sizes("none", 2).tolist() == [0, 0]


def test_two_tables_can_be_read_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "_HELD_BYTES", 10_000)
    chance = random.Random(3)  # noqa: S311  # no secret
    values = [(n // 100, n, b"%d" % n) for n in range(10_000)]
    shuffled = chance.sample(values, len(values))
    ends = [7, 7, 50, 100]
    with Spill({"t": SCHEMA, "u": SCHEMA}) as put_aside:
        for start in range(0, len(values), 500):
            put_aside.add("t", rows(*shuffled[start : start + 500]))
            put_aside.add("u", rows(*values[start : start + 500]))
        read = [list(put_aside.read(table, ["at"], ends)) for table in "tu"]
        side_by_side = zip(*(put_aside.read(table, ["at"], ends) for table in "tu"), strict=True)
        assert all(one.equals(other) for one, other in side_by_side)
    assert [table.num_rows for table in read[0]] == [700, 0, 4300, 5000]
    assert pa.concat_tables(read[0]).column("at").to_pylist() == list(range(10_000))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Spill({"t": SCHEMA}) as put_aside:
        put_aside.add("t", rows((0, 0, b"")))
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_no_room_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(spill, "MEMORY", "1MB")
    many = rows(*((n, n, b"x" * 1000) for n in range(20_000)))  # 20 MB: not held back
    with Spill({"t": SCHEMA}) as put_aside, pytest.raises(InputError, match="set TMPDIR"):
        put_aside.add("t", many)
