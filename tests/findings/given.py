"""Audits with given numbers."""

from typing import Any

from tokengap.findings import Audit, Finding, Rule
from tokengap.slo import Objective

MS = 1_000_000
LIMITS = (Objective("tpot", 50 * MS, "--limit"), Objective("worst_gap", 500 * MS, "--limit"))


def audit(**given: Any) -> Audit:
    """An audit of 60 completed requests with nothing to say, except for what is given."""
    nothing: dict[str, Any] = {
        "traces": ["run"],
        "objectives": LIMITS,
        "vantages": [{"vantage": "client", "streams": 60, "origins": ["sent"], "judged": True}],
        "window": {"start_ns": 0, "end_ns": 10**9, "rule": "by_start", "clocks": 1},
        "counts": {"completed": 60, "streams": 60},
        "percentiles": [],
        "gaps": {},
        "attainment": {"good": 0, "offered": 60},
        "per_objective": [],
        "binding": None,
        "stalls": [],
        "causes": [],
        "quadrants": [],
        "ratios": [],
        "inexact": [],
        "handoff": [],
        "boundaries": [],
        "stages": [],
        "views": [],
        "judged_handoff": "stream",
        "quality": [],
    }
    return Audit(**(nothing | given))


def said(rule: Rule, **given: Any) -> list[Finding]:
    """What the rule says of it."""
    return list(rule(audit(**given)))
