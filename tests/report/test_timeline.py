from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tokengap.report.timeline import Slice, lanes


def span(start_ns: int, duration_ns: int) -> Slice:
    told: dict[str, Any] = {}
    return Slice("a", "stage", start_ns, duration_ns, told)


def nest_or_follow(one: Slice, other: Slice) -> bool:
    """Told from their ends alone."""
    ends = [(each.start_ns, each.start_ns + each.duration_ns) for each in (one, other)]
    (start, end), (other_start, other_end) = sorted(ends, key=lambda e: (e[0], -e[1]))
    return other_start >= end or start <= other_start <= other_end <= end


spans = st.builds(span, st.integers(0, 20), st.integers(0, 10))


@given(st.lists(spans, max_size=12))
def test_slices_of_a_track_nest_or_follow_each_other(slices: list[Slice]) -> None:
    made = lanes(slices)
    assert sorted(map(id, slices)) == sorted(id(each) for lane in made for each in lane)
    for lane in made:
        assert all(nest_or_follow(*pair) for pair in combinations(lane, 2))
        assert [each.start_ns for each in lane] == sorted(each.start_ns for each in lane)


def test_slices_that_nest_share_a_track() -> None:
    whole, first, second = span(0, 100), span(0, 40), span(40, 60)
    assert lanes([second, first, whole]) == [[whole, first, second]]


def test_slices_that_cross_do_not() -> None:
    assert lanes([span(0, 50), span(40, 60)]) == [[span(0, 50)], [span(40, 60)]]
