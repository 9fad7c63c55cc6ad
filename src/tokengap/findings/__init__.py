"""What the numbers mean: an audit of the judged requests, and the rules that put it into words."""

from typing import Final

from tokengap.findings.audit import Audit, audit
from tokengap.findings.got_worse import got_worse
from tokengap.findings.handoff_place import handoff_place
from tokengap.findings.hidden_stalls import hidden_stalls
from tokengap.findings.inexact import inexact
from tokengap.findings.interface import Finding, Rule
from tokengap.findings.quality import quality

RULES: Final[tuple[Rule, ...]] = (hidden_stalls, got_worse, handoff_place, inexact, quality)

__all__ = ["RULES", "Audit", "Finding", "Rule", "audit", "findings"]


def findings(found: Audit) -> list[Finding]:
    """What all rules have to say, most important first."""
    return [finding for rule in RULES for finding in rule(found)]
