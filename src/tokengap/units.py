"""Durations, bytes and bandwidths: read exactly, and shown for people.

A quantity names its unit: a bare number is refused, because 50 could be seconds or milliseconds.
Values are exact rationals until they are whole nanoseconds or bytes, so `0.05s` is 50,000,000 ns
and not what a double makes of it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from tokengap.errors import UnitError

INT64_MAX: Final = 2**63 - 1

_DURATIONS_NS: Final = {
    "ns": Fraction(1),
    "us": Fraction(10**3),
    "µs": Fraction(10**3),
    "ms": Fraction(10**6),
    "s": Fraction(10**9),
    "min": Fraction(60 * 10**9),
    "h": Fraction(3600 * 10**9),
}
_GREEK_MU, _MICRO_SIGN = "\u03bc", "\u00b5"  # keyboards give either
_BYTES: Final = {
    "B": Fraction(1),
    "kB": Fraction(10**3),
    "MB": Fraction(10**6),
    "GB": Fraction(10**9),
    "TB": Fraction(10**12),
    "KiB": Fraction(2**10),
    "MiB": Fraction(2**20),
    "GiB": Fraction(2**30),
    "TiB": Fraction(2**40),
    "kb": Fraction(10**3, 8),
    "Mb": Fraction(10**6, 8),
    "Gb": Fraction(10**9, 8),
    "Tb": Fraction(10**12, 8),
}
_BANDWIDTHS: Final = {f"{unit}/s": size for unit, size in _BYTES.items()}
_LINKS: Final = ("GiB/s", "GB/s", "Gb/s", "MiB/s", "MB/s", "Mb/s")
"""Units of links, those that are preferred first."""
_ROUNDED: Final = ("GiB/s", "MiB/s", "KiB/s", "B/s")
_LEAST: Final = Fraction(1, 10)  # of a unit that shows a rounded bandwidth
_WHOLE: Final = 0.995  # a share that reads as 100 points
_HALF_STEP: Final = Fraction(1, 2000)  # of a tenth of a percent: less would round to none

# A bounded number of digits: nothing real needs more, and int() refuses thousands of them.
_QUANTITY: Final = re.compile(
    r"\s*(?P<sign>[+-]?)(?P<number>[0-9]{1,20}(?:\.[0-9]{1,20})?)\s*(?P<unit>(?:[^\W\d]\S*)?)\s*"
)

# (size, unit, values shown in it stay under this): stalls of a few minutes still read in seconds.
_SHOWN_DURATIONS: Final = (
    (1, "ns", 1000),
    (10**3, "µs", 1000),
    (10**6, "ms", 1000),
    (10**9, "s", 600),
    (60 * 10**9, "min", 120),
    (3600 * 10**9, "h", math.inf),
)
_SHOWN_BYTES: Final = (
    (1, "B", 1024),
    (2**10, "KiB", 1024),
    (2**20, "MiB", 1024),
    (2**30, "GiB", 1024),
    (2**40, "TiB", math.inf),
)


def parse_duration_ns(text: str, *, signed: bool = False) -> int:
    """Read a duration in ns, us, µs, ms, s, min or h as whole nanoseconds.

    `signed` allows a negative one, as a clock offset may be. UnitError if the unit is missing or
    unknown, or if the value is no whole number of nanoseconds within 64 bits.

    >>> parse_duration_ns("0.05s")
    50000000
    >>> parse_duration_ns("-12.5 ms", signed=True)
    -12500000
    """
    value = _parse(text, _DURATIONS_NS, "100ms or 100s", signed=signed)
    return _whole(text, value, "nanoseconds")


def parse_bytes(text: str) -> int:
    """Read a size as whole bytes: kB, MB (10^n bytes), KiB, MiB (2^n bytes), kb, Mb (10^n bits).

    UnitError if the unit is missing or unknown, or if the value is no whole number of bytes.

    >>> parse_bytes("4 MiB"), parse_bytes("4 MB"), parse_bytes("4 Mb")
    (4194304, 4000000, 500000)
    """
    return _whole(text, _parse(text, _BYTES, "100MB or 100MiB"), "bytes")


def parse_bandwidth_bytes_per_s(text: str) -> Fraction:
    """Read a bandwidth as exact bytes per second: 50 GB/s, 50 GiB/s or 400 Gb/s (bits).

    UnitError if the unit is missing or unknown.

    >>> parse_bandwidth_bytes_per_s("400 Gb/s") == parse_bandwidth_bytes_per_s("50 GB/s")
    True
    """
    return _parse(text, _BANDWIDTHS, "100GB/s or 100Gb/s")


def format_duration(ns: float | Fraction) -> str:
    """Show a duration in the unit that suits its size, to three or four significant digits.

    Zeros are dropped where the shown value is exact and kept where it is rounded.

    >>> format_duration(119_800_000), format_duration(1_000_400_000), format_duration(13_000)
    ('119.8 ms', '1.00 s', '13 µs')
    """
    return _format(Fraction(ns), _SHOWN_DURATIONS)


def format_ms(ns: Fraction | int) -> str:
    """Show a duration in ms to the nanosecond: a term of a sum, not rounded to what suits.

    >>> format_ms(13_906_250), format_ms(50_000_000)
    ('13.90625 ms', '50 ms')
    """
    return f"{_decimal(Fraction(ns, 10**6), 6)} ms"


def format_bytes(size_bytes: int) -> str:
    """Show a size in binary units, to three or four significant digits.

    >>> format_bytes(131_072), format_bytes(81_920_000)
    ('128 KiB', '78.1 MiB')
    """
    return _format(Fraction(size_bytes), _SHOWN_BYTES)


def format_bandwidth(bytes_per_s: int | Fraction, unit: str | None = None) -> str:
    """Show a bandwidth to four significant digits, in the unit in which it reads shortest.

    unit: one of `bandwidth_unit`, where several are shown together.

    >>> format_bandwidth(2**28), format_bandwidth(3_125_000_000), format_bandwidth(50 * 10**9)
    ('0.25 GiB/s', '25 Gb/s', '50 GB/s')
    """
    unit = bandwidth_unit([bytes_per_s]) if unit is None else unit
    return f"{float(Fraction(bytes_per_s) / _BANDWIDTHS[unit]):.4g} {unit}"


def bandwidth_unit(rates: Sequence[int | Fraction]) -> str:
    """The unit in which all of these bandwidths, one or more, read shortest.

    >>> bandwidth_unit([3_125_000_000, 50 * 10**9])
    'Gb/s'
    """
    shown = {
        unit: [(f"{float(Fraction(rate) / size):.4g}", Fraction(rate) / size) for rate in rates]
        for unit in _LINKS
        for size in [_BANDWIDTHS[unit]]
    }
    exact = [unit for unit in _LINKS if all(Fraction(text) == value for text, value in shown[unit])]
    if exact:
        return min(exact, key=lambda unit: sum(len(t.removeprefix("0.")) for t, _ in shown[unit]))
    least = min(Fraction(rate) for rate in rates)
    return next((u for u in _ROUNDED if least >= _LEAST * _BANDWIDTHS[u]), _ROUNDED[-1])


def format_share(share: float | Fraction) -> str:
    """Show a share in [0, 1] as a percentage; only none at all reads 0 %, only all of it 100 %.

    >>> format_share(Fraction(2, 3)), format_share(1), format_share(0.99999)
    ('66.7 %', '100 %', '>99.9 %')
    """
    if 0 < share <= _HALF_STEP:
        return "<0.1 %"
    if 1 > share >= 1 - _HALF_STEP:
        return ">99.9 %"
    return f"{_decimal(Fraction(share) * 100, 1)} %"


def format_points(difference: float) -> str:
    """Show a difference of two shares in points of a percentage, to two significant digits.

    >>> format_points(0.0213), format_points(1.0), format_points(0.00052), format_points(-0.01)
    ('2.1 points', '100 points', '0.052 points', '-1 point')
    """
    points = f"{difference * 100:.{2 if abs(difference) < _WHOLE else 3}g}"
    return f"{points} point{'s' * (points not in {'1', '-1'})}"


def format_count(count: int) -> str:
    r"""Show a whole number with its thousands set apart by narrow spaces that do not break.

    >>> format_count(1_234_567).split("\u202f")
    ['1', '234', '567']
    """
    return f"{count:,}".replace(",", "\u202f")


def counted(count: int, what: str) -> str:
    """Show a number of things.

    >>> counted(1, "request"), counted(0, "request")
    ('1 request', '0 requests')
    """
    return f"{format_count(count)} {what}{'s' * (count != 1)}"


def _parse(
    text: str, units: Mapping[str, Fraction], example: str, *, signed: bool = False
) -> Fraction:
    match = _QUANTITY.fullmatch(text.replace(_GREEK_MU, _MICRO_SIGN))
    if match is None:
        raise UnitError(f"{text!r} is not a number with a unit; write {example}")
    sign, number, unit = match.group("sign", "number", "unit")
    if sign == "-" and not signed:
        raise UnitError(f"{text!r} is negative; a value from 0 up is expected")
    if not unit:
        raise UnitError(f"{text!r} has no unit; write {example.replace('100', number)}")
    if unit not in units:
        raise UnitError(f"{text!r}: no unit is called {unit!r}; write {_meant(unit, units)}")
    return Fraction(sign + number) * units[unit]


def _meant(unit: str, units: Mapping[str, Fraction]) -> str:
    """Units an unknown one may stand for: often only the letter case, or an `i`, is missing."""
    wanted = unit.lower()
    alike = [u for u in units if wanted in (u.lower(), u.lower().replace("i", ""))]
    if not alike:
        return "one of " + ", ".join(units)
    return " or ".join(alike) + (" (B is bytes, b is bits)" if len(alike) > 1 else "")


def _whole(text: str, value: Fraction, what: str) -> int:
    if value.denominator != 1:
        raise UnitError(f"{text!r} is not a whole number of {what}; round it to one")
    if abs(value) > INT64_MAX:
        raise UnitError(f"{text!r} does not fit 64 bits of {what}; write a smaller value")
    return int(value)


def _format(value: Fraction, shown: Sequence[tuple[int, str, float]]) -> str:
    """Take the first unit whose limit the rounded value stays under: 999.96 ms is 1.00 s."""
    for size, unit, limit in shown:
        scaled = value / size
        places = max(1, 3 - len(str(int(abs(scaled)))))  # three significant digits at least
        text = f"{_decimal(scaled, places)} {unit}"
        if abs(round(scaled, places)) < limit:
            break
    return text


def _decimal(value: Fraction, places: int) -> str:
    """Round to `places`; trailing zeros go only where nothing was rounded away."""
    rounded = round(value, places)
    text = f"{float(rounded):.{places}f}"
    return text.rstrip("0").rstrip(".") if rounded == value else text
