"""Requests as the definitions judge them: last attempts, verdicts, counts. Plain Python, no SQL."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from tests.queries import oracle
from tests.queries.given import Row
from tests.queries.observed import Bounds, Observed
from tokengap.store.connect import Declared, Window

NO_SUCH_QUANTITY: Final = {
    "single_token", "no_token", "no_handoff", "inside_ttft", "outside_ttft",
}  # fmt: skip
LEFT: Final = {"cancelled", "in_flight"}
OUTERMOST_FIRST: Final = ("client", "gateway", "engine")
WORST_LAST: Final = (
    "completed", "in_flight", "cancelled", "truncated", "rejected", "timed_out", "failed",
)  # fmt: skip
Z: Final = 1.959963984540054

Limits = Mapping[str, int]


@dataclass(frozen=True)
class Judged:
    """A stream of a request's last attempt, with the streams of the first one."""

    s: Observed
    first: Sequence[Observed]

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.s["trace"], self.s["request_id"], self.s["attempt"], self.s.vantage

    @property
    def end_ns(self) -> int | None:
        close_ns: int | None = self.s["stream_close_ns"]
        return self.s.last_ns if close_ns is None else close_ns

    @cached_property
    def _retry(self) -> tuple[int, str | None]:
        """How long before this attempt the first one began, or why that is not known."""
        if self.s["attempt"] == self.first[0]["attempt"]:
            return 0, None
        clocks = {s["clock"] for s in self.first} - {None}
        if self.s["clock"] != min(clocks, default=None):
            return 0, "clock_unrelated"
        origins = [s.origin_ns for s in self.first if s.origin_ns is not None]
        if self.s.origin_ns is None or not origins:
            return 0, "origin_missing"
        waited_ns = self.s.origin_ns - min(origins)
        return (waited_ns, None) if waited_ns >= 0 else (0, "non_monotonic")

    def _since_first(self, own: Bounds) -> Bounds:
        waited_ns, reason = self._retry
        low = None if own.low is None else own.low + waited_ns
        high = None if own.high is None or reason else own.high + waited_ns
        return Bounds(low, high, own.reason or reason)

    @cached_property
    def ttft(self) -> Bounds:
        return self._since_first(oracle.ttft(self.s))

    @cached_property
    def ttft_from_planned(self) -> Bounds:
        """What the user waited for, sending included: from when the first attempt was planned."""
        waits = [
            s["sent_ns"] - s["planned_ns"]
            for s in self.first
            if s["sent_ns"] is not None and s["planned_ns"] is not None
        ]
        if self.s.origin != "sent" or not waits:
            return Bounds()
        low, high = self.ttft.low, self.ttft.high
        return Bounds(
            None if low is None else low + max(waits), None if high is None else high + max(waits)
        )

    @cached_property
    def e2e(self) -> Bounds:
        return self._since_first(oracle.e2e(self.s))

    @cached_property
    def handoff_gap(self) -> Bounds:
        return oracle.handoff_gap(self.s)

    def value(self, statistic: str) -> Bounds:
        own: dict[str, Callable[[], Bounds]] = {
            "ttft": lambda: self.ttft,
            "tpot": lambda: oracle.tpot(self.s),
            "worst_gap": lambda: oracle.worst_gap(self.s),
            "handoff_gap": lambda: self.handoff_gap,
            "e2e": lambda: self.e2e,
        }
        if statistic in own:
            return own[statistic]()
        return oracle.own_percentile(self.s, int(statistic.removeprefix("gap_p")))

    def verdict(self, statistic: str, limit_ns: int) -> str:
        value = self.value(statistic)
        if value.reason in NO_SUCH_QUANTITY:
            return "not_applicable"
        if value.high is not None and value.high <= limit_ns:
            return "met"
        if value.low is not None and value.low > limit_ns:
            return "missed"
        if value.reason in ("ended_early", "open_wait") and self.s["status"] in LEFT:
            return "not_applicable"
        return "missed" if value.reason == "ended_early" else "unknown"


