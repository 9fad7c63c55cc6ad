import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.weekly.cells import cells, rows_of, some_cells
from tokengap.weekly.cells import joined

ROWS = st.lists(some_cells(most=4), min_size=1, max_size=4)


def test_only_the_cells_asked_for_are_left() -> None:
    found = cells({"block": 1, "met": 2}, {"block": 2, "met": 3}, {"block": 3, "met": 4})
    left = found.where(np.array([True, False, True]))
    assert rows_of(left) == [rows_of(found)[0], rows_of(found)[2]]
    assert rows_of(left.where(np.array([False, False]))) == []


def test_runs_that_are_joined_share_no_block() -> None:
    """Blocks 5 to 7 become 0 to 2, so 100 becomes 3, and 0 to 1 become 4 and 5."""
    parts = [
        cells({"block": 7, "met": 1}, {"block": 5, "met": 2}),
        cells({"block": 100, "met": 3, "now": True}),
        cells({"block": 0, "met": 4}, {"block": 1, "met": 5}),
    ]
    found = joined(parts, [False, True, False])
    assert found.block.tolist() == [2, 0, 3, 4, 5]
    assert found.now.tolist() == [False, False, True, False, False]
    assert found.met.tolist() == [1, 2, 3, 4, 5]


def test_a_run_without_a_cell_joins_as_nothing() -> None:
    nothing, one = cells(), cells({"block": 3, "met": 1})
    assert rows_of(joined([nothing, nothing], [False, True])) == []
    found = joined([nothing, one, nothing, one], [False, False, True, True])
    assert found.block.tolist() == [0, 1]
    assert found.now.tolist() == [False, True]


@given(ROWS, st.data())
def test_joining_changes_nothing_else(
    parts: list[list[dict[str, int]]], data: st.DataObject
) -> None:
    now = data.draw(st.lists(st.booleans(), min_size=len(parts), max_size=len(parts)))
    found = rows_of(joined([cells(*rows) for rows in parts], now))
    kept = [
        {name: value for name, value in row.items() if name not in {"now", "block"}}
        for row in found
    ]
    every = [row for rows in parts for row in rows_of(cells(*rows))]
    assert kept == [
        {name: value for name, value in row.items() if name not in {"now", "block"}}
        for row in every
    ]
    assert [row["now"] for row in found] == [
        n for n, rows in zip(now, parts, strict=True) for _ in rows
    ]
    of_part = [at for at, rows in enumerate(parts) for _ in rows]
    blocks: dict[int, set[int]] = {}
    for at, row in zip(of_part, found, strict=True):
        blocks.setdefault(at, set()).add(row["block"])
    assert sum(map(len, blocks.values())) == len(set.union(*blocks.values()))
    for at, rows in enumerate(parts):
        least = min(row["block"] for row in rows)
        mine = [row["block"] for part, row in zip(of_part, found, strict=True) if part == at]
        assert [block - min(mine) for block in mine] == [row["block"] - least for row in rows]
