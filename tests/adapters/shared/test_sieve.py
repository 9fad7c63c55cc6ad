"""Of several reasons against a row the first one counts, and is said with its cell."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.cells import counts
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.source import Source


def test_rows_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x")
    source, intake = Source("log", path), Intake("t", "table")
    sieve = Sieve(4)
    column = pa.array(["1", "x", None, "2"])
    sieve.checked(counts(column), "number", "n", column)
    sieve.refuse(np.array([False, True, False, True]), "wrong", "m")
    assert sieve.good.tolist() == [True, False, False, False]
    sieve.report(source, lambda row: 10 + row, intake)
    found = [(r.line, r.reason, r.field, r.value) for r in intake.rejects]
    assert found == [
        (11, "n: number expected", "n", "x"),
        (12, "n: missing", "n", None),
        (13, "m: wrong", "m", None),
    ]


def test_a_cell_may_be_missing_where_it_is_not_required() -> None:
    sieve = Sieve(1)
    column = pa.array([None], pa.string())
    cells = sieve.checked(counts(column), "number", "n", column, required=False)
    assert cells.there.tolist() == [False]
    assert sieve.good.all()


def test_a_row_may_have_a_reason_of_its_own_and_one_that_is_passed_over_has_none(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x")
    source, intake = Source("log", path), Intake("t", "table")
    sieve = Sieve(4)
    sieve.pass_over(np.array([True, False, False, False]))
    sieve.refuse_one(0, LineError("late"))
    sieve.refuse_one(1, LineError("no date", "at", 5))
    sieve.put_aside(np.array([True, True, True, False]), "copy", "id", pa.array([None] * 4))
    assert sieve.good.tolist() == [False, False, False, True]
    sieve.report(source, lambda row: row, intake)
    found = [(r.line, r.reason, r.field, r.value) for r in intake.rejects]
    assert found == [(1, "no date", "at", "5"), (2, "copy", "id", None)]
