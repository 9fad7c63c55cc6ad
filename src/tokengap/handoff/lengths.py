"""How long a response must be for its average to hide the pause of the handoff.

The pause is one gap of a response, and the average spreads it over all of them: with N tokens,
TPOT = step + pause / (N - 1), while the worst gap stays step + pause however long it is.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from tokengap.errors import UsageError
from tokengap.handoff.budget import Handoff, Limits, judge
from tokengap.handoff.inverse import Answer


@dataclass(frozen=True)
class AtLength:
    """What a response of so many tokens shows."""

    output_tokens: int
    worst_gap_ns: Fraction | None
    tpot_ns: Fraction | None
    """Both None for a single token."""
    hidden: bool
    """The average passes, the worst gap does not."""


def at_length(handoff: Handoff, limits: Limits, output_tokens: int) -> AtLength:
    """Worst gap and average of a response of this length, and whether one hides the other."""
    promises = judge(handoff, limits, output_tokens)
    gap, tpot = promises["worst_gap"], promises["tpot"]
    hidden = gap.verdict == "missed" and tpot.verdict == "met"
    return AtLength(output_tokens, gap.value_ns, tpot.value_ns, hidden)


def hidden_from_tokens(handoff: Handoff, limits: Limits) -> Answer:
    """The shortest response whose average passes although its worst gap does not.

    All longer ones are alike. UsageError without limits on both.

    >>> from tokengap.handoff.links import Link
    >>> worked = Handoff(40 * 10**6, 10 * 10**6, 16 * 2**20, Link(2**30))
    >>> limits = Limits(worst_gap_ns=20 * 10**6, tpot_ns=20 * 10**6)
    >>> int(hidden_from_tokens(worked, limits).value)
    3
    """
    if limits.worst_gap_ns is None or limits.tpot_ns is None:
        raise UsageError("what the average hides needs a limit on worst_gap and one on tpot")
    if handoff.first_gap_ns <= limits.worst_gap_ns:
        return Answer(None, "the worst gap is met: there is nothing to hide")
    spare_ns = limits.tpot_ns - Fraction(handoff.step_ns)
    pause_ns = handoff.first_gap_ns - handoff.step_ns
    if pause_ns == 0:
        passes = spare_ns >= 0
        return Answer(Fraction(2)) if passes else Answer(None, "the average never passes")
    if spare_ns <= 0:
        return Answer(None, "the average never passes: the step alone takes its limit")
    return Answer(Fraction(max(2, ceil(pause_ns / spare_ns) + 1)))
