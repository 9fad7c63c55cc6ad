"""The baseline replayed as it was, against the log it came from: what the rest is worth."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tokengap.replay.outcome import Outcome
from tokengap.replay.workload import Floats

MEASURES: Final = ("ttft", "tpot", "worst_gap")
PERCENTILES: Final = (50, 90, 99)
CURVE: Final = range(101)
TOLERANCE_SHARE: Final = 0.2
"""A percentile is reproduced if it is so near, or as near as a repeated run comes."""
TOLERANCE_POINTS: Final = 0.08
"""An attainment is reproduced if it is so near."""


@dataclass(frozen=True)
class Logged:
    """What a log shows of completed requests, in any order: known values in ns, by measure."""

    values_ns: Mapping[str, Floats]
    gaps_ns: Mapping[int, float]
    """Percentiles of all gaps together; empty if none is known."""
    attainment: float | None
    """Share of offered requests that are good; None without objectives."""


@dataclass(frozen=True)
class Compared:
    """One number of the log beside the replay's.

    error_share: of the logged value; for an attainment, the difference in points. noise_share: that
    of a repeated run; None without one.
    """

    name: str
    logged: float
    replayed: float
    error_share: float
    noise_share: float | None
    reproduced: bool


@dataclass(frozen=True)
class Validation:
    """All that was compared.

    curves: by measure, the log's and the replay's percentiles from 0 to 100, in ns.
    """

    numbers: Sequence[Compared]
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]

    @property
    def reproduced(self) -> bool:
        """The model makes its own baseline."""
        return bool(self.numbers) and all(each.reproduced for each in self.numbers)

    @property
    def says(self) -> str:
        """What follows, in a sentence."""
        missed = [each.name for each in self.numbers if not each.reproduced]
        if not self.numbers:
            return "Nothing could be compared: the log has no exact value."
        if not missed:
            return "The model reproduces its own baseline; its recommendation stands."
        return (
            f"The model does not reproduce its own baseline ({', '.join(missed)}): "
            "take what follows as a direction, not as numbers."
        )


def validate(
    logged: Logged,
    outcome: Outcome,
    attainment: float | None,
    repeated: Logged | None = None,
    scatter: Callable[[int], Floats] | None = None,
) -> Validation:
    """Compare a replay of the log's own arrivals on the log's own resources.

    attainment: of the replay. repeated: another run of the same load, whose distance is noise.
    scatter: draws so many ratios of single gaps to their mean, which steps of a replay all are.
    """
    replayed = _of(outcome)
    again = None if repeated is None else repeated.values_ns
    pairs = {
        measure: (logged.values_ns[measure], replayed[measure])
        for measure in MEASURES
        if len(logged.values_ns.get(measure, ())) and len(replayed[measure])
    }
    numbers = [
        _compared(measure, percentile, *pair, again)
        for measure, pair in pairs.items()
        for percentile in PERCENTILES
    ]
    numbers += _gaps(logged, outcome, repeated, scatter)
    if logged.attainment is not None and attainment is not None:
        noise = None if repeated is None else repeated.attainment
        numbers.append(_points(logged.attainment, attainment, noise))
    return Validation(numbers, {measure: _curves(*pair) for measure, pair in pairs.items()})


def _curves(logged: Floats, replayed: Floats) -> tuple[list[float], list[float]]:
    return np.percentile(logged, CURVE).tolist(), np.percentile(replayed, CURVE).tolist()


def _gaps(
    logged: Logged,
    outcome: Outcome,
    repeated: Logged | None,
    scatter: Callable[[int], Floats] | None,
) -> Iterator[Compared]:
    """All gaps of the log together, against all of the replay."""
    gaps = np.concatenate([np.zeros(0), *(chunk.gaps_ns for chunk in outcome.chunks())])
    if not len(gaps):
        return
    if scatter is not None:
        gaps *= scatter(len(gaps))
    for percentile, seen in logged.gaps_ns.items():
        made = float(np.percentile(gaps, percentile))
        again = None if repeated is None else repeated.gaps_ns.get(percentile)
        noise = None if again is None else abs(_share(again, seen))
        yield _number(f"gap p{percentile}", seen, made, noise)


def _of(outcome: Outcome) -> dict[str, Floats]:
    values = {m: getattr(outcome.latency, f"{m}_ns")[outcome.completed] for m in MEASURES}
    return {measure: found[~np.isnan(found)] for measure, found in values.items()}


def _compared(
    measure: str,
    percentile: int,
    logged: Floats,
    replayed: Floats,
    again: Mapping[str, Floats] | None,
) -> Compared:
    seen, made = (float(np.percentile(values, percentile)) for values in (logged, replayed))
    noise = None
    if again is not None and len(again.get(measure, ())):
        noise = abs(_share(float(np.percentile(again[measure], percentile)), seen))
    return _number(f"{measure} p{percentile}", seen, made, noise)


def _number(name: str, seen: float, made: float, noise: float | None) -> Compared:
    error = _share(made, seen)
    allowed = max(TOLERANCE_SHARE, noise or 0.0)
    return Compared(name, seen, made, error, noise, abs(error) <= allowed)


def _share(value: float, of: float) -> float:
    return (value - of) / of if of else float(value != of)


def _points(logged: float, replayed: float, repeated: float | None) -> Compared:
    noise = None if repeated is None else abs(repeated - logged)
    error = replayed - logged
    allowed = max(TOLERANCE_POINTS, noise or 0.0)
    return Compared("attainment", logged, replayed, error, noise, abs(error) <= allowed)
