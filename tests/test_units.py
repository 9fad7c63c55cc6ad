import doctest
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokengap import units
from tokengap.errors import UnitError
from tokengap.units import (
    INT64_MAX,
    format_bytes,
    format_count,
    format_duration,
    format_ms,
    format_share,
    parse_bandwidth_bytes_per_s,
    parse_bytes,
    parse_duration_ns,
)

DURATION_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
MIB = 2**20

whole_ns = st.integers(0, 10**18)  # thirty years, and rounding up stays within 64 bits


def test_the_examples_in_the_docstrings_hold() -> None:
    result = doctest.testmod(units)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0ns", 0),
        ("1ns", 1),
        ("50ms", 50_000_000),
        (" 50 ms ", 50_000_000),
        ("+50ms", 50_000_000),
        ("0.05s", 50_000_000),
        ("7us", 7_000),
        ("7\u00b5s", 7_000),
        ("7\u03bcs", 7_000),
        ("1.5min", 90_000_000_000),
        ("2h", 7_200_000_000_000),
        ("0.000000001s", 1),
        ("9223372036854775807ns", INT64_MAX),
    ],
)
def test_durations_are_read_exactly(text: str, ns: int) -> None:
    assert parse_duration_ns(text) == ns


def test_a_decimal_is_not_taken_through_a_double() -> None:
    # 64 bits hold this, a double does not: 1764412800.000000001 s is ...001 ns.
    assert parse_duration_ns("1764412800.000000001s") == 1_764_412_800_000_000_001
    assert int(1764412800.000000001 * 1e9) != 1_764_412_800_000_000_001


def test_seconds_and_milliseconds_of_one_duration_are_one_value() -> None:
    # Reported as 0.45 s and 0.55 s against a target of 500 ms: one is within, one is not.
    limit_ns = parse_duration_ns("500ms")
    within = [parse_duration_ns(text) <= limit_ns for text in ("0.45s", "0.55s", "0.5s")]
    assert within == [True, False, True]


def test_a_sum_on_the_limit_stays_on_the_limit() -> None:
    # 0.1 + 0.2 + 0.3 s is 0.6000000000000001 in doubles.
    total_ns = sum(parse_duration_ns(text) for text in ("0.1s", "0.2s", "0.3s"))
    assert total_ns == parse_duration_ns("0.6s")
    assert 0.1 + 0.2 + 0.3 > 0.6


@given(st.integers(-(10**6), 10**6), st.sampled_from(sorted(DURATION_UNITS)))
@settings(deadline=None)
def test_a_count_of_a_unit_is_that_many_times_the_unit(count: int, unit: str) -> None:
    assert parse_duration_ns(f"{count} {unit}", signed=True) == count * DURATION_UNITS[unit]


@given(st.integers(-INT64_MAX, INT64_MAX))
@settings(deadline=None)
def test_every_nanosecond_of_64_bits_can_be_written_in_seconds(ns: int) -> None:
    whole, part = divmod(abs(ns), 10**9)
    sign = "-" if ns < 0 else ""
    assert parse_duration_ns(f"{sign}{whole}.{part:09}s", signed=True) == ns


@pytest.mark.parametrize("text", ["100", "0", "0.5", " 100 "])
def test_a_bare_number_is_refused_with_both_readings(text: str) -> None:
    number = text.strip()
    with pytest.raises(UnitError, match=f"no unit; write {number}ms or {number}s"):
        parse_duration_ns(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a number with a unit"),
        ("ms", "not a number with a unit"),
        ("fast", "not a number with a unit"),
        ("1,5ms", "not a number with a unit"),
        ("1e3ms", "write one of ns"),
        ("nan s", "not a number with a unit"),
        ("1 0ms", "not a number with a unit"),
        ("٣ms", "not a number with a unit"),
        ("1" * 5000 + "ms", "not a number with a unit"),
        ("50 MS", "write ms$"),
        ("5m", "write one of ns, us, µs, ms, s, min, h"),
        ("5 MB", "write one of ns"),
        ("0.5ns", "not a whole number of nanoseconds"),
        ("0.0000000001s", "not a whole number of nanoseconds"),
        ("9223372036854775808ns", "does not fit 64 bits"),
        ("-5ms", "negative"),
    ],
)
def test_what_is_no_duration_is_refused_and_says_why(text: str, said: str) -> None:
    with pytest.raises(UnitError, match=said):
        parse_duration_ns(text)


def test_a_clock_offset_may_be_negative() -> None:
    assert parse_duration_ns("-12.5ms", signed=True) == -12_500_000
    assert parse_duration_ns("+12.5ms", signed=True) == 12_500_000


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("12B", 12),
        ("1kB", 1_000),
        ("1KiB", 1_024),
        ("1.5 GB", 1_500_000_000),
        ("1.125GiB", 1_207_959_552),  # 1.125 * 2^30
        ("1TB", 10**12),
        ("1TiB", 2**40),
        ("8kb", 1_000),
        ("400 Gb", 50_000_000_000),
    ],
)
def test_sizes_are_read_exactly(text: str, size_bytes: int) -> None:
    assert parse_bytes(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("100", "write 100MB or 100MiB"),
        ("4 mb", "write MB or MiB or Mb"),
        ("4KB", "write kB or KiB or kb"),
        ("4 MIB", "write MiB$"),
        ("4 QB", "write one of B, kB"),
        ("4 Gb/s", "write one of B, kB"),
        ("0.0001kB", "not a whole number of bytes"),
        ("-4MB", "negative"),
    ],
)
def test_what_is_no_size_is_refused_and_says_why(text: str, said: str) -> None:
    with pytest.raises(UnitError, match=said):
        parse_bytes(text)


