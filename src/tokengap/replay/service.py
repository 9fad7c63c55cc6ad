"""How long a step takes: from coefficients or from a table, for one kind of worker.

A prefill of S tokens, whose prompts' squares add up to Q, takes a + b*S + c*Q. A decode step of B
requests that attend to T tokens takes a + b*T + c*B. T counts what they hold and the token each of
them adds.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Final, Literal, NamedTuple

from tokengap.errors import UsageError

UNBOUNDED_TOKENS: Final = 1 << 62
LARGE_BATCH: Final = 95

Mixed = Literal["max", "sum"]


class Line(NamedTuple):
    """Decode steps of one batch: fixed_ms + token_ms * (tokens held before the step)."""

    fixed_ms: float
    token_ms: float
    from_tokens: int = 0
    below_tokens: int = UNBOUNDED_TOKENS
    """The line holds while so many tokens are held, and fewer than these."""


@dataclass(frozen=True)
class PrefillFit:
    """Coefficients of a prefill; for a pipeline, those of one of its stages."""

    fixed_ms: float
    token_ms: float
    square_ms: float = 0.0

    def __post_init__(self) -> None:
        _refuse_negative(self.fixed_ms, self.token_ms, self.square_ms)

    def ms(self, tokens: int, squares: int) -> float:
        """Time of a prefill.

        >>> PrefillFit(10, 0.5, 0.25).ms(4, 16)
        16.0
        """
        return self.fixed_ms + self.token_ms * tokens + self.square_ms * squares


@dataclass(frozen=True)
class DecodeFit:
    """Coefficients of a decode step."""

    fixed_ms: float
    token_ms: float
    request_ms: float

    def __post_init__(self) -> None:
        _refuse_negative(self.fixed_ms, self.token_ms, self.request_ms)

    def line(self, batch: int, held: int) -> Line:  # noqa: ARG002 (a table needs it)
        """Steps of so many requests."""
        fixed_ms = self.fixed_ms + (self.token_ms + self.request_ms) * batch
        return Line(fixed_ms, self.token_ms)


@dataclass(frozen=True)
class PrefillTable:
    """Measured prefills: time by tokens, straight lines between them and beyond."""

    tokens: Sequence[int]
    times_ms: Sequence[float]

    def __post_init__(self) -> None:
        _refuse_disorder(self.tokens, "tokens of a prefill")
        if len(self.times_ms) != len(self.tokens):
            raise UsageError("a table of prefills has one time for each number of tokens")
        _refuse_negative(*self.times_ms)

    @property
    def fixed_ms(self) -> float:
        """What a prefill of no tokens would take."""
        return max(0.0, self.ms(0, 0))

    def ms(self, tokens: int, squares: int) -> float:  # noqa: ARG002 (a fit needs it)
        """Time of a prefill.

        >>> PrefillTable([100, 200], [10.0, 30.0]).ms(150, 22_500)
        20.0
        """
        at = _cell(self.tokens, tokens)
        return _between(self.tokens, self.times_ms, at, tokens)


@dataclass(frozen=True)
class DecodeTable:
    """Measured decode steps: a row of times for each batch, a column for each number of tokens.

    The tokens are those held before the step. Straight lines between rows and columns, and beyond.
    """

    batches: Sequence[int]
    tokens: Sequence[int]
    times_ms: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        _refuse_disorder(self.batches, "batches of a decode step")
        _refuse_disorder(self.tokens, "tokens of a decode step")
        shape = [len(self.tokens)] * len(self.batches)
        if [len(row) for row in self.times_ms] != shape:
            raise UsageError("a table of decode steps has a time for each batch and each tokens")
        for row in self.times_ms:
            _refuse_negative(*row)

    @property
    def fixed_ms(self) -> float:
        """What a step of no requests would take."""
        line = self.line(0, 0)
        return max(0.0, line.fixed_ms)

    def line(self, batch: int, held: int) -> Line:
        """Steps of so many requests while the tokens stay in the same column.

        >>> DecodeTable([1, 3], [0, 100], [[10.0, 20.0], [30.0, 60.0]]).line(2, 50)
        Line(fixed_ms=20.0, token_ms=0.2, from_tokens=0, below_tokens=4611686018427387904)
        """
        column = _cell(self.tokens, held)
        row = _cell(self.batches, batch)
        ends = [self.tokens[column], self.tokens[column + 1]]
        low_ms, high_ms = (
            _between(self.batches, [times[at] for times in self.times_ms], row, batch)
            for at in (column, column + 1)
        )
        token_ms = (high_ms - low_ms) / (ends[1] - ends[0])
        is_last = column + 2 == len(self.tokens)
        below = UNBOUNDED_TOKENS if is_last else ends[1]
        return Line(low_ms - token_ms * ends[0], token_ms, ends[0] if column else 0, below)


@dataclass(frozen=True)
class ServiceModel:
    """All that a worker does, in time."""

    prefill: PrefillFit | PrefillTable
    decode: DecodeFit | DecodeTable
    large: DecodeFit | None = None
    """Decode steps from `large_from` requests on; None if one fit holds for all."""
    large_from: int = LARGE_BATCH
    mixed: Mixed = "max"
    """Fixed term of a step that prefills and decodes: the larger one, or both."""
    later_stages: tuple[PrefillFit, ...] = ()
    """Further stages of a pipeline of prefills; `prefill` is its first one."""

    def prefill_ms(self, tokens: int, squares: int) -> float:
        """Time until a prefill has passed the first stage."""
        return self.prefill.ms(tokens, squares)

    def line(self, batch: int, held: int) -> Line:
        """Decode steps of so many requests, from so many tokens held on."""
        if self.large is not None and batch >= self.large_from:
            return self.large.line(batch, held)
        return self.decode.line(batch, held)

    def mixed_ms(self, tokens: int, squares: int, batch: int, held: int) -> float:
        """Time of a step that prefills some tokens and gives each running request one.

        >>> parts = PrefillFit(10, 1), DecodeFit(8, 0, 2)
        >>> ServiceModel(*parts).mixed_ms(5, 25, batch=3, held=0)
        21.0
        >>> ServiceModel(*parts, mixed="sum").mixed_ms(5, 25, batch=3, held=0)
        29.0
        """
        line = self.line(batch, held)
        both_ms = self.prefill.ms(tokens, squares) + line.fixed_ms + line.token_ms * held
        if self.mixed == "sum":
            return both_ms
        is_large = self.large is not None and batch >= self.large_from
        fit = self.large if is_large and self.large is not None else self.decode
        return both_ms - min(self.prefill.fixed_ms, fit.fixed_ms)


def _cell(knots: Sequence[int], value: int) -> int:
    """Which pair of neighbours a value lies between, or is nearest to."""
    return max(0, min(bisect_right(knots, value), len(knots) - 1) - 1)


def _between(knots: Sequence[int], values: Sequence[float], at: int, value: int) -> float:
    share = (value - knots[at]) / (knots[at + 1] - knots[at])
    return values[at] + share * (values[at + 1] - values[at])


def _refuse_negative(*times_ms: float) -> None:
    if not all(isfinite(ms) and ms >= 0 for ms in times_ms):
        raise UsageError(f"a step cannot take less than no time: {times_ms}; give 0 ms or more")


def _refuse_disorder(knots: Sequence[int], what: str) -> None:
    rises = all(low < high for low, high in pairwise(knots))
    if len(knots) < 2 or not rises or knots[0] < 0:  # noqa: PLR2004 (a line has two ends)
        raise UsageError(f"a table needs two or more {what}, each larger than the one before")
