from itertools import pairwise

import pyarrow as pa

from tokengap.adapters.shared.gathered import Gathered, Gathering


def parts(*names: str) -> dict[str, pa.Array]:
    return {"name": pa.array(names)}


def names(found: Gathered | None) -> list[list[str]]:
    assert found is not None
    offsets = found.offsets.tolist()
    listed = found["name"].to_pylist()
    return [listed[begin:end] for begin, end in pairwise(offsets)]


def test_answers_come_in_the_order_in_which_they_ended_and_their_parts_in_that_of_the_log() -> None:
    gathering = Gathering()
    gathering.add(parts("a1", "b1", "a2", "b2", "c1"), [0, 1, 0, 1, 2])
    assert names(gathering.take([1, 0])) == [["b1", "b2"], ["a1", "a2"]]


def test_parts_are_held_until_their_answer_has_ended() -> None:
    gathering = Gathering()
    gathering.add(parts("a1", "b1"), [0, 1])
    assert names(gathering.take([0])) == [["a1"]]
    gathering.add(parts("c1", "b2"), [2, 1])
    assert names(gathering.take([2, 1])) == [["c1"], ["b1", "b2"]]


def test_a_part_of_no_answer_is_left_out() -> None:
    gathering = Gathering()
    gathering.add(parts("a1", "x", "a2"), [0, -1, 0])
    assert names(gathering.take([0])) == [["a1", "a2"]]


def test_where_nothing_has_ended_there_is_nothing_to_take() -> None:
    gathering = Gathering()
    assert gathering.take([]) is None
    gathering.add(parts("a1"), [0])
    assert gathering.take([]) is None


def test_marked_parts_are_found_and_counted_answer_by_answer() -> None:
    gathering = Gathering()
    marked = pa.array([True, False, True, None, None])
    gathering.add({"marked": marked}, [0, 0, 0, 1, 1])
    found = gathering.take([0, 1])
    assert found is not None
    where = found.where("marked")
    assert len(found) == 2
    assert found.sizes.tolist() == [3, 2]
    assert found.count(where).tolist() == [2, 0]
    assert found.first(where).to_pylist() == [0, None]
    assert found.last(where).to_pylist() == [2, None]
