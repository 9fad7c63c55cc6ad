"""The finding the project exists for: requests that pass their average and fail their worst gap."""

from collections.abc import Iterator

from tokengap.findings.audit import Audit
from tokengap.findings.interface import Finding
from tokengap.units import format_count, format_duration


def hidden_stalls(audit: Audit) -> Iterator[Finding]:
    """Say how many requests look fine on average and were not, and how many more may be."""
    if not audit.judges_stalls:
        return
    limits = {o.statistic: format_duration(o.limit_ns) for o in audit.objectives}
    promise = f"average TPOT ≤ {limits['tpot']} met, worst gap ≤ {limits['worst_gap']} missed"
    completed = audit.counts["completed"]
    hidden, possible = len(audit.hidden), len(audit.possible)
    if hidden:
        yield Finding(
            "hidden_stalls",
            "stall",
            f"{format_count(hidden)} of {format_count(completed)} completed requests stalled "
            f"although their average is fine ({promise}).",
        )
    elif completed and audit.untold == completed:
        yield Finding(
            "hidden_stalls",
            "unknown",
            f"Whether a request hides a stall cannot be told: of {format_count(completed)} "
            f"completed requests the log decides neither verdict ({promise}).",
        )
        return
    else:
        hides = "is seen to hide" if audit.untold else "hides"
        yield Finding("hidden_stalls", "note", f"No request {hides} a stall ({promise}).")
    if audit.untold:
        yield Finding(
            "hidden_stalls",
            "unknown",
            f"Of {format_count(audit.untold)} the log decides neither verdict.",
        )
    if possible:
        yield Finding(
            "hidden_stalls",
            "unknown",
            f"{format_count(possible)} more may: the log does not decide one of the two verdicts.",
        )
