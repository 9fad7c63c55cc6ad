"""Why gaps were over their limit."""

from collections.abc import Iterator
from typing import Final

from tokengap.findings.audit import Audit
from tokengap.findings.interface import Finding
from tokengap.units import format_count, format_share

CAUSES: Final = {
    "handoff": "the handoff from prefill to decode",
    "preemption": "preemption",
    "prefill_interference": "prefill of other requests on the same worker",
    "delivery_pause": "a pause in delivery: a burst follows, so the tokens were made on time",
    "shared_pause": "a pause that most streams of the worker shared, with no prefill to explain it",
    "unexplained": "nothing that the logs tell",
}
"""What made a gap long, in words."""

_ADVICE: Final = {
    "prefill_interference": "separate prefill, or cut it into smaller chunks",
    "delivery_pause": "look at what stands between engine and user: API server, proxy, client",
    "preemption": "more KV memory, or fewer streams at once",
}


def causes(audit: Audit) -> Iterator[Finding]:
    """Say what the excess of all gaps over their limit comes from, largest share first."""
    total = sum(row["gaps"] for row in audit.causes)
    for row in audit.causes:
        basis = f", {row['basis']}" if row["basis"] else ""
        yield Finding(
            "causes",
            "note",
            f"{format_count(row['gaps'])} of {format_count(total)} gaps over their limit "
            f"({format_share(row['excess_share'] or 0)} of the time lost) come from "
            f"{CAUSES[row['cause']]}{basis}.",
            _ADVICE.get(row["cause"]),
        )
