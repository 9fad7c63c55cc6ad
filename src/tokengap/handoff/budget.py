"""The handoff budget: what a stream waits for when prefill hands its cache to decode.

pause = overhead + transfer - overlap. The first gap holds one decode step and the pause, unless
the first token is withheld until the handoff is done: then the pause is part of TTFT. Every value
is `base + weight * pause`, which is what makes the budget answer in both directions.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from tokengap.errors import UsageError
from tokengap.handoff.links import NO_OVERLAP, Exact, LayerOverlap, Link, Overlap

Verdict = Literal["met", "missed", "not_applicable"]
PROMISES: Final = ("ttft", "worst_gap", "tpot")

COLOCATED_WARNING: Final = (
    "one shared worker against two dedicated ones is not a fair comparison: with the same total "
    "resources, two shared workers make this gap half as often, and not shorter"
)


@dataclass(frozen=True)
class Handoff:
    """One prompt's way from the prefill worker to the decode worker, with nobody in its way."""

    prefill_ns: Exact
    step_ns: Exact
    """Steady time of one decode step."""
    cache_bytes: Exact
    link: Link
    overhead_ns: Exact = 0
    """All that is fixed: coordination, serialisation, queueing, step alignment."""
    overlap: Overlap = NO_OVERLAP
    withheld: bool = False
    """The first token waits until the handoff is done, instead of leaving with the prefill."""

    def __post_init__(self) -> None:
        if min(self.prefill_ns, self.step_ns, self.cache_bytes, self.overhead_ns) < 0:
            raise UsageError("prefill, step, cache and overhead are 0 or more")

    @property
    def transfer_ns(self) -> Fraction:
        """Time the cache takes over its link."""
        return self.link.transfer_ns(self.cache_bytes)

    @property
    def overlap_ns(self) -> Fraction:
        """Part of the transfer that adds no wait; never more than the transfer."""
        return self.overlap.hidden_ns(self.transfer_ns)

    @property
    def pause_ns(self) -> Fraction:
        """What the handoff adds to the time of the second token."""
        return self.overhead_ns + self.transfer_ns - self.overlap_ns

    @property
    def first_gap_ns(self) -> Fraction:
        """From the first token that is shown to the second one."""
        return self.step_ns + (Fraction(0) if self.withheld else self.pause_ns)


@dataclass(frozen=True)
class Limits:
    """Promises, each inclusive; None where nothing is promised."""

    ttft_ns: Exact | None = None
    worst_gap_ns: Exact | None = None
    tpot_ns: Exact | None = None


@dataclass(frozen=True)
class Line:
    """How a value grows with the pause: base_ns + weight * pause."""

    base_ns: Fraction
    weight: Fraction

    def at(self, pause_ns: Exact) -> Fraction:
        """The value if the handoff adds this pause."""
        return self.base_ns + self.weight * pause_ns


@dataclass(frozen=True)
class Promise:
    """One value beside its limit."""

    name: str
    """One of `PROMISES`."""
    value_ns: Fraction | None
    """None: a response of one token has no gaps."""
    limit_ns: Exact | None

    @property
    def verdict(self) -> Verdict | None:
        """None if nothing is promised."""
        if self.limit_ns is None:
            return None
        if self.value_ns is None:
            return "not_applicable"
        return "met" if self.value_ns <= self.limit_ns else "missed"

    @property
    def headroom_ns(self) -> Fraction | None:
        """What is left under the limit; below 0 if it is missed."""
        if self.value_ns is None or self.limit_ns is None:
            return None
        return self.limit_ns - self.value_ns


def lines(handoff: Handoff, output_tokens: int) -> dict[str, Line | None]:
    """Each promise's value as a function of the pause, for a response of so many tokens.

    None where it does not exist: a single token has neither gap nor average. UsageError for less
    than one token.
    """
    if output_tokens < 1:
        raise UsageError(f"{output_tokens} output tokens: a response has 1 or more")
    in_gap, in_ttft = Fraction(not handoff.withheld), Fraction(handoff.withheld)
    ttft = Line(Fraction(handoff.prefill_ns), in_ttft)
    if output_tokens == 1:
        return {"ttft": ttft, "worst_gap": None, "tpot": None}
    step_ns = Fraction(handoff.step_ns)
    return {
        "ttft": ttft,
        "worst_gap": Line(step_ns, in_gap),
        "tpot": Line(step_ns, in_gap / (output_tokens - 1)),
    }


def judge(handoff: Handoff, limits: Limits, output_tokens: int) -> dict[str, Promise]:
    """Every promise with its value, by name.

    >>> worked = Handoff(40 * 10**6, 10 * 10**6, 16 * 2**20, Link(2**30))
    >>> promises = judge(worked, Limits(worst_gap_ns=20 * 10**6), output_tokens=3)
    >>> float(promises["worst_gap"].value_ns), promises["worst_gap"].verdict
    (25625000.0, 'missed')
    >>> float(promises["tpot"].value_ns)
    17812500.0
    """
    return {
        name: Promise(
            name, None if line is None else line.at(handoff.pause_ns), limit_of(limits, name)
        )
        for name, line in lines(handoff, output_tokens).items()
    }


def limit_of(limits: Limits, name: str) -> Exact | None:
    """The limit of a promise by its name."""
    limit_ns: Exact | None = getattr(limits, f"{name}_ns")
    return limit_ns


def colocated_gap_ns(prefill_ns: Exact, step_ns: Exact) -> Exact:
    """Gap of a stream already running, where one worker runs a whole prefill before its next step.

    To be shown with `COLOCATED_WARNING`.

    >>> colocated_gap_ns(40, 10)
    50
    """
    return prefill_ns + step_ns


def assumptions(handoff: Handoff) -> list[str]:
    """What the numbers take for granted, in words."""
    link = handoff.link
    sharing = (
        "the link is not shared: no contention"
        if link.transfers == 1
        else f"{link.transfers} equal transfers share the link fairly from start to end"
    )
    overlap = (
        f"{handoff.overlap.layers} equal layers are sent one after another, each once computed"
        if isinstance(handoff.overlap, LayerOverlap)
        else "the overlap is as stated, and at most the transfer"
    )
    return [
        "no queueing but what the overhead holds",
        sharing,
        f"the busiest link carries {_times(Fraction(link.busiest_share))}",
        overlap,
        "prefill and decode steps take as long as stated, for every token",
    ]


def _times(share: Fraction) -> str:
    return "the whole cache" if share == 1 else f"{share} of the cache"
