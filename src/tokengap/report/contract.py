"""An audit as JSON for machines: `tokengap.audit/1`.

Times are ns. Counts are integers; a percentile whose values are intervals is `[low, high]`, high
null if unbounded. Fields are only added within a version.
"""

import json
from dataclasses import asdict
from typing import Any, Final

from tokengap import __version__
from tokengap.findings import Audit
from tokengap.findings.audit import Row
from tokengap.weekly.against import Against
from tokengap.weekly.model import Change

SCHEMA: Final = "tokengap.audit/1"
_STATISTICS: Final = ("ttft", "ttft_from_planned", "tpot", "worst_gap", "handoff_gap", "e2e")


def contract_text(audit: Audit) -> str:
    """The contract as strict JSON, as a file or standard output takes it."""
    return json.dumps(contract(audit), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def contract(audit: Audit) -> dict[str, Any]:
    """The audit under the contract, ready for a strict JSON encoder."""
    whole = audit.attainment
    return {
        "schema": SCHEMA,
        "tokengap": __version__,
        "traces": audit.traces,
        "boundary": _boundary(audit),
        "window": {key: audit.window[key] for key in ("start_ns", "end_ns", "rule")},
        "counts": audit.counts,
        "percentiles": _percentiles(audit),
        "objectives": [_objective(row) for row in audit.per_objective],
        "good": whole["good"] if audit.objectives else None,
        "attainment": whole["attainment"] if audit.objectives else None,
        "low": whole["low"] if audit.objectives else None,
        "high": whole["high"] if audit.objectives else None,
        "goodput_per_s": audit.goodput_per_s,
        "hidden_stalls": {
            "count": len(audit.hidden),
            "possible": len(audit.possible),
            "requests": [_stall(row) for row in audit.hidden],
        },
        "quality": [{k: row[k] for k in ("note", "streams", "of")} for row in audit.quality],
        "handoffs": [_handoff(row) for row in audit.boundaries],
        "handoff_stages": audit.stages,
        "vantages": audit.views,
        "causes": [_cause(row) for row in audit.causes],
        "binding": audit.binding,
        "baseline": None if audit.against is None else _baseline(audit.against),
    }


def _boundary(audit: Audit) -> Row:
    judged = audit.judged
    origins = sorted({origin for row in judged for origin in row["origins"]})
    return {
        "vantage": judged[0]["vantage"] if judged else None,
        "origin": origins[0] if len(origins) == 1 else None,
        "handoff": audit.judged_handoff,
    }


def _baseline(against: Against) -> Row:
    changes = against.changes.items()
    objectives = [{"name": name, "change": _change(change)} for name, change in changes]
    return {"file": against.file, "runs": against.runs, "objectives": objectives}


def _change(change: Change) -> Row:
    """As in `tokengap.weekly/1`."""
    found = asdict(change)
    return found | {"value_ratio": found.pop("value")}


def _handoff(row: Row) -> Row:
    names = ("boundary", "requests", "n", "bounded", "no_handoff", "negative", "reason")
    return {k: row[k] for k in names} | {
        p: _number(row[f"{p}_ns"]) for p in ("p50", "p90", "p99", "max")
    }


def _percentiles(audit: Audit) -> Row:
    found = {f"{row['statistic']}_ns": _percentile(row) for row in audit.percentiles}
    gaps = audit.gaps
    found["gap_ns"] = {
        "n": gaps["n"],
        "left_out": gaps["left_out"],
        **{p: _number(gaps[f"{p}_ns"]) for p in ("p50", "p90", "p99", "max")},
        "basis": gaps["basis"],
    }
    order = [f"{statistic}_ns" for statistic in _STATISTICS]
    order.insert(order.index("worst_gap_ns") + 1, "gap_ns")
    return {name: found.get(name, _percentile(_NOTHING)) for name in order if _shown(name, found)}


_NOTHING: Final[Row] = {"n": 0, "left_out": 0, "basis": "per_request"} | {
    f"{p}_{side}_ns": None for p in ("p50", "p90", "p99", "max") for side in ("low", "high")
}


def _shown(name: str, found: Row) -> bool:
    return name in found or name != "ttft_from_planned_ns"


def _percentile(row: Row) -> Row:
    values = {
        p: _interval(row[f"{p}_low_ns"], row[f"{p}_high_ns"]) for p in ("p50", "p90", "p99", "max")
    }
    return {"n": row["n"], "left_out": row["left_out"], **values, "basis": row["basis"]}


def _interval(low: float | None, high: float | None) -> Any:
    """One number where the bounds agree, null where nothing is known, else both bounds."""
    if low == high:
        return _number(low)
    return [_number(low), _number(high)]


def _number(value: float | None) -> int | float | None:
    """Whole numbers as integers."""
    if value is None or not float(value).is_integer():
        return value
    return int(value)


def _objective(row: Row) -> Row:
    return {
        "name": row["statistic"],
        "statistic": row["statistic"],
        **{
            key: row[key]
            for key in (
                "limit_ns",
                "met",
                "missed",
                "not_applicable",
                "unknown",
                "attainment",
                "low",
                "high",
            )
        },
    }


def _stall(row: Row) -> Row:
    return {
        **{key: row[key] for key in ("trace", "request_id", "attempt", "choice", "ttft_ns")},
        "tpot_ns": _interval(row["tpot_low_ns"], row["tpot_high_ns"]),
        "worst_gap_ns": _interval(row["worst_gap_low_ns"], row["worst_gap_high_ns"]),
        "worst_gap_index": row["worst_gap_index"],
        "worst_gap_after_token": row["worst_gap_after_token"],
        "cause": row["cause"],
        "basis": row["basis"],
        "by": _by(row),
    }


def _cause(row: Row) -> Row:
    names = ("cause", "basis", "gaps", "requests", "max_ns", "excess_ns", "excess_share")
    return {name: row[name] for name in names} | {"p50_ns": _number(row["p50_ns"])}


def _by(row: Row) -> Row | None:
    """The request that was in the way."""
    if row["by_request_id"] is None:
        return None
    return {
        "trace": row["by_trace"],
        "request_id": row["by_request_id"],
        "prompt_tokens": row["by_prompt_tokens"],
        "overlap_ns": row["overlap_ns"],
    }
