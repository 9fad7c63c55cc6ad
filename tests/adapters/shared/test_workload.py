"""Rows made in bulk are those that a stream of only arrival and lengths gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tokengap.adapters.interface import Intake
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.cells import Cells
from tokengap.adapters.shared.nested import Reported
from tokengap.adapters.shared.workload import DataSet, Requests
from tokengap.adapters.source import Source
from tokengap.schema import STREAMS


def cells(*values: int | None) -> Cells:
    there = np.array([value is not None for value in values])
    return Cells(np.array([value or 0 for value in values]), there, ~there)


def data_set(folder: Path) -> DataSet:
    path = folder / "requests.csv"
    path.write_bytes(b"x")
    return DataSet(Source(str(path), path), Intake("run", "table"), clock_kind="wall")


def test_bulk_rows_equal_streams(tmp_path: Path) -> None:
    made = data_set(tmp_path)
    requests = Requests(
        arrival_ns=cells(10, 20),
        prompt_tokens=cells(5, None),
        output_tokens=cells(3, 0),
        texts={"model": pa.array(["m", None]), "status": pa.array(["completed", "failed"])},
        labels={"session": pa.array(["s", None]), "turn": pa.array(["1", "2"])},
        reported=[Reported("e2e", "how", cells(7, None))],
        notes={"sentinel_dropped": np.array([False, True])},
    )
    batch = made.batch(requests, pa.array(["a", "b"]), pa.array(["2", "3"]))
    batch.validate(full=True)
    clock = Intake("run", "table").source_id(made.source)
    known: Any = {"clock": clock, "clock_kind": "wall", "vantage": "engine", "workload": True}
    first = Stream(
        request_id="a", source=f"{clock}:2", status="completed", arrival_ns=10, prompt_tokens=5,
        total_tokens=3, total_source="usage", model="m", labels={"session": "s", "turn": "1"},
        reported=[{"metric": "e2e", "value_ns": 7, "formula": "how"}], **known,
    )  # fmt: skip
    second = Stream(
        request_id="b", source=f"{clock}:3", status="failed", arrival_ns=20, total_tokens=0,
        total_source="usage", labels={"turn": "2"}, quality=["sentinel_dropped"], **known,
    )  # fmt: skip
    (expected,) = record_batches([first, second], "run")
    assert batch.to_pylist() == expected.to_pylist()


def test_a_batch_larger_than_the_ones_before_is_as_right(tmp_path: Path) -> None:
    made = data_set(tmp_path)
    for size in (1, 5, 3):
        numbers = cells(*range(size))
        names = pa.array([str(n) for n in range(size)])
        batch = made.batch(Requests(numbers, numbers, numbers), names, names)
        table = pa.Table.from_batches([batch], STREAMS)
        assert table.column("arrival_ns").to_pylist() == list(range(size))
        assert set(table.column("granularity").to_pylist()) == {"workload"}
        assert table.column("labels").to_pylist() == [[]] * size
