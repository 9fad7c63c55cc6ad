"""Records in columns: each once, in order, with its line, and the bad ones put aside."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared import json_blocks
from tokengap.adapters.shared.json_columns import (
    Found,
    JsonColumns,
    are_times,
    column,
    is_text,
    there,
    values,
)
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Source


class Inner(msgspec.Struct):
    t_ns: Any = None


class Record(msgspec.Struct):
    n: Any
    inner: Inner | None = None

    def fields(self) -> dict[str, Any]:
        if type(self.n) not in (int, float) or self.n < 0:
            raise LineError("n: a number from 0 on expected", "n", self.n)
        return {"n": int(self.n)}


SCHEMA = pa.schema({"n": pa.int64(), "inner": pa.struct({"t_ns": pa.int64()})})


def sound(rows: pa.RecordBatch) -> Bools:
    good: Bools = there(column(rows, "n")) & (values(column(rows, "n")) >= 0)
    return good


COLUMNS = JsonColumns(SCHEMA, sound, Records(Record), Record.fields)


def read(folder: Path, *lines: str) -> tuple[list[Found], Intake]:
    path = folder / "log.jsonl"
    path.write_text("\n".join(lines) + "\n")
    source, intake = Source(str(path), path), Intake("t", "x")
    (block,) = source.blocks()
    return list(COLUMNS.read(source, block, intake)), intake


def numbers(found: list[Found]) -> dict[int, int]:
    """Line by value of n."""
    pairs = ((f.numbers.tolist(), f.rows.column("n").to_pylist()) for f in found)
    return {n: line for lines, ns in pairs for line, n in zip(lines, ns, strict=True)}


def test_good_records_are_read_at_once(tmp_path: Path) -> None:
    (found,), intake = read(tmp_path, '{"n":1,"x":[{}]}', '{"n":2,"inner":{"t_ns":5,"y":0}}')
    assert found.rows.to_pylist() == [{"n": 1, "inner": None}, {"n": 2, "inner": {"t_ns": 5}}]
    assert (found.numbers.tolist(), intake.rejects) == ([1, 2], [])
    (line,) = found.lines([1])
    assert (line.number, line.offset, line.data[:6]) == (2, 17, b'{"n":2')


@pytest.mark.parametrize("leaf", [1, 1 << 20])
def test_the_others_are_judged_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaf: int
) -> None:
    monkeypatch.setattr(json_blocks, "LEAF_BYTES", leaf)
    lines = ['{"n":1}', '{"n":-2}', "", '{"n":4.0}', '{"n":null}', "x", '{"n":7,"n":7}', '{"n":8}']
    found, intake = read(tmp_path, *lines)
    assert numbers(found) == {1: 1, 4: 4, 8: 8}
    rejects = sorted((reject.line, reject.field, reject.value) for reject in intake.rejects)
    assert rejects == [(2, "n", "-2"), (5, "n", None), (6, None, None), (7, "n", None)]
    for each in found:
        for line, number in zip(each.lines(range(len(each.numbers))), each.numbers, strict=True):
            assert (line.number, line.data.decode()) == (number, lines[number - 1])


def test_a_row_that_is_not_sound_is_read_again(tmp_path: Path) -> None:
    found, intake = read(tmp_path, '{"n":1}', '{"n":-2}', '{"n":3}')
    assert numbers(found) == {1: 1, 3: 3}
    assert [(reject.line, reject.value) for reject in intake.rejects] == [(2, "-2")]


def test_values_of_a_column_and_where_they_are() -> None:
    array = pa.array([1, None, 3])
    assert (values(array).tolist(), there(array).tolist()) == ([1, 0, 3], [True, False, True])
    assert values(pa.array([True, None])).tolist() == [True, False]
    assert is_text(pa.array(["a", None, "b"]), "a").tolist() == [True, False, False]
    assert are_times(np.array([2**62 - 1, 2**62, 1 - 2**62, -(2**62)])).tolist() == [
        True, False, True, False,
    ]  # fmt: skip
