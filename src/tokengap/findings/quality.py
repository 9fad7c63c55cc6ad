"""What limits the trust in the data, in plain words; `inexact` says which values it costs."""

from collections.abc import Iterator
from typing import Final

from tokengap.findings.audit import Audit, Row
from tokengap.findings.interface import Finding
from tokengap.schema import NOTES
from tokengap.units import format_count

REJECTED: Final = "rejected_records"
_SAID_BY_INEXACT: Final = ("coalesced_reads", "not_streamed", "smeared")


def quality(audit: Audit) -> Iterator[Finding]:
    """One finding per note that streams carry, most streams first, and one for rejects."""
    for row in audit.quality:
        if row["note"] == REJECTED:
            yield _rejects(row)
        elif row["note"] not in _SAID_BY_INEXACT:
            meaning = NOTES.get(row["note"], row["note"].replace("_", " "))
            streams = f"{format_count(row['streams'])} of {format_count(row['of'])} streams"
            yield Finding("quality", "note", f"{row['note']}: {streams}; {meaning}.")
    for row in audit.vantages:
        if not row["judged"]:
            yield _other_view(row)


def _rejects(row: Row) -> Finding:
    return Finding(
        "quality",
        "note",
        f"{format_count(row['streams'])} records were quarantined; the first: {row['example']}.",
        "see them with `tokengap query rejects PATH`",
    )


def _other_view(row: Row) -> Finding:
    return Finding(
        "quality",
        "note",
        f"{format_count(row['streams'])} streams were seen at the {row['vantage']} and are not "
        "judged: numbers of two vantages are never pooled.",
        f"judge them with --vantage {row['vantage']}",
    )
