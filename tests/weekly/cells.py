"""Cells by hand, and random ones."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from tokengap.weekly.cells import Cells

COLUMNS: Final[dict[str, tuple[Any, Any]]] = {
    "now": (np.bool_, False), "block": (np.int64, 0), "prompt": (np.int64, 0),
    "output": (np.int64, 0), "finished": (np.bool_, True), "applies": (np.float64, 0.0),
    "met": (np.float64, 0.0), "valued": (np.float64, 0.0), "log_sum": (np.float64, 0.0),
}  # fmt: skip
"""Kind of each column, and what it is where a cell does not say."""


def cells(*rows: dict[str, Any]) -> Cells:
    """One cell a row."""
    assert all(row.keys() <= COLUMNS.keys() for row in rows)
    return Cells(*(
        np.array([row.get(name, missing) for row in rows], dtype=kind)
        for name, (kind, missing) in COLUMNS.items()
    ))  # fmt: skip


def rows_of(found: Cells) -> list[dict[str, Any]]:
    """The cells as rows again."""
    columns = {name: getattr(found, name).tolist() for name in COLUMNS}
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def spread_over(blocks: Iterable[int], **cell: Any) -> list[dict[str, Any]]:
    """The same cell in each of these blocks."""
    return [{"block": block} | cell for block in blocks]


def both(*rows: dict[str, Any], then: dict[str, Any], now: dict[str, Any]) -> Cells:
    """The same cells in both periods, but for what each says otherwise."""
    return cells(*(row | {"now": False} | then for row in rows),
                 *(row | {"now": True} | now for row in rows))  # fmt: skip


@st.composite
def some_cells(draw: st.DrawFn, *, most: int = 12) -> list[dict[str, Any]]:
    """Rows whose sums fit each other; counts are whole."""
    found = []
    for _ in range(draw(st.integers(1, most))):
        applies = draw(st.integers(1, 40))
        valued = draw(st.integers(0, applies))
        found.append({
            "now": draw(st.booleans()),
            "block": draw(st.integers(0, 9)),
            "prompt": draw(st.sampled_from([-2, -1, 0, 7, 40])),
            "output": draw(st.sampled_from([-2, 0, 5])),
            "finished": draw(st.sampled_from([True, True, False])),
            "applies": applies,
            "met": draw(st.integers(0, applies)),
            "valued": valued,
            "log_sum": valued * draw(st.sampled_from([14.0, 15.5, 20.0])),
        })  # fmt: skip
    return found
