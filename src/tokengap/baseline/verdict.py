"""What separating prefill from decoding could solve here: a verdict in words, with its reasons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tokengap.baseline.response import Effect
from tokengap.units import format_count, format_duration, format_share

Name = Literal["no measured interference", "provisioning", "interference"]

STALL_STEPS: Final = 20
"""Without limits, a gap over so many of its stream's own steps counts as a stall."""
LEAST_SHARE: Final = 0.1
"""Of the missed requests: separation must be able to help so many, to have something to solve."""
QUEUED_SHARE: Final = 0.5
"""Of the time from a prompt's arrival to its first token: more of it in a queue is overload."""
LEAST_REQUESTS: Final = 3
"""And so many: one or two are an anecdote."""
_LEAST_BLOCKS: Final = 3  # blocks of time with prefills beside gaps


@dataclass(frozen=True)
class Misses:
    """Requests that miss a limit, and which of them separation or chunks could help, at most."""

    statistic: str
    limit_ns: int | None
    missed: int
    apart: int
    chunked: int
    neither: int


@dataclass(frozen=True)
class Evidence:
    """What the verdict rests on.

    misses: of requests that miss any limit; where no limit is given, of those that stall by
    `STALL_STEPS`. has_limits: which of the two. queued_share: of the time between a prompt's
    arrival and its first token, on average, before its prefill began; None if not known.
    calm_gap_ns: mean gap without any prefill beside it; average_limit_ns: the limit on the average.
    """

    effect: Effect
    misses: Misses
    requests: int
    has_limits: bool
    queued_share: float | None
    average_limit_ns: int | None


@dataclass(frozen=True)
class Verdict:
    """The verdict, and why: sentences, the deciding one first."""

    name: Name
    why: Sequence[str]


def judge(evidence: Evidence) -> Verdict:
    """Provisioning where work queues or its own pace is too slow; else whether prefills do harm."""
    name, first = _decided(evidence)
    return Verdict(name, [first, *_more(evidence, name)])


def _decided(evidence: Evidence) -> tuple[Name, str]:
    misses = evidence.misses
    what = "miss a limit" if evidence.has_limits else "stall"
    of = f"{format_count(misses.missed)} of {format_count(evidence.requests)} requests {what}"
    if not misses.missed:
        return "no measured interference", _harmless(evidence)
    if why := _short_of_resources(evidence):
        return "provisioning", f"{of}, and {why}."
    if not evidence.effect.gaps:
        return "no measured interference", f"{of}, and this log shows no gaps of completed ones."
    if not _is_measured(evidence.effect):
        return "no measured interference", (
            f"{of}, but by what this log shows, long gaps do not come with other requests' "
            "prefills more often than chance would have it."
        )
    helped = f"{of}; without other requests' prefills in their gaps, {format_count(misses.apart)}"
    if misses.apart < max(LEAST_SHARE * misses.missed, LEAST_REQUESTS):
        return "no measured interference", (
            f"{helped} would not: too few to be what separation is for."
        )
    return "interference", f"{helped} would not, at most."


def _harmless(evidence: Evidence) -> str:
    met = "Every request meets its limits" if evidence.has_limits else "No request stalls"
    if evidence.effect.is_measured:
        return f"{met}: prefills lengthen the gaps beside them, and nobody is harmed by it."
    return f"{met}: there is nothing that separation could solve."


def _short_of_resources(evidence: Evidence) -> str | None:
    """Why no way of dividing the workers would do; None if nothing says so."""
    queued = evidence.queued_share
    if queued is not None and queued > QUEUED_SHARE:
        return (
            f"prompts spend {format_share(queued)} of the wait for their first token in a queue: "
            "the workers have more work than time, however it is divided"
        )
    calm_ns, limit_ns = evidence.effect.calm_gap_ns.value, evidence.average_limit_ns
    if calm_ns is not None and limit_ns is not None and calm_ns > limit_ns:
        return (
            f"gaps without any prefill beside them take {format_duration(calm_ns)} on average, "
            f"over the limit of {format_duration(limit_ns)}: decoding itself is too slow"
        )
    return None


def _is_measured(effect: Effect) -> bool:
    """Gaps beside prefills are longer, at several times, and prefills fill long gaps."""
    beyond_chance = effect.explained_share.low is None or effect.explained_share.low > 0
    return effect.is_measured and beyond_chance and effect.exposed_blocks >= _LEAST_BLOCKS


def _more(evidence: Evidence, name: Name) -> Iterator[str]:
    effect, misses = evidence.effect, evidence.misses
    if not effect.exposed_gaps:
        yield "No gap has a prefill of another request beside it that this log shows."
    elif effect.calm_gap_ns.value is not None and effect.exposed_gap_ns.value is not None:
        yield (
            f"A gap lasts {format_duration(effect.exposed_gap_ns.value)} on average beside a "
            f"prefill ({format_count(effect.exposed_gaps)} gaps) and "
            f"{format_duration(effect.calm_gap_ns.value)} without."
        )
    explained = effect.explained_share
    if explained.value is not None and explained.low is not None and explained.high is not None:
        between = f"{format_share(explained.low)} to {format_share(explained.high)}"
        yield (
            f"Prefills explain {format_share(explained.value)} of what long gaps last beyond "
            f"their streams' pace ({between})."
        )
    if misses.missed and not evidence.has_limits:
        yield f"No limit is given: a gap over {STALL_STEPS} of its stream's own steps is a stall."
    if name == "provisioning" and misses.apart:
        yield (
            f"Prefills interfere as well: without them, {format_count(misses.apart)} of the "
            f"{format_count(misses.missed)} would have been spared, had the work been the same."
        )
    if misses.chunked >= misses.apart > 0:
        yield "Chunked prefill could help as many as separation: try that first."
    if misses.neither and name != "provisioning":
        yield (
            f"Neither separation nor chunks could help {format_count(misses.neither)} of the "
            f"{format_count(misses.missed)}, by this log. Prompts of other clients on the same "
            "workers would not show in it: read their logs along with it."
        )
