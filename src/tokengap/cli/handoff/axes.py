"""Axes of a sweep as text: a parameter and its values, listed or as a range."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from tokengap.cli.caches import Described, count
from tokengap.errors import UsageError
from tokengap.handoff import Cache
from tokengap.handoff.links import Exact
from tokengap.handoff.parameters import PARAMETERS, Parameter, prompt_parameter
from tokengap.handoff.region import Axis
from tokengap.units import parse_bandwidth_bytes_per_s, parse_bytes, parse_duration_ns

RANGE_POINTS: Final = 33
LEAST_POINTS: Final = 2
MOST_POINTS: Final = 2_000  # of one axis: four million pairs
_RANGE: Final = re.compile(r"(?P<low>[^:]+)\.\.(?P<high>[^:]+?)(?::(?P<points>[0-9]{1,6}))?")


_READ: Final[dict[str, Callable[[str], Exact]]] = {
    "bytes": parse_bytes,
    "bytes_per_s": parse_bandwidth_bytes_per_s,
    "ns": parse_duration_ns,
    "tokens": count,
    "transfers": count,
}


def axis(text: str, described: Described, cache: Cache | None) -> Axis:
    """Read `bandwidth=1GiB/s,2GiB/s` or `cache=1MiB..64MiB`, with `:N` for how many values.

    A range is spaced by equal ratios, or evenly from 0; whole numbers stay whole. UsageError for
    what is no parameter, or has no values in rising order.
    """
    name, said, values = text.partition("=")
    parameter = _parameter(name.strip(), described, cache)
    if not said or not values.strip():
        raise UsageError(f"axis {text!r}: write its values, such as {name}=LOW..HIGH or A,B,C")
    read = _READ[parameter.unit]
    if found := _RANGE.fullmatch(values.strip()):
        points = int(found["points"] or RANGE_POINTS)
        return Axis(parameter, _spaced(parameter, read(found["low"]), read(found["high"]), points))
    listed = [read(value) for value in values.split(",")]
    if len(listed) > MOST_POINTS:
        raise UsageError(f"axis {name}: {len(listed)} values; at most {MOST_POINTS}")
    return Axis(parameter, listed)


def _parameter(name: str, described: Described, cache: Cache | None) -> Parameter:
    if name == "prompt":
        if cache is None:
            raise UsageError("axis prompt needs --model, --config, or the cache in numbers")
        return prompt_parameter(cache, described.block)
    if name not in PARAMETERS:
        known = ", ".join((*PARAMETERS, "prompt"))
        raise UsageError(f"no parameter is called {name!r}; an axis is one of {known}")
    return PARAMETERS[name]


def _spaced(parameter: Parameter, low: Exact, high: Exact, points: int) -> list[Exact]:
    if not LEAST_POINTS <= points <= MOST_POINTS:
        raise UsageError(
            f"{parameter.name}: {points} values; a range has {LEAST_POINTS} to {MOST_POINTS}"
        )
    if low >= high:
        raise UsageError(f"{parameter.name}: the range must rise")
    places = [Fraction(step, points - 1) for step in range(points)]
    if low > 0:
        ratio = float(Fraction(high) / Fraction(low))
        between = [Fraction(float(low) * ratio ** float(place)) for place in places[1:-1]]
    else:
        between = [low + (high - low) * place for place in places[1:-1]]
    if parameter.unit != "bytes_per_s":
        between = [Fraction(round(value)) for value in between]
    return sorted({Fraction(low), *between, Fraction(high)})
