"""The budget backwards: the least bandwidth, the largest cache and the most overhead that pass."""

from dataclasses import dataclass
from fractions import Fraction

from tokengap.handoff.budget import Handoff, Limits, Line, limit_of, lines


@dataclass(frozen=True)
class Answer:
    """An exact bound, or why there is none."""

    value: Fraction | None
    reason: str | None = None
    """Set where value is None: nothing passes, or nothing bounds it."""


@dataclass(frozen=True)
class Inverse:
    """Each term's last value that keeps every promise, all others as they are."""

    min_bandwidth_bytes_per_s: Answer
    max_cache_bytes: Answer
    max_overhead_ns: Answer


def invert(handoff: Handoff, limits: Limits, output_tokens: int) -> Inverse:
    """What still passes, exactly: put back into the budget, it gives the limit itself.

    >>> from tokengap.handoff.links import Link
    >>> worked = Handoff(40 * 10**6, 10 * 10**6, 16 * 2**20, Link(2**30))
    >>> found = invert(worked, Limits(worst_gap_ns=20 * 10**6), output_tokens=3)
    >>> float(found.max_cache_bytes.value / 2**20)
    10.24
    """
    pause = longest_pause_ns(handoff, limits, output_tokens)
    if pause.value is None:
        return Inverse(pause, pause, pause)
    overhead_ns = pause.value - (handoff.transfer_ns - handoff.overlap_ns)
    overhead = (
        Answer(overhead_ns)
        if overhead_ns >= 0
        else Answer(None, "the transfer alone takes longer than the pause may be")
    )
    exposed_ns = pause.value - handoff.overhead_ns
    if exposed_ns < 0:
        late = Answer(None, "the overhead alone takes longer than the pause may be")
        return Inverse(late, late, overhead)
    transfer_ns = handoff.overlap.longest_transfer_ns(exposed_ns)
    return Inverse(
        _least_bandwidth(handoff, transfer_ns),
        Answer(handoff.link.largest_cache_bytes(transfer_ns)),
        overhead,
    )


def longest_pause_ns(handoff: Handoff, limits: Limits, output_tokens: int) -> Answer:
    """The longest pause that keeps every promise."""
    longest: Fraction | None = None
    for name, line in lines(handoff, output_tokens).items():
        limit_ns = limit_of(limits, name)
        if line is None or limit_ns is None:
            continue
        if line.base_ns > limit_ns:
            return Answer(None, f"{name} is missed even if the handoff takes no time")
        longest = _shorter(longest, line, limit_ns - line.base_ns)
    if longest is None:
        return Answer(None, "no promise depends on the handoff")
    return Answer(longest)


def _shorter(longest: Fraction | None, line: Line, spare_ns: Fraction) -> Fraction | None:
    if line.weight == 0:
        return longest
    allowed = spare_ns / line.weight
    return allowed if longest is None else min(longest, allowed)


def _least_bandwidth(handoff: Handoff, transfer_ns: Fraction) -> Answer:
    if handoff.cache_bytes == 0:
        return Answer(None, "there is no cache to move")
    if transfer_ns == 0:
        return Answer(None, "no time is left for a transfer")
    return Answer(handoff.link.least_bandwidth_bytes_per_s(handoff.cache_bytes, transfer_ns))
