"""A week for programs: the JSON object `tokengap.weekly/1`.

Fields are only added to it. Times are UTC, durations ns, differences of shares are shares. It says
nothing of when it was made: one version of the store gives the same bytes.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from tokengap import __version__
from tokengap.findings.audit import Row
from tokengap.report.numbers import number, rounded
from tokengap.slo.model import Goal
from tokengap.weekly.model import (
    Budget,
    Burn,
    Change,
    Contributor,
    Coverage,
    Headroom,
    HiddenStalls,
    Kept,
    Promise,
    ServiceWeek,
    Trend,
    Weekly,
    WorstRequest,
)

SCHEMA: Final = "tokengap.weekly/1"


def contract_text(weekly: Weekly) -> str:
    """The object as strict JSON."""
    return json.dumps(contract(weekly), indent=1, allow_nan=False) + "\n"


def contract(weekly: Weekly) -> dict[str, Any]:
    """The object, ready for a strict JSON encoder."""
    made: dict[str, Any] = rounded(
        {
            "schema": SCHEMA,
            "tokengap": __version__,
            "week": str(weekly.week),
            "first_day": weekly.week.first.isoformat(),
            "last_day": weekly.week.last.isoformat(),
            "ended": weekly.ended,
            "store_version": weekly.store_version,
            "unmatched": weekly.unmatched,
            "undated": weekly.undated,
            "rejects": weekly.rejects,
            "comparisons": weekly.comparisons,
            "confidence": float(weekly.confidence),
            "services": [_service(each) for each in weekly.services],
        }
    )
    return made


def _service(of: ServiceWeek) -> Row:
    return {
        "name": of.service.name,
        "description": of.service.description,
        "vantage": of.vantage,
        "origins": list(of.origins),
        "handoff_boundary": of.service.handoff,
        "offered": of.offered,
        "not_offered": of.not_offered,
        "whole": _counts(of.whole),
        "coverage_share": of.coverage.share,
        "coverage": _coverage(of.coverage),
        "objectives": [_objective(promise) for promise in of.promises],
        "hidden_stalls": _stalls(of.stalls),
        "contributors": [_contributor(each) for each in of.contributors],
        "worst_requests": [_worst(each) for each in of.worst],
        "trend": [_trend(each) for each in of.trend],
        "headroom": _headroom(of.headroom),
        "excluded": [
            {**asdict(each), "start": _instant(each.start), "end": _instant(each.end)}
            for each in of.excluded
        ],
        "late": [
            {**asdict(each), "day": each.day.isoformat(), "loaded": _instant(each.loaded)}
            for each in of.late
        ],
        "daily": [{"day": day.isoformat(), "objectives": _by_name(kept)} for day, kept in of.daily],
        "notes": list(of.notes),
    }


def _by_name(kept: Mapping[str, Kept]) -> list[Row]:
    return [{"name": name, **_counts(each)} for name, each in kept.items()]


def _objective(promise: Promise) -> Row:
    changed = promise.changed_on
    return {
        "name": promise.name,
        **_goal(promise.goal),
        "changed_on": changed and changed.isoformat(),
        **_counts(promise.kept),
        "kept": promise.is_kept,
        **_budget(promise.budget),
        "burn": [_burn(each) for each in promise.burn],
        "change": _change(promise.change),
        "history": [{"week": str(week), **_counts(kept)} for week, kept in promise.history],
    }


def _goal(goal: Goal) -> Row:
    return {
        "statistic": goal.statistic,
        "only": dict(goal.only),
        "limit_ns": goal.limit_ns,
        "target": float(goal.target),
        "in_force_since": goal.start.isoformat(),
    }


def _counts(kept: Kept) -> Row:
    """offered: requests that it applies to; good: those that met it."""
    return {
        "offered": kept.applies,
        "good": kept.met,
        "missed": kept.missed,
        "unknown": kept.unknown,
        "attainment": kept.attainment,
        "low": kept.low,
        "high": kept.high,
        "block_low": kept.block_low,
        "block_high": kept.block_high,
    }


def _budget(budget: Budget) -> Row:
    return {
        "budget_spent_share": budget.spent_share,
        "budget_left_share": budget.left_share,
        "budget": {
            "first_day": budget.first.isoformat(),
            "day_after": budget.after.isoformat(),
            "allowed": number(budget.allowed),
            "spent": budget.spent,
            "spent_this_week": budget.spent_this_week,
            "days_seen": budget.days_seen,
            "days": budget.days,
            "exhausted_in_days": budget.exhausted_in_days,
        },
    }


def _burn(burn: Burn) -> Row:
    return {**asdict(burn), "worst_until": _instant(burn.worst_until)}


def _change(change: Change) -> Row:
    value = change.value
    return {
        "verdict": change.verdict,
        "says": change.says,
        "raw": change.raw,
        "matched": change.matched,
        "low": change.low,
        "high": change.high,
        "requests_before": change.requests_before,
        "requests": change.requests,
        "matched_share": change.matched_share,
        "value_ratio": asdict(value) if value else None,
    }


def _coverage(coverage: Coverage) -> Row:
    return {
        "hours_due": coverage.hours_due,
        "hours_seen": coverage.hours_seen,
        "holes": [{"start": _instant(a), "end": _instant(b)} for a, b in coverage.holes],
    }


def _stalls(stalls: HiddenStalls | None) -> Row | None:
    return asdict(stalls) if stalls else None


def _contributor(each: Contributor) -> Row:
    return {**asdict(each), "attainment": each.attainment if each.offered else None}


def _worst(each: WorstRequest) -> Row:
    began = {"began": _instant(each.began), "missed": list(each.missed)}
    return {**asdict(each), **began, "limit_ratio": each.ratio}


def _trend(each: Trend) -> Row:
    found = asdict(each) | {"week": str(each.week)}
    return {**found, "goodput_per_s": each.goodput_per_s, "cost_per_good": each.cost_per_good}


def _headroom(headroom: Headroom | None) -> Row | None:
    return asdict(headroom) if headroom else None


def _instant(at: datetime | None) -> str | None:
    return None if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"
