"""What limits the trust in the data."""

from typing import Final

from tokengap.findings import findings
from tokengap.report.section import Section, Subject
from tokengap.units import format_count

_OWN_PLACE: Final = ("hidden_stalls", "got_worse", "handoff_place")
"""Rules with a section of their own."""


def data_quality(subject: Subject) -> Section:
    """What limits the trust in the data."""
    found = [f for f in findings(subject.audit) if f.rule not in _OWN_PLACE]
    return Section(
        "data_quality",
        "Data quality",
        f"n {format_count(subject.audit.counts['streams'])} streams, all that were read",
        subject.scope,
        data=subject.audit.quality,
        findings=found,
        notes=[] if found else ["Nothing in the logs limits the trust in these numbers."],
    )
