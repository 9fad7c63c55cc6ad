"""Every metric of one stream in plain Python: written from the definitions, not from the SQL.

Numbers are exact. A metric is an interval with a reason why it is not one number.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Final

from tests.queries.observed import Bounds, Number, Observed, difference, exactly, first_of

BURST_NS: Final = 200_000


def ttft(s: Observed) -> Bounds:
    waited_ns = difference(s.first_ns, s.origin_ns)
    reason = first_of(
        ("no_token", s.tokens == 0 and not s.ended),
        ("events_lost", s.first_ns is None and s.lost),
        ("ended_early", s.ended and s.unbegun),
        ("aggregate", s.first_ns is None),
        ("origin_missing", s.origin_ns is None),
        ("non_monotonic", (waited_ns or 0) < 0),
        ("events_lost", s.lost and s.noted("first_events_lost")),
        ("not_streamed", s.noted("not_streamed")),
    )
    if reason == "ended_early":
        return Bounds(difference(s["stream_close_ns"], s.origin_ns), None, reason)
    if reason in ("not_streamed", "events_lost"):  # it came by then
        return Bounds(0, waited_ns, reason)
    return Bounds(reason=reason) if reason else Bounds(waited_ns, waited_ns)


def gaps_reason(s: Observed) -> str | None:
    """Why nothing made of gaps is exact."""
    m = None if s.times is None else len(s.times)
    too_few = m < 2 if m is not None else s.unbegun or s.tokens == 1
    return first_of(
        ("no_token", not s.ended and s.tokens == 0),
        ("single_token", not s.ended and s.tokens == 1),
        ("non_monotonic", s.backwards),
        ("events_lost", s.lost),
        ("ended_early", s.ended and too_few),
        ("not_streamed", s.noted("not_streamed")),
        ("single_delivery", m == 1),
        ("end_missing", m is None and s.first_ns is not None and s.last_ns is None),
        ("aggregate", m is None),
    )


def tpot(s: Observed) -> Bounds:
    reason, span_ns = gaps_reason(s), s.span_ns
    if reason == "not_streamed":  # every token came into being while the body was waited for
        return Bounds(0, ttft(s).high, reason)
    if reason not in (None, "aggregate") or span_ns is None:
        return Bounds(reason=reason)
    m = len(s.times) if s.times else 2  # if time passed, there were two deliveries at least
    if s.tokens is None:
        return Bounds(0, Fraction(span_ns, m - 1), reason or "split_unknown")
    if reason is None and s.first_tokens is not None:
        return exactly(Fraction(span_ns, s.tokens - s.first_tokens))
    possible = [Fraction(span_ns, s.tokens - c) for c in range(1, s.tokens - m + 2)]
    return Bounds(min(possible), max(possible), reason or "split_unknown")


def worst_gap(s: Observed) -> Bounds:
    reason = gaps_reason(s) or first_of(("open_wait", s.ended), ("smeared", s.noted("smeared")))
    highs = {
        None: max(s.gaps, default=None), "smeared": s.span_ns, "aggregate": s.span_ns,
        "not_streamed": ttft(s).high,
    }  # fmt: skip
    return Bounds(_longest_at_least(s, reason), None if s.ended else highs.get(reason), reason)


def _longest_at_least(s: Observed, reason: str | None) -> int | None:
    """The longest wait known to be real, or the mean of gaps that are not known one by one."""
    waits = [*s.gaps, *([] if s.open_wait_ns is None else [s.open_wait_ns])]
    if reason in ("not_streamed", "single_delivery"):
        return 0
    if reason == "aggregate" and s.span_ns is not None:
        mean = 0 if s.tokens is None else _rounded_up(Fraction(s.span_ns, s.tokens - 1))
        return max([mean, *waits])
    if reason == "events_lost" and waits and s.tokens is not None and s.times is not None:
        # The lost ones may all have come within the longest wait.
        return _rounded_up(Fraction(max(waits), s.tokens - len(s.times) + 1))
    known = reason in (None, "open_wait", "ended_early", "smeared")
    return max(waits, default=None) if known else None


def _rounded_up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def worst_gap_index(s: Observed) -> int | None:
    """The delivery before the longest gap, the first of equal ones."""
    if not s.gaps or min(s.gaps) < 0 or s.noted("smeared"):
        return None
    return s.gaps.index(max(s.gaps)) + 1


def worst_gap_after_token(s: Observed) -> int | None:
    index = worst_gap_index(s)
    return None if index is None or s.split is None or s.lost else sum(s.split[:index])


def percentile(values: Sequence[Number], percent: int) -> Fraction:
    """Linear interpolation at position q * (n - 1)."""
    ranked = sorted(values)
    position = Fraction(percent * (len(ranked) - 1), 100)
    below = position.numerator // position.denominator
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (position - below) * (Fraction(ranked[above]) - ranked[below])


def own_percentile(s: Observed, percent: int) -> Bounds:
    reason = gaps_reason(s) or first_of(
        *((note, s.noted(note)) for note in ("smeared", "coalesced_reads"))
    )
    return Bounds(reason=reason) if reason else exactly(percentile(s.gaps, percent))


def second_token_ns(s: Observed) -> int | None:
    if s.backwards or s.lost or s.noted("not_streamed") or s.noted("smeared"):
        return None
    if not s.times or not s.first_tokens:
        return None
    if s.first_tokens > 1:
        return 0
    return s.gaps[0] if s.gaps else None


def e2e(s: Observed) -> Bounds:
    close_ns = s["stream_close_ns"]
    whole_ns = difference(s.last_ns, s.origin_ns)
    reason = first_of(
        ("no_token", s.tokens == 0 and not s.ended),
        ("ended_early", s.ended),
        ("origin_missing", s.origin_ns is None),
        ("non_monotonic", (s.span_ns or 0) < 0 or (whole_ns or 0) < 0),
        ("events_lost", s.lost),
        ("end_missing", s.last_ns is None),
    )
    if reason == "ended_early":
        ends = [t_ns for t_ns in (s.last_ns, close_ns) if t_ns is not None]
        return Bounds(difference(max(ends, default=None), s.origin_ns), None, reason)
    if reason in ("events_lost", "end_missing"):
        seen_ns = s.first_ns if s.last_ns is None else s.last_ns
        closed = seen_ns is not None and close_ns is not None and close_ns >= seen_ns
        high = difference(close_ns, s.origin_ns) if closed else None
        return Bounds(difference(seen_ns, s.origin_ns), high, reason)
    return Bounds(reason=reason) if reason else Bounds(whole_ns, whole_ns)


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
    gap_ns = s.gaps[index - 1] if index and index <= len(s.gaps) else None
    inside = index is None and s["token_counts"] is not None
    reason = first_of(
        ("no_handoff", source == "none"),
        ("handoff_undeclared", k is None),
        ("inside_ttft", k == 0),
        ("no_handoff", not s.ended and s.tokens is not None and s.tokens <= (k or 0)),
        ("events_lost", s.lost),
        ("ended_early", s.ended and _before_handoff(s, k or 0, index)),
        ("not_streamed", s.noted("not_streamed")),
        ("aggregate", m is None),
        ("not_observable", m == 1 or inside),
        ("split_unknown", index is None),
        ("smeared", s.noted("smeared")),
        ("non_monotonic", gap_ns is not None and gap_ns < 0),
        ("not_observable", gap_ns is not None and gap_ns < BURST_NS),
    )
    if reason == "ended_early":
        return Bounds(s.open_wait_ns if index is not None and index == m else None, None, reason)
    if reason == "smeared":  # what was spread over tokens was longer
        return Bounds(gap_ns, None, reason)
    return Bounds(reason=reason) if reason else Bounds(gap_ns, gap_ns)


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
