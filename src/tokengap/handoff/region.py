"""The budget over two parameters at once: a sweep of every pair, and where it stops to pass.

A sweep is in doubles, for a million points cost a second and more as rationals. A value within
1e-12 of its limit is judged again exactly, so no verdict hangs on rounding.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from tokengap.errors import UsageError
from tokengap.handoff.budget import PROMISES, Limits, judge, limit_of
from tokengap.handoff.links import NS_PER_S, Exact
from tokengap.handoff.parameters import PARAMETERS, Case, Parameter

Numbers = npt.NDArray[np.float64]
_NEAR: Final = 1e-12  # of a limit: thousands of times what rounding can make of a value
_HALVINGS: Final = 60

_TERMS: Final[dict[str, Callable[[Case], float]]] = {
    "prefill_ns": lambda case: float(case.handoff.prefill_ns),
    "step_ns": lambda case: float(case.handoff.step_ns),
    "overhead_ns": lambda case: float(case.handoff.overhead_ns),
    "cache_bytes": lambda case: float(case.handoff.cache_bytes),
    "load": lambda case: float(case.handoff.link.load),
    "bandwidth_bytes_per_s": lambda case: float(case.handoff.link.bandwidth_bytes_per_s),
    "behind_ns": lambda case: float(case.handoff.overlap.behind_ns),
    "later_tokens": lambda case: float(case.output_tokens - 1),
}


@dataclass(frozen=True)
class Axis:
    """Values of one parameter, in rising order."""

    parameter: Parameter
    values: Sequence[Exact]

    def __post_init__(self) -> None:
        if not self.values:
            raise UsageError(f"{self.parameter.name}: no values to sweep")
        if any(low >= high for low, high in pairwise(self.values)):
            raise UsageError(f"{self.parameter.name}: give its values once each, in rising order")


SIZES: Final = Axis(PARAMETERS["cache"], [size * 2**20 for size in (1, 2, 4, 8, 16, 32, 64)])
BANDWIDTHS: Final = Axis(PARAMETERS["bandwidth"], [2**power for power in (28, 29, 30, 31, 32, 33)])
"""0.25 to 8 GiB/s: with `SIZES`, 42 points."""


@dataclass(frozen=True)
class Swept:
    """Every pair of two axes; arrays of shape (y, x), times in ns.

    A response of one token has neither gap nor average: NaN there.
    """

    ttft_ns: Numbers
    first_gap_ns: Numbers
    tpot_ns: Numbers
    met: npt.NDArray[np.bool_]
    """No given limit is missed."""


def sweep(case: Case, limits: Limits, x: Axis, y: Axis) -> Swept:
    """Judge the case with every pair of values put into it.

    UsageError if both axes are one parameter, or set the same quantity (cache and prompt).

    >>> from tokengap.handoff import Handoff, Link
    >>> worked = Case(Handoff(40 * 10**6, 10 * 10**6, 0, Link(1)), output_tokens=3)
    >>> swept = sweep(worked, Limits(worst_gap_ns=20 * 10**6), BANDWIDTHS, SIZES)
    >>> float(swept.first_gap_ns[2, 2]), int(swept.met.sum())
    (13906250.0, 27)
    """
    terms = _terms(case, x, y)
    load_bytes = terms["cache_bytes"] * terms["load"]
    transfer_ns = load_bytes * NS_PER_S / terms["bandwidth_bytes_per_s"]
    share = float(case.handoff.overlap.hideable_share)
    hidden_ns = share * np.minimum(terms["behind_ns"], transfer_ns)
    pause_ns = terms["overhead_ns"] + transfer_ns - hidden_ns
    in_gap, in_ttft = (0.0, 1.0) if case.handoff.withheld else (1.0, 0.0)
    # NaN instead of 0 gaps: what it meets below does not exist.
    gaps = np.where(terms["later_tokens"] > 0, terms["later_tokens"], np.nan)
    shape = (len(y.values), len(x.values))
    values = {
        "ttft": np.broadcast_to(terms["prefill_ns"] + in_ttft * pause_ns, shape),
        "worst_gap": np.broadcast_to(terms["step_ns"] + in_gap * pause_ns * (gaps / gaps), shape),
        "tpot": np.broadcast_to(terms["step_ns"] + in_gap * pause_ns / gaps, shape),
    }
    met = _met(values, limits)
    for row, column in zip(*np.nonzero(_near(values, limits)), strict=True):
        both = y.parameter.put(x.parameter.put(case, x.values[column]), y.values[row])
        met[row, column] = passes(both, limits)
    return Swept(values["ttft"], values["worst_gap"], values["tpot"], met)


def passes(case: Case, limits: Limits) -> bool:
    """No given limit is missed, exactly."""
    promises = judge(case.handoff, limits, case.output_tokens).values()
    return all(promise.verdict != "missed" for promise in promises)


def _terms(case: Case, x: Axis, y: Axis) -> dict[str, Numbers]:
    """Each term as a row that x changes, a column that y changes, or one number."""
    along_x, along_y = _along(case, x), _along(case, y)
    if shared := along_x.keys() & along_y.keys():
        raise UsageError(
            f"{x.parameter.name} and {y.parameter.name} both set {', '.join(sorted(shared))}; "
            "choose two axes that do not"
        )
    fixed = {name: np.array(of(case)) for name, of in _TERMS.items()}
    columns = {name: values[:, None] for name, values in along_y.items()}
    return {**fixed, **along_x, **columns}


def _along(case: Case, axis: Axis) -> dict[str, Numbers]:
    """The terms that the parameter sets, for each of its values."""
    cases = [axis.parameter.put(case, value) for value in axis.values]
    # Against a value that no axis has: a term that is constant on the axis is still set by it.
    apart = axis.parameter.put(case, max(axis.values) + 1)
    found = {}
    for name, of in _TERMS.items():
        numbers = np.array([of(each) for each in cases])
        if (numbers != of(apart)).any():
            found[name] = numbers
    return found


def _met(values: Mapping[str, Numbers], limits: Limits) -> npt.NDArray[np.bool_]:
    met = np.ones(values["ttft"].shape, dtype=np.bool_)
    for name, limit_ns in _given(limits):
        met &= ~(values[name] > limit_ns)  # NaN, where a promise does not apply, misses nothing
    return met


def _near(values: Mapping[str, Numbers], limits: Limits) -> npt.NDArray[np.bool_]:
    near = np.zeros(values["ttft"].shape, dtype=np.bool_)
    for name, limit_ns in _given(limits):
        near |= np.abs(values[name] - limit_ns) <= _NEAR * limit_ns
    return near


def _given(limits: Limits) -> Iterator[tuple[str, float]]:
    for name in PROMISES:
        limit_ns = limit_of(limits, name)
        if limit_ns is not None:
            yield name, float(limit_ns)


@dataclass(frozen=True)
class Edge:
    """The value nearest to where the verdict changes that still passes.

    passes_below: smaller values pass, and larger ones do not; else the other way round.
    """

    value: Fraction
    passes_below: bool


def edges(case: Case, limits: Limits, y: Parameter, stops: Sequence[Exact]) -> list[Edge]:
    """Where the verdict changes as y goes from the first to the last stop.

    Between two stops one change is found, to the last bit that a double could show. Only an overlap
    by layer against the prefill can make two: too short a prefill hides too little of a transfer.
    """
    verdicts = [passes(y.put(case, stop), limits) for stop in stops]
    spans = zip(pairwise(stops), pairwise(verdicts), strict=True)
    return [
        Edge(_edge(case, limits, y, Fraction(low), Fraction(high)), passes_below=before)
        for (low, high), (before, after) in spans
        if before != after
    ]


def _edge(case: Case, limits: Limits, y: Parameter, low: Fraction, high: Fraction) -> Fraction:
    """Halve the span; the end that passes is the answer, whole if only whole values make sense."""
    low_passes = passes(y.put(case, low), limits)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if y.is_count:
            middle = Fraction(int(middle))
        if middle in (low, high):
            break
        if passes(y.put(case, middle), limits) == low_passes:
            low = middle
        else:
            high = middle
    return low if low_passes else high
