import numpy as np
import pyarrow as pa
import pytest

from tokengap.adapters.rows import stage
from tokengap.adapters.shared.nested import (
    Constants,
    Reported,
    Stage,
    by_value,
    entry_lists,
    mark_lists,
    reported_lists,
    stage_lists,
    suffixed,
)
from tokengap.schema import STREAMS


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())


def test_stages_are_placed_or_only_have_a_length() -> None:
    clocks = pa.array(["c1", "c2", "c3"])
    lists = stage_lists(
        [
            Stage("queue", ints(1, None, None), ints(3, None, 9), ints(2, 5, None), clocks),
            Stage("relay", ints(4, 5, None), ints(3, None, 6), clock=clocks),
        ],
        3,
    )
    assert lists.type == STREAMS.field("stages").type
    assert lists.to_pylist() == [
        [stage("queue", 1, 3, clock="c1"), stage("relay", 4, 3, clock="c1")],
        [stage("queue", duration_ns=5)],
        [],
    ]


def test_who_went_through_a_stage() -> None:
    lists = stage_lists(
        [
            Stage("prefill", lasted_ns=ints(3, 4), worker=pa.array(["p0", "p1"])),
            Stage("relay", lasted_ns=ints(5, None)),
            Stage("queue", lasted_ns=ints(None, 6), worker="d"),
        ],
        2,
    )
    assert lists.to_pylist() == [
        [stage("prefill", duration_ns=3, worker="p0"), stage("relay", duration_ns=5)],
        [stage("prefill", duration_ns=4, worker="p1"), stage("queue", duration_ns=6, worker="d")],
    ]


def test_a_stage_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="no stage is called dinner"):
        stage_lists([Stage("dinner", lasted_ns=ints(1))], 1)


def test_marks_and_reported_numbers_of_a_row_keep_their_order() -> None:
    marks = mark_lists({"headers": ints(None, 4), "empty": ints(7, 3)}, 2)
    assert [[(m["kind"], m["t_ns"]) for m in row] for row in marks.to_pylist()] == [
        [("empty", 7)],
        [("headers", 4), ("empty", 3)],
    ]
    told = [Reported.of("ttft", "f", ints(None, 1)), Reported.of("e2e", "g", ints(None, 0))]
    assert reported_lists(told, 2).to_pylist() == [
        None,
        [
            {"metric": "ttft", "value_ns": 1, "formula": "f"},
            {"metric": "e2e", "value_ns": 0, "formula": "g"},
        ],
    ]
    assert reported_lists(told, 2, empty=True).to_pylist()[0] == []


def test_rows_that_have_no_list_at_all() -> None:
    none = np.array([True, False, False])
    stages = stage_lists([Stage("queue", lasted_ns=ints(1, 2, None))], 3, none)
    told = [Reported.of("ttft", "f", ints(1, 2, None))]
    reported = [reported_lists(told, 3, empty=empty, none=none) for empty in (True, False)]
    for lists in (stages, *reported):
        lists.validate(full=True)
        assert len(lists.flatten()) == 1  # an older Arrow cannot write values of a NULL list
    assert stages.to_pylist() == [None, [stage("queue", duration_ns=2)], []]
    row = [{"metric": "ttft", "value_ns": 2, "formula": "f"}]
    assert [lists.to_pylist() for lists in reported] == [[None, row, []], [None, row, None]]


def test_entries_that_lie_end_to_end_are_cut_into_rows() -> None:
    kinds = pa.array(["empty", "finish", "empty"])
    lists = entry_lists("marks", np.array([0, 2, 0, 1]), [kinds, ints(5, 7, 6)])
    assert lists.type == STREAMS.field("marks").type
    assert [[(m["kind"], m["t_ns"]) for m in row] for row in lists.to_pylist()] == [
        [],
        [("empty", 5), ("finish", 7)],
        [],
        [("empty", 6)],
    ]
    assert entry_lists("marks", np.zeros(2, np.int64), [kinds[:0], ints()]).to_pylist() == [[], []]


def test_texts_made_of_texts() -> None:
    texts = pa.array(["a", None, "b", "a"])
    assert suffixed(texts, "-p").to_pylist() == ["a-p", None, "b-p", "a-p"]
    assert by_value(texts, {"a": "A", "b": None}.get).to_pylist() == ["A", None, None, "A"]


@pytest.mark.parametrize(("name", "values"), [("trace", ["a", None, "b"]), ("marks", [[], None])])
def test_a_constant_column_has_the_value_and_the_rows_asked_for(
    name: str, values: list[object]
) -> None:
    constants = Constants()
    for value in (*values, *values):
        for rows in (4, 5, 2, 0, 9):
            column = constants.column(name, value, rows)
            assert (column.type, column.to_pylist()) == (STREAMS.field(name).type, [value] * rows)
