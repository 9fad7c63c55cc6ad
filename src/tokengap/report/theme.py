"""How the page looks: the quadrants' marks, the axes, and colours that follow light and dark.

Colours are CSS variables of the page's style sheet. Charts are drawn as SVG, so one specification
follows the reader's colour scheme, and the printer's.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

MS: Final = 1_000_000  # ns
MS_LABEL: Final = (
    "datum.value >= 1000 ? format(datum.value / 1000, ',~r') + ' s'"
    " : datum.value >= 1 ? format(datum.value, '~r') + ' ms'"
    " : format(datum.value * 1000, '~r') + ' µs'"
)
MS_FROM_0: Final = f"datum.value === 0 ? '0' : {MS_LABEL}"
COUNT_LABEL: Final = "datum.value < 10000 ? format(datum.value, 'd') : format(datum.value, '.3~s')"
BYTES_LABEL: Final = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '.3~r') + ' GiB'"
    " : datum.value >= 1048576 ? format(datum.value / 1048576, '.3~r') + ' MiB'"
    " : datum.value >= 1024 ? format(datum.value / 1024, '.3~r') + ' KiB'"
    " : datum.value + ' B'"
)
SHARE_LABEL: Final = "format(datum.value * 100, '.10~f') + ' %'"
_MOST_BY_POWERS, _MOST_EVENLY = 10, 8
_LOG_STEPS: Final = ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 5), (1,))  # within a power of ten
_NARROW: Final = 4  # up to this span, evenly spaced ticks read better
_LEAST_SPAN: Final = 1.5


@dataclass(frozen=True)
class Place:
    """Where a request lies between the limits, and the mark that stands for it.

    colour: a CSS variable. path: an SVG path in -1..1. Undecided requests are hollow. Shapes and
    lightness differ as well as hues, so nobody needs to tell red from green.
    """

    key: str
    colour: str
    path: str
    hollow: bool = False

    @property
    def fill(self) -> str:
        """The inside of the mark."""
        return "transparent" if self.hollow else self.colour


CIRCLE: Final = "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z"
_DIAMOND: Final = "M0,-1.2L1.2,0L0,1.2L-1.2,0Z"
SQUARE: Final = "M-0.85,-0.85H0.85V0.85H-0.85Z"
_TRIANGLE: Final = "M0,-1L1.1,0.9H-1.1Z"


def squares(colours: Mapping[str, str]) -> dict[str, Place]:
    """Filled squares by key, each in a colour of the page's style sheet."""
    return {key: Place(key, f"var(--{colour})", SQUARE) for key, colour in colours.items()}


PLACES: Final = {
    place.key: place
    for place in (
        Place("unjudged", "var(--met)", CIRCLE),
        Place("meets", "var(--met)", CIRCLE),
        Place("average", "var(--average)", _TRIANGLE),
        Place("both", "var(--both)", SQUARE),
        Place("undecided", "var(--undecided)", CIRCLE, hollow=True),
        Place("possible", "var(--hidden)", _DIAMOND, hollow=True),
        Place("hidden", "var(--hidden)", _DIAMOND),
    )
}
"""Drawn in this order: what matters most lies on top."""

PIECES: Final = squares(
    {
        "ttft": "ttft",
        "steady": "steady",
        "longest": "met",
        "handoff": "handoff",
        "preemption": "both",
        "prefill_interference": "hidden",
        "delivery_pause": "delivery",
        "shared_pause": "shared",
        "unexplained": "undecided",
    }
)
"""What the time of a request goes to: TTFT, steps, the longest gap within its limit, causes."""

BASES: Final = {None: 1.0, "measured": 1.0, "declared": 0.5, "inferred": 0.15}
"""How solid a mark is by how the claim behind it is known; None: it makes no claim."""

CONFIG: Final[dict[str, Any]] = {
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
    "background": "transparent",
    "view": {"stroke": "var(--line)"},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--ink)",
        "gridColor": "var(--grid)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 600,
        "titlePadding": 10,
        "labelOverlap": "greedy",
        "labelSeparation": 10,
    },
    "text": {"fill": "var(--ink)"},
}


def ticks(low: float, high: float) -> list[float]:
    """Round values on a logarithmic axis from `low` to `high`, both above 0; about ten at most.

    >>> ticks(0.9, 110)
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    >>> ticks(18.9, 23.4)
    [19.0, 20.0, 21.0, 22.0, 23.0]
    """
    if high / low < _NARROW:
        choices, most = _evenly(low, high), _MOST_EVENLY
    else:
        choices, most = _by_powers(low, high), _MOST_BY_POWERS
    return next(found for found in choices if len(found) <= most)


def _by_powers(low: float, high: float) -> Iterator[list[float]]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in _LOG_STEPS:
        candidates = (step * 10.0**power for power in powers for step in steps)
        yield [tick for tick in candidates if low <= tick <= high]
    yield [10.0**power for power in powers if power % 3 == 0 and low <= 10.0**power <= high]


def _evenly(low: float, high: float) -> Iterator[list[float]]:
    power = 10.0 ** math.floor(math.log10(high - low))
    for step in (power / 5, power / 2, power, power * 2):
        numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
        yield [float(f"{number * step:.9g}") for number in numbers]


def powers_of_2(low: float, high: float) -> list[float]:
    """Ticks of sizes from `low` to `high`; about eight at most.

    >>> powers_of_2(3, 20)
    [4.0, 8.0, 16.0]
    """
    powers = [2.0**power for power in range(63) if low <= 2.0**power <= high]
    return powers[:: 1 + len(powers) // _MOST_EVENLY]


def domain(values: Iterable[float], below: float, above: float) -> list[float]:
    """A logarithmic domain around the values, wider by these shares of it at its ends."""
    seen = list(values)
    span = max(max(seen) / min(seen), _LEAST_SPAN)
    return [min(seen) / span**below, max(seen) * span**above]
