import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.stamps import after_ns, any_unset, out_of_order


def test_zero_is_a_stamp_that_was_never_set() -> None:
    first, second = pa.array([1.0, 0.0, None, None]), pa.array([2.0, 2.0, -0.0, None])
    assert any_unset([first, second]).to_pylist() == [False, True, True, False]


STAMP = st.none() | st.integers(-3, 3)


@given(st.lists(st.tuples(STAMP, STAMP, STAMP), min_size=1))
def test_stamps_that_are_not_in_their_order(rows: list[tuple[int | None, ...]]) -> None:
    columns = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
    known = [[t_ns for t_ns in row if t_ns is not None] for row in rows]
    assert out_of_order(columns).to_pylist() == [row != sorted(row) for row in known]


def test_the_end_of_a_duration() -> None:
    assert after_ns(5, -7, "t") == -2
    assert after_ns(None, 7, "t") is None
    assert after_ns(5, None, "t") is None
    with pytest.raises(LineError, match=r"t: whole nanoseconds below 2\^62"):
        after_ns(2**61, 2**61, "t")
