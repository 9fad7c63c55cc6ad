"""What the relations about requests hold, from the oracle's verdicts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tests.queries import oracle
from tests.queries.given import Row
from tests.queries.observed import Observed
from tests.queries.oracle_requests import Judged, Limits, Request, share, wilson
from tests.queries.oracle_statistics import is_worst_gap
from tokengap.store.connect import Declared

REASONED: Final = {
    "ttft": "ttft", "tpot": "tpot", "worst_gap": "worst_gap", "own_gaps": "gap_p50", "e2e": "e2e",
}  # fmt: skip
STATUSES: Final = (
    "completed", "failed", "timed_out", "rejected", "truncated", "cancelled", "in_flight",
)  # fmt: skip


def slo_attainment(requests: Sequence[Request]) -> list[Row]:
    deployments = sorted({_deployment(r) for r in requests}, key=lambda name: (name or "", name))
    groups = [("all", None, requests)] + [
        ("deployment", name, [r for r in requests if _deployment(r) == name])
        for name in deployments
    ]
    return [_attainment(*group) for group in groups]


def _deployment(request: Request) -> str | None:
    deployment: str | None = request.choices[0].s["deployment"]
    return deployment


def _attainment(scope: str, deployment: str | None, requests: Sequence[Request]) -> Row:
    offered = sum(r.offered for r in requests)
    good = sum(r.good for r in requests)
    low, high = wilson(good, offered)
    return {
        "scope": scope, "deployment": deployment, "offered": offered, "good": good,
        "attainment": share(good, offered), "low": low, "high": high,
    }  # fmt: skip


def objective_attainment(requests: Iterable[Request], limits: Limits) -> list[Row]:
    offered = [r for r in requests if r.offered]
    return [_objective(offered, name, limit_ns) for name, limit_ns in limits.items()]


def _objective(offered: Sequence[Request], statistic: str, limit_ns: int) -> Row:
    counts = Counter(r.verdicts[statistic] for r in offered)
    applies = counts["met"] + counts["missed"] + counts["unknown"]
    low, high = wilson(counts["met"], applies)
    alone = [
        r
        for r in offered
        if r.with_verdict("missed") == [statistic] and not r.with_verdict("unknown")
    ]
    return {
        "statistic": statistic, "limit_ns": limit_ns,
        **{name: counts[name] for name in ("met", "missed", "not_applicable", "unknown")},
        "attainment": share(counts["met"], applies), "low": low, "high": high,
        "binding_requests": len(alone),
    }  # fmt: skip


def request_verdicts(requests: Iterable[Request]) -> list[Row]:
    return [_verdicts(r) for r in requests]


def _verdicts(r: Request) -> Row:
    trace, request_id, attempt, vantage = r.choices[0].key
    counts = [j.s["output_tokens"] for j in r.choices]
    return {
        "trace": trace, "request_id": request_id, "attempt": attempt, "vantage": vantage,
        "deployment": _deployment(r), "status": r.status,
        "output_tokens": None if None in counts else sum(counts),
        "offered": r.offered, "good": r.good,
        **{verdict: r.with_verdict(verdict) for verdict in ("met", "missed", "unknown")},
        "stall": r.stall,
    }  # fmt: skip


def hidden_stalls(requests: Iterable[Request]) -> list[Row]:
    return [_stall(r) for r in requests if r.stall]


def _stall(r: Request) -> Row:
    def slowest_first(j: Judged) -> tuple[bool, float, int]:
        low = oracle.worst_gap(j.s).low
        return low is None, -float(low or 0), j.s["choice"]

    shown = min(r.choices, key=slowest_first)
    s, (trace, request_id, attempt, vantage) = shown.s, shown.key
    tpot, worst = oracle.tpot(s), oracle.worst_gap(s)
    return {
        "trace": trace, "request_id": request_id, "attempt": attempt, "choice": s["choice"],
        "vantage": vantage, "stall": r.stall, "ttft_ns": shown.ttft.exact,
        "tpot_low_ns": tpot.low, "tpot_high_ns": tpot.high,
        "worst_gap_low_ns": worst.low, "worst_gap_high_ns": worst.high,
        "worst_gap_index": oracle.worst_gap_index(s),
        "worst_gap_after_token": oracle.worst_gap_after_token(s),
        "deliveries": None if s.times is None else len(s.times),
        "is_handoff": is_worst_gap(s),
    }  # fmt: skip


def request_counts(rows: Sequence[Row], requests: Sequence[Request], declared: Declared) -> Row:
    statuses = Counter(r.status for r in requests)
    judged = {
        (trace, name, vantage): attempt for trace, name, attempt, vantage in map(_key, requests)
    }
    earlier = {
        (s["trace"], s["request_id"], s["attempt"])
        for s in (Observed(row, declared) for row in rows)
        if s["attempt"] < judged.get((s["trace"], s["request_id"], s.vantage), 0)
    }
    return {
        "streams": len(rows), "offered": sum(r.offered for r in requests),
        **{status: statuses[status] for status in STATUSES},
        "retried": len(earlier), "superseded": 0,
    }  # fmt: skip


def _key(request: Request) -> tuple[str, str, int, str]:
    return request.choices[0].key


def judged_window(streams: Sequence[Judged], declared: Declared) -> Row:
    clocks = {j.s["clock"] for j in streams} - {None}
    origins = [j.s.origin_ns for j in streams if j.s.origin_ns is not None]
    ends = [j.end_ns for j in streams if j.end_ns is not None]
    window = declared.window
    one = len(clocks) == 1
    return {
        "start_ns": window.start_ns if window else min(origins, default=None) if one else None,
        "end_ns": window.end_ns if window else max(ends, default=None) if one else None,
        "rule": window.rule if window else "by_start",
        "clocks": len(clocks),
    }


def judged_vantages(rows: Iterable[Row], last: Iterable[Judged], declared: Declared) -> list[Row]:
    seen = [Observed(row, declared) for row in rows]
    judged = {j.s.vantage for j in last}
    return [
        {
            "vantage": vantage,
            "streams": sum(s.vantage == vantage for s in seen),
            "origins": sorted({s.origin for s in seen if s.vantage == vantage}),
            "judged": vantage in judged,
        }
        for vantage in ("client", "gateway", "engine")
        if any(s.vantage == vantage for s in seen)
    ]


def worst_gap_ratios(streams: Iterable[Judged]) -> list[Row]:
    return [
        _ratio(j.s) for j in streams if not j.s.ended and oracle.worst_gap(j.s).exact is not None
    ]


def _ratio(s: Observed) -> Row:
    tpot, worst = oracle.tpot(s), oracle.worst_gap(s).exact
    assert worst is not None
    return {
        "trace": s["trace"], "request_id": s["request_id"], "attempt": s["attempt"],
        "choice": s["choice"], "vantage": s.vantage,
        "tpot_low_ns": tpot.low, "tpot_high_ns": tpot.high, "worst_gap_ns": worst,
        "worst_gap_index": oracle.worst_gap_index(s),
        "worst_gap_after_token": oracle.worst_gap_after_token(s),
        "deliveries": len(s.gaps) + 1,
        "ratio": worst / tpot.high if tpot.high else None,
    }  # fmt: skip


def handoff_gaps(rows: Iterable[Row], declared: Declared) -> list[Row]:
    return [_handoff(Observed(row, declared)) for row in rows]


def _handoff(s: Observed) -> Row:
    gap, (k, source) = oracle.handoff_gap(s), s.handoff
    return {
        **{name: s[name] for name in ("trace", "request_id", "attempt", "choice")},
        "vantage": s.vantage, "status": s["status"], "boundary": "stream",
        "last_prefill_token": k, "handoff_source": source,
        "handoff_gap_ns": gap.exact, "handoff_gap_low_ns": gap.low, "reason": gap.reason,
        "is_worst_gap": False if gap.exact is None else is_worst_gap(s),
    }  # fmt: skip


def inexact_values(streams: Iterable[Judged]) -> list[Row]:
    completed = [j for j in streams if not j.s.ended]
    found = []
    for shown, statistic in REASONED.items():
        reasons = Counter(j.value(statistic).reason for j in completed)
        del reasons[None]
        ordered = sorted(reasons.items(), key=lambda each: (-each[1], each[0] or ""))
        found += [
            {"statistic": shown, "reason": reason, "requests": count, "of": len(completed)}
            for reason, count in ordered
        ]
    return found


def quality(rows: Sequence[Row], rejects: Sequence[Row]) -> list[Row]:
    noted = sorted({note for row in rows for note in row["quality"]})
    ids = {note: [row["request_id"] for row in rows if note in row["quality"]] for note in noted}
    found = [(note, len(ids[note]), min(ids[note])) for note in noted]
    if rejects:
        first = min(rejects, key=lambda reject: reject["line"])
        found.append(("rejected_records", len(rejects), first["reason"]))
    return [
        {"note": note, "streams": streams, "of": len(rows), "example": example}
        for note, streams, example in sorted(found, key=lambda each: (-each[1], each[0]))
    ]