def within(window: Window | None, begun_ns: int | None, ended_ns: int | None) -> bool:
    if window is None:
        return True
    t_ns = begun_ns if window.rule == "by_start" else ended_ns
    return t_ns is not None and window.start_ns <= t_ns < window.end_ns


def last_attempts(rows: Iterable[Row], declared: Declared) -> list[Judged]:
    """Streams of last attempts at the vantage that is judged; no prefill half, no workload."""
    seen = [Observed(row, declared) for row in rows]
    seen = [s for s in seen if s.part != "prefill" and s["granularity"] != "workload"]
    seen = [s for s in seen if declared.vantage in (None, s.vantage)]
    outermost = min((s.vantage for s in seen), key=OUTERMOST_FIRST.index, default=None)
    requests: dict[tuple[str, str], list[Observed]] = defaultdict(list)
    for s in seen:
        if s.vantage == outermost:
            requests[s["trace"], s["request_id"]].append(s)
    return [
        Judged(s, _of_attempt(streams, min)) for streams in requests.values()
        for s in _of_attempt(streams, max)
    ]  # fmt: skip


def _of_attempt(streams: list[Observed], which: Callable[[Iterable[int]], int]) -> list[Observed]:
    attempt = which(s["attempt"] for s in streams)
    return [s for s in streams if s["attempt"] == attempt]


def judged(rows: Iterable[Row], declared: Declared) -> list[Judged]:
    """The last attempts that belong to the window."""
    return [
        j for j in last_attempts(rows, declared) if within(declared.window, j.s.origin_ns, j.end_ns)
    ]


@dataclass(frozen=True)
class Request:
    """One attempt of a request at one vantage, over all its choices."""

    choices: Sequence[Judged]
    limits: Limits

    @property
    def status(self) -> str:
        found = {j.s["status"] for j in self.choices}
        return next(status for status in reversed(WORST_LAST) if status in found)

    @cached_property
    def verdicts(self) -> dict[str, str]:
        order = ("not_applicable", "met", "unknown", "missed")
        return {
            statistic: max((j.verdict(statistic, limit_ns) for j in self.choices), key=order.index)
            for statistic, limit_ns in self.limits.items()
        }

    def with_verdict(self, verdict: str) -> list[str]:
        return sorted(name for name, found in self.verdicts.items() if found == verdict)

    @property
    def offered(self) -> bool:
        if self.status == "cancelled":
            return bool(self.with_verdict("missed"))
        return self.status != "in_flight"

    @property
    def has_token(self) -> bool:
        def delivered(j: Judged) -> bool:
            tokens = j.s["output_tokens"]
            if tokens is not None:
                return bool(tokens > 0)
            return j.s.last_ns is not None or j.ttft.exact is not None

        return any(delivered(j) for j in self.choices)

    @property
    def good(self) -> bool:
        return (
            self.status == "completed"
            and self.has_token
            and not self.with_verdict("missed")
            and not self.with_verdict("unknown")
        )

    @property
    def stall(self) -> str | None:
        pair = self.verdicts.get("tpot"), self.verdicts.get("worst_gap")
        if self.status != "completed":
            return None
        if pair == ("met", "missed"):
            return "hidden"
        return "possible" if pair in {("met", "unknown"), ("unknown", "missed")} else None


def requests(streams: Iterable[Judged], limits: Limits) -> list[Request]:
    by_request: dict[tuple[str, str, int, str], list[Judged]] = defaultdict(list)
    for j in streams:
        by_request[j.key].append(j)
    return [Request(choices, limits) for choices in by_request.values()]


def wilson(k: int, n: int) -> tuple[float | None, float | None]:
    """95 % interval of k in n, as the textbooks write it."""
    if n == 0:
        return None, None
    p = k / n
    centre, spread = p + Z**2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    low, high = (centre - spread) / (1 + Z**2 / n), (centre + spread) / (1 + Z**2 / n)
    return max(low, 0.0), min(high, 1.0)


def share(k: int, n: int) -> Fraction | None:
    return Fraction(k, n) if n else None
