"""Rows of `request_latency` as the oracle has them."""

from collections.abc import Iterable
from fractions import Fraction

from tests.queries import oracle
from tests.queries.given import Row
from tests.queries.observed import Bounds, Observed, difference

KEYS = ("trace", "request_id", "attempt", "choice")


def latency_row(s: Observed) -> Row:
    """Every column but the numerators and denominators of the bounds of TPOT."""
    times, gaps = s.times, s.gaps
    ttft, tpot, worst, e2e = oracle.ttft(s), oracle.tpot(s), oracle.worst_gap(s), oracle.e2e(s)
    own = {percent: oracle.own_percentile(s, percent) for percent in (50, 90, 99)}
    handoff, (k, source) = oracle.handoff_gap(s), s.handoff
    n, m = s["output_tokens"], None if times is None else len(times)
    return {
        **{key: s[key] for key in KEYS},
        "vantage": s.vantage,
        **{name: s[name] for name in ("clock", "deployment", "status")},
        "origin": s.origin,
        "origin_ns": s.origin_ns,
        "dispatch_wait_ns": difference(s["sent_ns"], s["planned_ns"]),
        "last_ns": s.last_ns,
        "end_ns": s.last_ns if s["stream_close_ns"] is None else s["stream_close_ns"],
        "prompt_tokens": s["prompt_tokens"],
        "output_tokens": n,
        "deliveries": m,
        "tokens_per_delivery": Fraction(n, m) if n is not None and m else None,
        **_interval("ttft", ttft),
        "decode_span_ns": s.span_ns,
        **_interval("tpot", tpot),
        "tpot_n1_ns": _n1(s),
        **_interval("worst_gap", worst),
        "worst_gap_index": oracle.worst_gap_index(s),
        "worst_gap_after_token": oracle.worst_gap_after_token(s),
        "first_gap_ns": gaps[0] if gaps and not s.noted("smeared") else None,
        **{f"gap_p{percent}_ns": own[percent].exact for percent in own},
        "gap_percentiles_reason": own[50].reason,
        "second_token_ns": oracle.second_token_ns(s),
        **_interval("e2e", e2e),
        "e2e_per_token_ns": None if e2e.exact is None or not n else Fraction(e2e.exact) / n,
        "first_answer_ns": difference(s["first_answer_ns"], s.origin_ns),
        "steady_tpot_ns": oracle.steady_tpot(s),
        "last_prefill_token": k,
        "handoff_source": source,
        "handoff_index": oracle.handoff_index(s),
        **_interval("handoff_gap", handoff),
        "non_monotonic": any(gap < 0 for gap in gaps),
        "coalesced": s.noted("coalesced_reads"),
    }


def by_key(rows: Iterable[Row]) -> list[Row]:
    """Rows in the order of their key."""
    return sorted(rows, key=lambda row: tuple(row[key] for key in (*KEYS, "vantage")))


def _interval(name: str, bounds: Bounds) -> Row:
    return {
        f"{name}_ns": bounds.exact,
        f"{name}_low_ns": bounds.low,
        f"{name}_high_ns": bounds.high,
        f"{name}_reason": bounds.reason,
    }


def _n1(s: Observed) -> Fraction | None:
    n, span = s["output_tokens"], s.span_ns
    if s.backwards or s.lost or s.noted("not_streamed") or span is None or not n or n < 2:
        return None
    return Fraction(span, n - 1)
