"""Every metric of one stream in plain Python: written from the definitions, not from the SQL.

Numbers are exact. A metric is an interval with a reason why it is not one number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from tests.queries.given import NOTHING_DECLARED, Row
from tokengap.store.connect import Declared

BURST_NS: Final = 200_000
ORIGIN_AT: Final = {"client": "sent", "gateway": "received", "engine": "arrival"}

Number = int | Fraction


@dataclass(frozen=True)
class Bounds:
    """What is proven of a value: None as `low` is nothing, None as `high` is no limit."""

    low: Number | None = None
    high: Number | None = None
    reason: str | None = None

    @property
    def exact(self) -> Number | None:
        return self.low if self.reason is None else None


def exactly(value: Number) -> Bounds:
    return Bounds(value, value)


@dataclass(frozen=True)
class Observed:
    """One row of `stored_streams`, and what the user declared."""

    row: Row
    declared: Declared = NOTHING_DECLARED

    def __getitem__(self, column: str) -> Any:
        return self.row.get(column)

    @property
    def vantage(self) -> str:
        vantage: str = self["vantage"] or self.declared.vantage or "client"
        return vantage

    @property
    def origin(self) -> str:
        return self.declared.origin or ORIGIN_AT[self.vantage]

    @property
    def origin_ns(self) -> int | None:
        origin: int | None = self[f"{self.origin}_ns"]
        return origin

    @property
    def handoff(self) -> tuple[int | None, str | None]:
        """k and how it is known: the log wins over a declaration, and so does `none`."""
        k, source = self["last_prefill_token"], self["handoff_source"]
        if source is not None:
            return k, source
        if k is not None:
            return k, "log"
        k = self.declared.last_prefill_token
        return k, None if k is None else "declared"

    @cached_property
    def times(self) -> list[int] | None:
        """t(1)..t(m); None where the deliveries are not known."""
        if self["gaps_ns"] is None:
            return None
        if self["first_token_ns"] is None:
            return []
        return list(accumulate(self["gaps_ns"], initial=self["first_token_ns"]))

    @property
    def gaps(self) -> list[int]:
        return self["gaps_ns"] or []

    @property
    def first_ns(self) -> int | None:
        first: int | None = self["first_token_ns"]
        return first

    @property
    def last_ns(self) -> int | None:
        return self.times[-1] if self.times else self["last_token_ns"]

    @property
    def span_ns(self) -> int | None:
        if self.first_ns is None or self.last_ns is None:
            return None
        return self.last_ns - self.first_ns

    @property
    def ended(self) -> bool:
        """Without completing."""
        return bool(self["status"] != "completed")

    def noted(self, note: str) -> bool:
        return note in self["quality"]

    @property
    def lost(self) -> bool:
        """Deliveries are missing: the log says so, or tokens were counted and none was seen."""
        unseen = self.times == [] and (self["output_tokens"] or 0) > 0
        return self.noted("events_lost") or unseen

    @property
    def backwards(self) -> bool:
        return any(gap < 0 for gap in self.gaps) or (self.span_ns or 0) < 0

    @property
    def unbegun(self) -> bool:
        """Nothing in the row speaks of a token."""
        return self.first_ns is None and self.last_ns is None and not self["output_tokens"]

    @cached_property
    def tokens(self) -> int | None:
        """N; None if unknown, less than what was seen, or counted from what was not lost."""
        stated: int | None = self["output_tokens"]
        if self.lost and self["token_count_source"] != "usage":
            return None
        if stated is None:
            return 0 if self.times == [] else None
        seen = len(self.times) if self.times is not None else int(not self.unbegun)
        return stated if stated >= seen else None

    @cached_property
    def split(self) -> list[int] | None:
        """c(1)..c(m), where all of them are known."""
        if self["token_counts"] is not None:
            return list(self["token_counts"])
        if self.times and len(self.times) == self.tokens:
            return [1] * self.tokens
        if self.times and len(self.times) == 1 and self.tokens and self.handoff[0] != 1:
            return [self.tokens]
        return None

    @property
    def first_tokens(self) -> int | None:
        """c(1): k = 1 also says that it is one."""
        if self.split is not None:
            return self.split[0]
        return 1 if self.handoff[0] == 1 else None

    @property
    def open_wait_ns(self) -> int | None:
        """How long the user had waited for the next token when the stream ended."""
        close_ns, last_ns = self["stream_close_ns"], self.last_ns
        if not self.ended or close_ns is None or last_ns is None:
            return None
        return int(close_ns - last_ns)


def ttft(s: Observed) -> Bounds:
    close_ns, origin_ns = s["stream_close_ns"], s.origin_ns
    if s.tokens == 0 and not s.ended:
        return Bounds(reason="no_token")
    if s.first_ns is None and s.lost:
        return Bounds(reason="events_lost")
    if s.ended and s.unbegun:
        known = close_ns is not None and origin_ns is not None
        return Bounds(close_ns - origin_ns if known else None, reason="ended_early")
    if s.first_ns is None:
        return Bounds(reason="aggregate")
    if origin_ns is None:
        return Bounds(reason="origin_missing")
    waited_ns = s.first_ns - origin_ns
    if waited_ns < 0:
        return Bounds(reason="non_monotonic")
    if s.noted("not_streamed"):
        return Bounds(0, waited_ns, "not_streamed")
    return exactly(waited_ns)


def gaps_reason(s: Observed) -> str | None:
    """Why nothing made of gaps is exact."""
    m = None if s.times is None else len(s.times)
    if not s.ended and s.tokens == 0:
        return "no_token"
    if not s.ended and s.tokens == 1:
        return "single_token"
    if s.backwards:
        return "non_monotonic"
    if s.lost:
        return "events_lost"
    if s.ended and (m < 2 if m is not None else s.unbegun or s.tokens == 1):
        return "ended_early"
    if s.noted("not_streamed"):
        return "not_streamed"
    if m is None:
        return "end_missing" if s.first_ns is not None and s.last_ns is None else "aggregate"
    return "single_delivery" if m == 1 else None


def tpot(s: Observed) -> Bounds:
    reason, span = gaps_reason(s), s.span_ns
    if reason == "not_streamed":  # every token came into being while the body was waited for
        return Bounds(0, ttft(s).high, reason)
    if reason not in (None, "aggregate") or span is None:
        return Bounds(reason=reason)
    m = len(s.times) if s.times else 2  # if time passed, there were two deliveries at least
    if s.tokens is None:
        return Bounds(0, Fraction(span, m - 1), reason or "split_unknown")
    if reason is None and s.first_tokens is not None:
        return exactly(Fraction(span, s.tokens - s.first_tokens))
    possible = [Fraction(span, s.tokens - c) for c in range(1, s.tokens - m + 2)]
    return Bounds(min(possible), max(possible), reason or "split_unknown")


def worst_gap(s: Observed) -> Bounds:
    reason, wait = gaps_reason(s), s.open_wait_ns
    longest = max(s.gaps, default=None)
    seen = [value for value in (longest, wait) if value is not None]
    if reason == "events_lost" and seen and s.tokens is not None and s.times is not None:
        pieces = s.tokens - len(s.times) + 1  # the lost ones may all have come within it
        return Bounds(_rounded_up(Fraction(max(seen), pieces)), None, reason)
    if reason == "not_streamed":
        return Bounds(0, None if s.ended else ttft(s).high, reason)
    if reason == "single_delivery":
        return Bounds(0, None, reason)
    if reason == "aggregate" and s.span_ns is not None:
        mean = Fraction(s.span_ns, s.tokens - 1) if s.tokens is not None else Fraction(0)
        low = max([_rounded_up(mean), *seen])
        return Bounds(low, None if s.ended else s.span_ns, reason)
    if s.ended and reason in (None, "ended_early"):
        return Bounds(max(seen, default=None), None, reason or "open_wait")
    if reason is None and s.noted("smeared"):
        return Bounds(longest, s.span_ns, "smeared")
    return exactly(max(s.gaps)) if reason is None else Bounds(reason=reason)


def _rounded_up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def worst_gap_after_token(s: Observed) -> int | None:
    if not s.gaps or s.split is None or s.lost or any(gap < 0 for gap in s.gaps):
        return None
    return sum(s.split[: s.gaps.index(max(s.gaps)) + 1])


def percentile(values: Sequence[Number], percent: int) -> Fraction:
    """Linear interpolation at position q * (n - 1)."""
    ranked = sorted(values)
    position = Fraction(percent * (len(ranked) - 1), 100)
    below = position.numerator // position.denominator
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (position - below) * (Fraction(ranked[above]) - ranked[below])


def own_percentile(s: Observed, percent: int) -> Bounds:
    reason = gaps_reason(s)
    for note in ("smeared", "coalesced_reads"):
        reason = reason or (note if s.noted(note) else None)
    return Bounds(reason=reason) if reason else exactly(percentile(s.gaps, percent))


def second_token_ns(s: Observed) -> int | None:
    if s.backwards or s.lost or s.noted("not_streamed") or not s.times or not s.first_tokens:
        return None
    if s.first_tokens > 1:
        return 0
    return s.times[1] - s.times[0] if len(s.times) > 1 else None


def e2e(s: Observed) -> Bounds:
    origin_ns, close_ns = s.origin_ns, s["stream_close_ns"]
    if s.tokens == 0 and not s.ended:
        return Bounds(reason="no_token")
    if s.ended:
        known = [t for t in (s.last_ns, close_ns) if t is not None and origin_ns is not None]
        return Bounds(max(known) - (origin_ns or 0) if known else None, None, "ended_early")
    if origin_ns is None:
        return Bounds(reason="origin_missing")
    if (s.span_ns or 0) < 0 or (s.last_ns is not None and s.last_ns < origin_ns):
        return Bounds(reason="non_monotonic")
    if s.last_ns is not None and not s.lost:
        return exactly(s.last_ns - origin_ns)
    seen_ns = s.first_ns if s.last_ns is None else s.last_ns
    reason = "events_lost" if s.lost else "end_missing"
    if seen_ns is None:
        return Bounds(reason=reason)
    closed = close_ns is not None and close_ns >= seen_ns
    return Bounds(seen_ns - origin_ns, close_ns - origin_ns if closed else None, reason)


def handoff_index(s: Observed) -> int | None:
    """The delivery that ends with token k; 0 for k = 0; None inside one, or not known."""
    k, _ = s.handoff
    if k is None:
        return None
    if s["token_counts"] is not None and k > 0:
        running = list(accumulate(s["token_counts"]))
        return running.index(k) + 1 if k in running else None
    one_each = s.times is not None and len(s.times) == s.tokens
    return k if one_each or k in (0, 1) else None


def handoff_gap(s: Observed) -> Bounds:
    (k, source), index = s.handoff, handoff_index(s)
    m = None if s.times is None else len(s.times)
    if source == "none":
        return Bounds(reason="no_handoff")
    if k is None:
        return Bounds(reason="handoff_undeclared")
    if k == 0:
        return Bounds(reason="inside_ttft")
    if not s.ended and s.tokens is not None and s.tokens <= k:
        return Bounds(reason="no_handoff")
    if s.lost:
        return Bounds(reason="events_lost")
    if s.ended and _before_handoff(s, k, index):
        waiting = index is not None and index == m
        return Bounds(s.open_wait_ns if waiting else None, None, "ended_early")
    if s.noted("not_streamed"):
        return Bounds(reason="not_streamed")
    if m is None:
        return Bounds(reason="aggregate")
    if m == 1 or (index is None and s["token_counts"] is not None):
        return Bounds(reason="not_observable")
    if index is None:
        return Bounds(reason="split_unknown")
    gap = s.gaps[index - 1]
    if gap < BURST_NS:
        return Bounds(reason="non_monotonic" if gap < 0 else "not_observable")
    return exactly(gap)


def _before_handoff(s: Observed, k: int, index: int | None) -> bool:
    """Whether the stream ended before token k + 1 came."""
    if s.tokens is not None and s.tokens <= k:
        return True
    if s.times is not None and index is not None:
        return len(s.times) <= index
    return s.unbegun


def steady_tpot(s: Observed) -> Number | None:
    (k, _), index = s.handoff, handoff_index(s)
    if k is None or gaps_reason(s) is not None or not s.times:
        return None
    if k == 0:
        return tpot(s).exact
    if index is None or index >= len(s.times) or s.split is None:
        return None
    after = sum(s.split[index + 1 :])
    return Fraction(s.times[-1] - s.times[index], after) if after else None
