"""What a run does worse than the runs of a baseline."""

from collections.abc import Iterator
from typing import Final

from tokengap.findings.audit import Audit
from tokengap.findings.interface import Finding
from tokengap.units import counted
from tokengap.weekly.gate import worsened

ENOUGH_RUNS: Final = 3
"""Fewer tell little of the noise between them."""


def got_worse(audit: Audit) -> Iterator[Finding]:
    """Each statistic that did, or that cannot be compared; that none did, if so."""
    against = audit.against
    if against is None:
        return
    runs = f"{counted(against.runs, 'run')} of {against.file}"
    for statistic, change in against.changes.items():
        holds, says = worsened(change)
        boundary = f", {audit.judged_handoff}" if statistic == "handoff_gap" else ""
        name = statistic.replace("_", " ") + boundary
        if holds is None:
            says = f"Not comparable with the {runs}, {name}: {says}."
            yield Finding("got_worse", "unknown", says)
        elif holds:
            yield Finding("got_worse", "stall", f"Worse than the {runs}, {name}: {says}.")
    if not against.got_worse and against.compares:
        few = "add runs of the same with --save-baseline: they teach it the noise between runs"
        says = f"Nothing is worse than in the {runs}."
        yield Finding("got_worse", "note", says, few if against.runs < ENOUGH_RUNS else None)
