"""What is promised of a generated request, and whether it is kept: plain Python, no log, no SQL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tests.weekly.generated import Answer, Request
from tokengap.slo.model import Goal, Service

_LEFT: Final = ("cancelled", "in_flight")
"""Ends that are no failure: what such a request did not live to see does not apply."""
_WORST_LAST: Final = ("not_applicable", "met", "unknown", "missed")


@dataclass(frozen=True)
class Verdicts:
    """What became of one request."""

    request: Request
    goals: Sequence[Goal]
    """By which it is judged."""
    by_statistic: dict[str, str]

    @property
    def status(self) -> str:
        """All answers of a request end in the same way."""
        return self.request.answers[0].status

    @property
    def is_offered(self) -> bool:
        """It counts: it did not end by the client's choice, or missed something before that."""
        missed = "missed" in self.by_statistic.values()
        return self.status not in _LEFT or (self.status == "cancelled" and missed)

    @property
    def is_good(self) -> bool:
        """Completed, and met all that applies."""
        kept = {"missed", "unknown"}.isdisjoint(self.by_statistic.values())
        return self.status == "completed" and kept

    @property
    def stall(self) -> str | None:
        """hidden or possible."""
        pair = self.by_statistic.get("tpot"), self.by_statistic.get("worst_gap")
        if self.status != "completed":
            return None
        known = {("met", "missed"): "hidden", ("met", "unknown"): "possible",
                 ("unknown", "missed"): "possible"}  # fmt: skip
        return known.get((str(pair[0]), str(pair[1])))


def judge(request: Request, service: Service) -> Verdicts:
    """The request by what was in force on its day: a statistic is as bad as the worst answer's."""
    goals = service.in_force(request.sent.date(), request.facts)
    found = {
        goal.statistic: max(
            (
                _VERDICTS[goal.statistic](request, answer, goal.limit_ns)
                for answer in request.answers
            ),
            key=_WORST_LAST.index,
        )
        for goal in goals
        if goal.limit_ns is not None
    }
    return Verdicts(request, goals, found)


def _ttft(request: Request, answer: Answer, limit_ns: int) -> str:
    if not answer.times_ns:
        return _ended(answer, limit_ns, answer.close_ns - request.first_sent_ns)
    wait_ns = answer.times_ns[0] - request.first_sent_ns
    if answer.is_body:  # its first token was made at some time after it was sent
        return _between(request.sent_ns - request.first_sent_ns, wait_ns, limit_ns)
    return _between(wait_ns, wait_ns, limit_ns)


def _tpot(request: Request, answer: Answer, limit_ns: int) -> str:
    if _is_single(answer):
        return "not_applicable"
    if answer.is_body:
        return _between(0, answer.times_ns[0] - request.sent_ns, limit_ns)
    if answer.output_tokens < 2:
        return _ended(answer, limit_ns)
    span_ns = answer.times_ns[-1] - answer.times_ns[0]
    return _between(span_ns, span_ns, limit_ns * (answer.output_tokens - 1))


def _worst_gap(request: Request, answer: Answer, limit_ns: int) -> str:
    if _is_single(answer):
        return "not_applicable"
    if answer.is_body:
        return _between(0, answer.times_ns[0] - request.sent_ns, limit_ns)
    gaps_ns = _gaps_ns(answer)
    if answer.status == "completed":
        return _between(max(gaps_ns), max(gaps_ns), limit_ns)
    last_wait_ns = [answer.close_ns - answer.times_ns[-1]] if answer.times_ns else []
    verdict = _ended(answer, limit_ns, max([*gaps_ns, *last_wait_ns], default=None))
    is_open = max([*gaps_ns, *last_wait_ns], default=0) <= limit_ns and answer.status not in _LEFT
    return "unknown" if gaps_ns and is_open else verdict


def _handoff_gap(request: Request, answer: Answer, limit_ns: int) -> str:
    if request.last_prefill_token != 1 or _is_single(answer):
        return "not_applicable"
    if answer.is_body:
        return "unknown"
    gaps_ns = _gaps_ns(answer)
    if gaps_ns:
        return _between(gaps_ns[0], gaps_ns[0], limit_ns)
    waited_ns = answer.close_ns - answer.times_ns[0] if answer.times_ns else None
    return _ended(answer, limit_ns, waited_ns)


_VERDICTS: Final[dict[str, Callable[[Request, Answer, int], str]]] = {
    "ttft": _ttft, "tpot": _tpot, "worst_gap": _worst_gap, "handoff_gap": _handoff_gap,
}  # fmt: skip


def _between(low_ns: int, high_ns: int, limit_ns: int) -> str:
    if high_ns <= limit_ns:
        return "met"
    return "missed" if low_ns > limit_ns else "unknown"


def _ended(answer: Answer, limit_ns: int, waited_ns: int | None = None) -> str:
    """The verdict on what an answer did not live to see."""
    if waited_ns is not None and waited_ns > limit_ns:
        return "missed"
    return "not_applicable" if answer.status in _LEFT else "missed"


def _is_single(answer: Answer) -> bool:
    return answer.status == "completed" and answer.output_tokens == 1


def _gaps_ns(answer: Answer) -> list[int]:
    return [after - before for before, after in pairwise(answer.times_ns)]
