import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.shared.names import Attempts, Names


def test_each_name_is_given_once() -> None:
    names = Names()
    given = [names.name(logged, index) for index, logged in enumerate(["a", None, "a", "1", ""])]
    assert given == ["a", "1", "a#2", "1#3", "4"]


LOGGED = st.lists(st.tuples(st.sampled_from(["a", "b", "1", "c#3", "", None]), st.booleans()))


@given(st.lists(LOGGED, max_size=4))
def test_many_at_once_get_the_names_that_they_get_one_by_one(
    groups: list[list[tuple[str | None, bool]]],
) -> None:
    together, singly, index = Names(), Names(), 0
    for group in groups:
        logged, good = [name for name, _ in group], np.array([ok for _, ok in group], bool)
        indices = index + np.arange(len(group))
        given = together.names(logged, indices, good) or logged
        for name, at, ok, found in zip(logged, indices.tolist(), good, given, strict=True):
            if ok:
                assert found == singly.name(name, at)
        index += len(group)


def test_attempts_are_counted_over_all_that_is_good() -> None:
    attempts = Attempts()
    good = np.array([True, True, True])
    assert attempts.numbers(["a", "b", "c"], good).tolist() == [0, 0, 0]
    assert attempts.numbers(["d", "a", "d"], np.array([True, False, True])).tolist() == [0, 0, 1]
    assert attempts.numbers(["a", "d", "e"], good).tolist() == [1, 2, 0]
