"""Axes of a budget's charts: each parameter's title, its ticks in words, and where cells end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any, Final

import altair as alt

from tokengap.handoff.links import Exact
from tokengap.handoff.region import Axis
from tokengap.report.theme import powers_of_2, ticks
from tokengap.units import (
    bandwidth_unit,
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
)

_TICKS: Final = 14
_LOG_FROM: Final = 4  # times the lowest value: from this span on, an axis is logarithmic
_TITLES: Final = {
    "cache": "KV cache",
    "prompt": "prompt tokens",
    "bandwidth": "effective bandwidth",
    "prefill": "prefill",
    "step": "decode step",
    "overhead": "overhead",
    "overlap": "overlap",
    "transfers": "transfers that share the link",
    "output-tokens": "output tokens",
}
_SHOWN: Final[dict[str, Callable[[Exact], str]]] = {
    "bytes": lambda value: format_bytes(int(value)),
    "ns": format_duration,
    "tokens": lambda value: format_count(int(value)),
    "transfers": lambda value: format_count(int(value)),
}


@dataclass(frozen=True)
class Scaled:
    """An axis as it is drawn."""

    axis: Axis

    @property
    def title(self) -> str:
        """The parameter in words."""
        return _TITLES[self.axis.parameter.name]

    def shown(self, value: Exact) -> str:
        """A value with its unit; bandwidths all in one, for bits beside bytes mislead."""
        if self.axis.parameter.unit == "bytes_per_s":
            return format_bandwidth(Fraction(value), self._bandwidth_unit)
        return _SHOWN[self.axis.parameter.unit](value)

    @cached_property
    def _bandwidth_unit(self) -> str:
        return bandwidth_unit([Fraction(value) for value in self.axis.values])

    @property
    def is_log(self) -> bool:
        """Equal ratios take equal room."""
        low, high = self.axis.values[0], self.axis.values[-1]
        return low > 0 and (high >= _LOG_FROM * low or low == high)

    @property
    def ends(self) -> list[float]:
        """Where cells begin and end: half-way between values, one more than there are values."""
        values = [float(value) for value in self.axis.values]
        inner = [self._between(low, high) for low, high in pairwise(values)]
        if not inner:
            only = values[0]
            return [only / 2, only * 2] if self.is_log else [-1.0, 1.0]
        first, last = self._mirrored(values[0], inner[0]), self._mirrored(values[-1], inner[-1])
        return [first, *inner, last]

    def fine(self, count: int) -> list[Exact]:
        """Evenly spaced values from end to end, for a line; whole ones of what is counted."""
        low, high = self.ends[0], self.ends[-1]
        low = max(low, 1.0 if self.axis.parameter.is_count else 0.0)
        places = [step / (count - 1) for step in range(count)]
        if self.is_log:
            values = [low * (high / low) ** place for place in places]
        else:
            values = [low + (high - low) * place for place in places]
        if self.axis.parameter.is_count:
            return sorted({round(value) for value in values})
        return [Fraction(value) for value in values]

    def channel(self, field: str, pixels: Sequence[float] | None = None) -> dict[str, Any]:
        """Arguments of a channel over this field."""
        ends = self.ends
        scale = alt.Scale(domain=[ends[0], ends[-1]], nice=False, zero=False)
        scale.type = "log" if self.is_log else "linear"
        if pixels is not None:
            scale.range = list(pixels)
        ticks_at = [float(tick) for tick in self._ticks()]
        axis = alt.Axis(title=self.title, values=ticks_at, labelExpr=self._labels(), grid=False)
        return {"shorthand": f"{field}:Q", "scale": scale, "axis": axis}

    def _between(self, low: float, high: float) -> float:
        return sqrt(low * high) if self.is_log else (low + high) / 2

    def _mirrored(self, value: float, end: float) -> float:
        return value * value / end if self.is_log else 2 * value - end

    def _ticks(self) -> list[Exact]:
        """The values, or round ones among them where they are many."""
        values = list(self.axis.values)
        if len(values) <= _TICKS:
            return values
        if not self.is_log:
            return values[:: 1 + (len(values) - 1) // _TICKS]
        ends = float(values[0]), float(values[-1])
        in_bytes = self.axis.parameter.unit.startswith("bytes")
        return [Fraction(tick) for tick in (powers_of_2(*ends) if in_bytes else ticks(*ends))]

    def _labels(self) -> str:
        """Each tick by its words: an expression over numbers and texts of our own."""
        named = ((float(tick), self.shown(tick)) for tick in self._ticks())
        return "".join(f"datum.value == {tick!r} ? '{text}' : " for tick, text in named) + "''"