def test_bandwidths_are_exact_and_know_bits_from_bytes() -> None:
    assert parse_bandwidth_bytes_per_s("50 GB/s") == 50 * 10**9
    assert parse_bandwidth_bytes_per_s("400Gb/s") == 50 * 10**9
    assert parse_bandwidth_bytes_per_s("50 GiB/s") == 50 * 2**30
    assert parse_bandwidth_bytes_per_s("1 kb/s") == 125
    assert parse_bandwidth_bytes_per_s("0.001 kb/s") == Fraction(1, 8)


def test_a_transfer_time_follows_exactly_from_size_and_bandwidth() -> None:
    # 4 MiB at 1 GiB/s: 4/1024 s = 3.90625 ms; 16 MiB: 15.625 ms.
    per_s = parse_bandwidth_bytes_per_s("1GiB/s")
    times_ns = [parse_bytes(size) / per_s * 10**9 for size in ("4MiB", "16MiB")]
    assert times_ns == [3_906_250, 15_625_000]


@pytest.mark.parametrize(
    ("text", "said"),
    [("50", "write 50GB/s or 50Gb/s"), ("50 GB", "GB/s"), ("25 gb/s", "GB/s or GiB/s or Gb/s")],
)
def test_what_is_no_bandwidth_is_refused_and_says_why(text: str, said: str) -> None:
    with pytest.raises(UnitError, match=said):
        parse_bandwidth_bytes_per_s(text)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (1, "1 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (13_000, "13 µs"),
        (13_460, "13.5 µs"),
        (119_800_000, "119.8 ms"),
        (119_840_000, "119.8 ms"),
        (996_000_000, "996 ms"),
        (999_940_000, "999.9 ms"),
        (999_960_000, "1.00 s"),  # 1000.0 ms once rounded
        (1_070_000_000, "1.07 s"),
        (1_000_400_000, "1.00 s"),
        (20_000_000_000, "20 s"),
        (599_000_000_000, "599 s"),
        (600_000_000_000, "10 min"),
        (7_200_000_000_000, "2 h"),
        (604_800_000_000_000, "168 h"),
        (-40_000_000, "-40 ms"),
        (80e6 / 9, "8.89 ms"),
        (Fraction(1, 4), "0.25 ns"),
    ],
)
def test_durations_are_shown_in_the_unit_that_suits(ns: float | Fraction, text: str) -> None:
    assert format_duration(ns) == text


@given(st.integers(0, 999), st.integers(0, 8))
@settings(deadline=None)
def test_three_digits_are_shown_without_loss(digits: int, zeros: int) -> None:
    ns = digits * 10**zeros  # under 100 s: minutes are no powers of ten
    assert parse_duration_ns(format_duration(ns)) == ns


@given(whole_ns)
@settings(deadline=None)
def test_a_shown_duration_is_within_half_a_percent(ns: int) -> None:
    assert abs(parse_duration_ns(format_duration(ns)) - ns) * 200 <= ns


@given(whole_ns)
@settings(deadline=None)
def test_zeros_after_the_point_say_that_something_was_rounded(ns: int) -> None:
    number, _ = format_duration(ns).split(" ")
    if "." in number and number.endswith("0"):
        assert parse_duration_ns(format_duration(ns)) != ns


def test_a_term_is_shown_to_the_nanosecond() -> None:
    shown = [format_ms(ns) for ns in (0, 1, 15_625_000, -5_625_000, 10**12)]
    assert shown == ["0 ms", "0.000001 ms", "15.625 ms", "-5.625 ms", "1000000 ms"]
    assert format_ms(Fraction(1, 3)) == "0.000000 ms"  # rounded, and says so


def test_sizes_are_shown_in_binary_units() -> None:
    shown = [format_bytes(size) for size in (0, 1023, 131_072, 4 * MIB, 2**30 - 1, 3 * 2**40)]
    assert shown == ["0 B", "1023 B", "128 KiB", "4 MiB", "1.00 GiB", "3 TiB"]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (Fraction(1, 2), "50 %"),
        (Fraction(2, 3), "66.7 %"),
        (Fraction(1, 100_000), "<0.1 %"),
        (Fraction(99_999, 100_000), ">99.9 %"),
        (0.9995, ">99.9 %"),
        (0.0004, "<0.1 %"),
        (0.999, "99.9 %"),
    ],
)
def test_a_share_never_reads_as_none_or_all_by_rounding(share: float, text: str) -> None:
    assert format_share(share) == text


@given(st.integers(1, 10**9), st.integers(1, 10**9))
@settings(deadline=None)
def test_one_miss_keeps_a_share_off_100_percent(good: int, missed: int) -> None:
    share = Fraction(good, good + missed)
    assert format_share(share) not in {"0 %", "100 %"}


def test_counts_are_set_apart_in_thousands() -> None:
    shown = [format_count(n) for n in (0, 999, 1_000, 1_234_567)]
    assert shown == ["0", "999", "1\u202f000", "1\u202f234\u202f567"]
