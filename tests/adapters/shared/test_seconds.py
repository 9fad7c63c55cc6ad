import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.seconds import (
    ms_column,
    ms_ns,
    seconds_column,
    seconds_ns,
)
from tokengap.schema import TIME_LIMIT_NS


@pytest.mark.parametrize(
    ("seconds", "ns"),
    [
        (0.0, 0),
        (1.5, 1_500_000_000),
        (-1.5, -1_500_000_000),
        (0.1, 100_000_000),
        (1e-9, 1),
        # The double next to this wall time is ...980_467_796_3...; times 1e9 it would be ..._736.
        (1_795_952_416.9804678, 1_795_952_416_980_467_796),
    ],
)
def test_seconds_are_rounded_once(seconds: float, ns: int) -> None:
    assert seconds_ns(seconds, "t") == ns
    assert round(Fraction(seconds) * 10**9) == ns


@given(st.integers(-(2**31) * 2**20, 2**31 * 2**20))
def test_wall_seconds_keep_what_a_double_holds(microseconds: int) -> None:
    # A multiple of 2^-20 s is exact in a double; its ns end in at most eleven binary digits.
    seconds = microseconds / 2**20
    assert seconds_ns(seconds, "t") == round(Fraction(microseconds, 2**20) * 10**9)


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, 1e300, 4.7e9, -4.7e9])
def test_what_is_no_time_is_refused_with_its_name(seconds: float) -> None:
    # 2^62 ns are 4,611,686,018 s.
    with pytest.raises(LineError, match="t: seconds expected") as caught:
        seconds_ns(seconds, "t")
    assert caught.value.field == "t"


def test_the_largest_time_is_within_the_limit() -> None:
    assert abs(seconds_ns(4_611_686_018.0, "t")) <= TIME_LIMIT_NS


def test_milliseconds_are_rounded_once() -> None:
    assert [ms_ns(value, "t") for value in (42.38939285, -0.0000006, 0.0)] == [42_389_393, -1, 0]
    with pytest.raises(LineError, match="t: milliseconds expected"):
        ms_ns(math.nan, "t")


@given(st.lists(st.none() | st.floats() | st.floats(-4.7e9, 4.7e9)))
@example([None, math.nan, 4_611_686_018.0, -4_611_686_019.0, 0.0000000005, 1.0000000015])
def test_columns_are_rounded_and_refused_as_single_values_are(values: list[float | None]) -> None:
    for column, one in ((seconds_column, seconds_ns), (ms_column, ms_ns)):
        ns, bad = column(pa.array(values, pa.float64()))
        for value, found, refused in zip(values, ns.to_pylist(), bad.tolist(), strict=True):
            if value is None:
                assert (found, refused) == (None, False)
            elif refused:
                with pytest.raises(LineError):
                    one(value, "t")
            else:
                assert found == one(value, "t")


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**43), 2**43)))
@example([-(2**63), 2**62 // 10**6, 2**62 // 10**6 + 1])
def test_whole_milliseconds_keep_every_digit(values: list[int | None]) -> None:
    ns, bad = ms_column(pa.array(values, pa.int64()))
    within = [value is None or abs(value) <= TIME_LIMIT_NS // 10**6 for value in values]
    assert [not refused for refused in bad] == within
    pairs = zip(values, within, strict=True)
    expected = [value * 10**6 if value is not None and ok else None for value, ok in pairs]
    assert ns.to_pylist() == expected
