"""Cells become exact integers, or are said to be missing or bad."""

from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.shared.cells import ISO, PLACES, Cells, counts, shown, texts, times
from tokengap.adapters.shared.list_cells import lists
from tokengap.schema import TIME_LIMIT_NS

MISSING, BAD = None, "bad"


def seen(cells: Cells) -> list[int | str | None]:
    found = zip(cells.values.tolist(), cells.there.tolist(), cells.bad.tolist(), strict=True)
    return [BAD if bad else value if there else MISSING for value, there, bad in found]


def test_text_keeps_every_digit() -> None:
    column = pa.array(["0.45", " 7", "1e-05", "-3", "1700047063.979960012", None])
    expected = [450_000_000, 7 * 10**9, 10_000, -3 * 10**9, 1_700_047_063_979_960_012, MISSING]
    assert seen(times(column, "s")) == expected


def test_a_bad_cell_beside_long_ones_costs_them_no_digit() -> None:
    # As doubles the first two would both be ...784.
    column = pa.array(["1764417600000000001", "1764417600000000002", "x"])
    assert seen(times(column, "ns")) == [1764417600000000001, 1764417600000000002, BAD]
    column = pa.array(["1764417600000000001", "2.5e0"])
    assert seen(times(column, "ns")) == [1764417600000000001, 2]


def test_a_number_that_is_a_double_is_rounded_once() -> None:
    # 2.5 ns is half way: to the even one. The last is the nearest double of 1700047063.97996 s.
    column = pa.array([0.45, 2.5e-9, float("nan"), 1700047063.97996, None])
    exact = round(Fraction(1700047063.97996) * 10**9)
    assert seen(times(column, "s")) == [450_000_000, 2, MISSING, exact, MISSING]


def test_whole_numbers_are_exact_up_to_the_limit() -> None:
    column = pa.array([TIME_LIMIT_NS, TIME_LIMIT_NS + 1, -TIME_LIMIT_NS, None])
    assert seen(times(column, "ns")) == [TIME_LIMIT_NS, BAD, -TIME_LIMIT_NS, MISSING]
    large = TIME_LIMIT_NS // 10**6
    assert seen(times(pa.array([large, large + 1]), "ms")) == [large * 10**6, BAD]


@pytest.mark.parametrize("cell", ["abc", "1,5", "0x10", "inf", "1e400", "--1", "1 2", "4611686019"])
def test_what_is_no_time_in_seconds_is_bad(cell: str) -> None:
    assert seen(times(pa.array([cell, "1"]), "s")) == [BAD, 10**9]


@given(
    whole=st.integers(-(10**9), 10**9),
    digits=st.text("0123456789", min_size=1, max_size=9),
    unit=st.sampled_from(["s", "ms"]),
)
def test_text_of_a_whole_number_of_ns_is_that_number(whole: int, digits: str, unit: str) -> None:
    text = f"{whole}.{digits[: PLACES[unit]]}"
    exact = Decimal(text).scaleb(PLACES[unit])
    assert seen(times(pa.array([text, "0.5"]), unit))[0] == int(exact)


@given(st.decimals(-(10**9), 10**9, places=15))
def test_further_digits_move_it_by_less_than_one(number: Decimal) -> None:
    (ns, _) = seen(times(pa.array([format(number, "f"), "0.5"]), "s"))
    assert isinstance(ns, int)
    assert abs(ns - Fraction(number) * 10**9) < 1


def test_dates_and_times_keep_their_last_digit() -> None:
    # 2023-11-16 18:17:03 UTC is 1700158623 s after 1970.
    column = pa.array(["2023-11-16 18:17:03.9799600", None])
    assert seen(times(column, ISO, utc=True)) == [1_700_158_623_979_960_000, MISSING]
    assert seen(times(column, ISO)) == [BAD, MISSING]


def test_zones_may_differ_from_row_to_row() -> None:
    column = pa.array([
        "2023-11-16T18:17:03Z", "2023-11-16 20:17:03+02:00", "2023-11-16 18:17:03", "yesterday",
    ])  # fmt: skip
    second = 1_700_158_623 * 10**9
    assert seen(times(column, ISO, utc=True)) == [second, second, second, BAD]
    assert seen(times(column, ISO)) == [second, second, BAD, BAD]


def test_columns_of_times_have_a_unit_of_their_own() -> None:
    stamps = pa.array([1_700_158_623_979_960], pa.timestamp("us", "UTC"))
    assert seen(times(stamps, ISO)) == [1_700_158_623_979_960_000]
    naive = pa.array([1_700_158_623], pa.timestamp("s"))
    assert seen(times(naive, ISO, utc=True)) == [1_700_158_623 * 10**9]
    assert seen(times(pa.array([3], pa.duration("ms")), "ms")) == [3_000_000]


@pytest.mark.parametrize(
    ("column", "unit", "said"),
    [
        (pa.array([1], pa.timestamp("us", "UTC")), "ms", 'unit = "iso"'),
        (pa.array([1], pa.timestamp("us")), ISO, 'zone = "UTC"'),
        (pa.array([1], pa.duration("ms")), "s", 'unit = "ms"'),
        (pa.array([1]), ISO, "iso is for dates"),
        (pa.array([[1]]), "ms", "numbers are expected"),
    ],
)
def test_a_column_that_cannot_have_the_unit_says_why(
    column: pa.Array, unit: str, said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        times(column, unit)


def test_counts_are_whole_from_0() -> None:
    column = pa.array(["12", "12.0", "1.5", "-1", None, "x", "2147483648", "NaN"])
    assert seen(counts(column)) == [12, 12, BAD, BAD, MISSING, BAD, BAD, MISSING]
    assert seen(counts(pa.array([12.0, 1.5]))) == [12, BAD]
    assert seen(counts(pa.array([7, None], pa.uint64()))) == [7, MISSING]


@pytest.mark.parametrize(
    "cells",
    [
        ["[0.1, 0.2]", "[]", None, "[3]"],
        ["0.1;0.2", "", None, "3"],
        ["[0.1 0.2]", "[ ]", None, "3"],
        [["0.1", "0.2"], [], None, ["3"]],
    ],
)
def test_lists_may_be_written_in_several_ways(cells: list[object]) -> None:
    flat, offsets, there = lists(pa.array(cells))
    assert seen(times(flat, "s")) == [100_000_000, 200_000_000, 3 * 10**9]
    assert offsets.tolist() == [0, 2, 2, 2, 3]
    assert there.tolist() == [True, True, False, True]


def test_a_column_without_lists_says_what_it_holds() -> None:
    with pytest.raises(TypeError, match="int64"):
        lists(pa.array([1]))


def test_text_is_missing_where_it_is_empty() -> None:
    assert texts(pa.array(["a", "", None])).to_pylist() == ["a", None, None]
    assert texts(pa.array([1, None])).to_pylist() == ["1", None]
    assert texts(pa.array(["a"]).dictionary_encode()).to_pylist() == ["a"]
    with pytest.raises(TypeError, match="text is expected"):
        texts(pa.array([[1]]))


def test_a_cell_with_a_blank_in_it_may_be_anyones_text_and_is_not_shown() -> None:
    column = pa.array(["x1", "tell me"])
    assert [shown(column, row) for row in (0, 1)] == ["x1", None]
