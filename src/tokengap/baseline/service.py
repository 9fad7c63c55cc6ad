"""What work costs a worker, fitted from the trace: prefills by their prompts, decode steps by load.

    prefill of S tokens, whose prompts' squares add up to Q    a + b*S + c*Q
    decode step of B requests that hold T tokens as it begins   a + b*T + c*B

The shape is that of DistServe's simulator (Zhong et al., OSDI 2024), without negative terms. A
decode step is fitted by sums over each request's gaps, for a single gap carries delivery bursts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tokengap.baseline.chance import Numbers
from tokengap.baseline.lines import Line, fit_line

BEYOND: Final = 1.5
"""A prediction further than this times what was seen is extrapolated."""
_LEAST_STEPS: Final = 8  # of a request: fewer tell a burst, not a step
PREFILL_TERMS: Final = ("fixed", "per token", "per squared token")
STEP_TERMS: Final = ("fixed", "per token held", "per request")


@dataclass(frozen=True)
class Prefills:
    """Steps that ended prefills, in order; columns of `prefill_steps`, and the longest prompt."""

    time_ns: Numbers
    tokens: Numbers
    squares: Numbers
    running: Numbers
    held_tokens: Numbers
    waited_ns: Numbers


@dataclass(frozen=True)
class Decodes:
    """Sums over the calm steps of each request, in order; columns of `stream_exposures`."""

    time_ns: Numbers
    steps: Numbers
    held_tokens: Numbers
    running: Numbers


@dataclass(frozen=True)
class Jitter:
    """How single decode steps lie around their mean: rows of `step_jitter`, ascending.

    The cost of a step is a mean. Single ones, as they were delivered, are longer or shorter by
    these ratios, which are 1 on average: a prediction of single gaps needs both.
    """

    ratios: Numbers
    gaps: Numbers

    def quantile(self, share: float) -> float | None:
        """The ratio that this share of the gaps does not exceed; None where no gap is calm.

        >>> Jitter(np.array([0.5, 1.0, 2.0]), np.array([1.0, 8.0, 1.0])).quantile(0.9)
        1.0
        """
        if not len(self.gaps):
            return None
        reached = np.cumsum(self.gaps) >= share * self.gaps.sum() * (1 - 1e-12)
        return float(self.ratios[int(np.argmax(reached))])

    def sample(self, count: int, seed: int) -> Numbers:
        """So many ratios, drawn as often as they were seen; 1 where none was."""
        if not len(self.gaps):
            return np.ones(count)
        chances = self.gaps / self.gaps.sum()
        return np.random.default_rng(seed).choice(self.ratios, size=count, p=chances)


@dataclass(frozen=True)
class Seen:
    """Ranges of what was fitted: outside of them, a prediction rests on the line alone."""

    prompt_tokens: tuple[float, float]
    """Of the prompts in one prefill step, together."""
    running: tuple[float, float]
    """Requests decoded at once."""
    held_tokens: tuple[float, float]
    """What these held together."""

    def extrapolated(
        self, *, prompt_tokens: float = 0, running: float = 0, held_tokens: float = 0
    ) -> Iterator[str]:
        """Why a prediction for this load rests on the line alone; nothing if it does not."""
        for name, asked in (
            ("prompt_tokens", prompt_tokens), ("running", running), ("held_tokens", held_tokens),
        ):  # fmt: skip
            most = getattr(self, name)[1]
            if asked > BEYOND * most:
                yield f"{name} {asked:g} is over {BEYOND:g} times the largest seen, {most:g}"


@dataclass(frozen=True)
class PrefillCost:
    """Coefficients of a prefill in ns; none is negative."""

    fixed_ns: float
    token_ns: float
    square_ns: float

    def ns(self, tokens: float, squares: float) -> float:
        """Time of a prefill of prompts with so many tokens together, and so many squares.

        >>> PrefillCost(10, 2, 1).ns(3, 9)
        25
        """
        return self.fixed_ns + self.token_ns * tokens + self.square_ns * squares


@dataclass(frozen=True)
class StepCost:
    """Coefficients of a decode step in ns; none is negative."""

    fixed_ns: float
    token_ns: float
    request_ns: float

    def ns(self, running: float, held_tokens: float) -> float:
        """Time of a step of so many requests that hold so many tokens together.

        >>> StepCost(10, 1, 2).ns(3, 9)
        25
        """
        return self.fixed_ns + self.token_ns * held_tokens + self.request_ns * running


@dataclass(frozen=True)
class ServiceFit:
    """The fitted cost of work, and how far it can be trusted; a part is None if nothing told it."""

    prefill: PrefillCost | None
    decode: StepCost | None
    prefill_line: Line
    decode_line: Line
    jitter: Jitter
    seen: Seen

    @property
    def unidentified(self) -> Iterator[str]:
        """Coefficients that the data does not identify, each with the reason."""
        parts = (("prefill", PREFILL_TERMS, self.prefill_line),
                 ("decode step", STEP_TERMS, self.decode_line))  # fmt: skip
        for part, terms, line in parts:
            for term, coefficient in zip(terms, line.coefficients, strict=True):
                if coefficient.unidentified is not None:
                    yield f"{part}, {term}: {coefficient.unidentified}"


def fit_service(prefills: Prefills, decodes: Decodes, jitter: Jitter) -> ServiceFit:
    """The costs; decode steps first, for prefills share steps with them."""
    told = decodes.steps >= _LEAST_STEPS
    design = np.column_stack([decodes.steps, decodes.held_tokens, decodes.running])
    decode_line = fit_line(design[told], decodes.time_ns[told])
    decode = StepCost(*_values(decode_line)) if decode_line.error_share is not None else None
    alone_ns = _without_decoding(prefills, decode)
    worked = alone_ns > 0
    design = np.column_stack([np.ones_like(alone_ns), prefills.tokens, prefills.squares])
    prefill_line = fit_line(design[worked], alone_ns[worked])
    prefill = PrefillCost(*_values(prefill_line)) if prefill_line.error_share is not None else None
    per_step = np.maximum(decodes.steps[told], 1)
    seen = Seen(
        _range(prefills.tokens[worked]),
        _range(decodes.running[told] / per_step),
        _range(decodes.held_tokens[told] / per_step),
    )
    return ServiceFit(prefill, decode, prefill_line, decode_line, jitter, seen)


def _values(line: Line) -> list[float]:
    return [coefficient.value for coefficient in line.coefficients]


def _without_decoding(prefills: Prefills, decode: StepCost | None) -> Numbers:
    """Time of the prefills alone, less what requests that ran beside them took of their step.

    A prompt that found others running waited for the end of their step first: half of one.
    """
    if decode is None:
        return prefills.time_ns
    beside = prefills.running > 0
    shared_ns = decode.token_ns * prefills.held_tokens + decode.request_ns * prefills.running
    waited_ns = np.where(prefills.waited_ns == 0, (decode.fixed_ns + shared_ns) / 2, 0)
    return prefills.time_ns - np.where(beside, shared_ns + waited_ns, 0)


def _range(values: Numbers) -> tuple[float, float]:
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
