"""Cells that hold lists, as text or as Arrow's."""

import numpy as np
import pyarrow as pa
import pytest

from tokengap.adapters.shared.list_cells import in_rows, lists, split


@pytest.mark.parametrize(
    ("mark", "texts", "expected"),
    [
        (", ", ["1, 2", "3", "1,2"], [["1", "2"], ["3"], ["1,2"]]),
        (";", ["a;;b", ";"], [["a", "", "b"], ["", ""]]),
        (None, ["1  2\t3", "4"], [["1", "2", "3"], ["4"]]),
    ],
)
def test_texts_are_cut_at_marks_or_blanks(
    mark: str | None, texts: list[str], expected: list[list[str]]
) -> None:
    assert split(pa.array(texts), mark).to_pylist() == expected


@pytest.mark.parametrize("mark", [", ", None])
def test_an_empty_text_has_no_element_and_none_is_no_list(mark: str | None) -> None:
    assert split(pa.array(["", None, "1"]), mark).to_pylist() == [[], None, ["1"]]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(["[1, 2]", "[]", None, "3"]),
        pa.array(["1;2", "", None, "3"]),
        pa.array(["(1 2)", " ", None, "3"]),
        pa.array([["1", "2"], [], None, ["3"]]),
    ],
)
def test_elements_of_all_cells_lie_end_to_end(cells: pa.Array) -> None:
    elements, offsets, there = lists(cells)
    assert [text.strip() for text in elements.to_pylist()] == ["1", "2", "3"]
    assert offsets.tolist() == [0, 2, 2, 2, 3]
    assert there.tolist() == [True, True, False, True]


def test_what_is_no_list() -> None:
    with pytest.raises(TypeError, match="it holds int64, and a list is expected"):
        lists(pa.array([1, 2]))


def test_rows_with_a_marked_element() -> None:
    marked = np.array([False, True, True, False])
    assert in_rows(marked, np.array([0, 1, 1, 3, 4])).tolist() == [False, False, True, False]
