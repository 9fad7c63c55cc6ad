"""What limits the trust in the data, in plain words."""

from collections.abc import Iterator
from typing import Final

from tokengap.findings.audit import Audit
from tokengap.findings.interface import Finding
from tokengap.units import format_count

MEANINGS: Final = {
    "coalesced_reads": "over 5 % of the gaps are bursts under 0.2 ms: worst gap and TPOT stand, "
    "percentiles of own gaps do not",
    "count_mismatch": "events and token count differ: the average may be an interval",
    "duplicate_dropped": "repeated records were counted once",
    "end_not_seen": "the log keeps no end marks: a cut stream looks complete",
    "events_lost": "deliveries are missing: the worst gap is only bounded below",
    "fact_conflict": "the log states a fact twice with different values; the first counts",
    "in_band_error": "the stream carried an error object: it counts as failed",
    "non_monotonic": "a gap is negative, the clock stepped: gap metrics are unknown",
    "not_streamed": "the answer came as one body: TTFT and gaps are unknown",
    "order_assumed": "no index in the log: file order was taken",
    "sentinel_dropped": "zeros that stand for no measurement were dropped",
    "smeared": "the tool spread gaps over tokens: the worst gap is only bounded below",
    "tokens_are_events": "only events could be counted: TPOT is per event",
}


def quality(audit: Audit) -> Iterator[Finding]:
    """One finding per note that streams carry, most streams first, and one for rejects."""
    for row in audit.quality:
        if row["note"] == "rejected_records":
            yield Finding(
                "quality",
                "note",
                f"{format_count(row['streams'])} records were quarantined; "
                f"the first: {row['example']}.",
                "see them with `tokengap query rejects PATH`",
            )
            continue
        meaning = MEANINGS.get(row["note"], row["note"].replace("_", " "))
        yield Finding(
            "quality",
            "note",
            f"{row['note']}: {format_count(row['streams'])} of {format_count(row['of'])} streams; "
            f"{meaning}.",
        )
    yield from _other_views(audit)


def _other_views(audit: Audit) -> Iterator[Finding]:
    for row in audit.vantages:
        if not row["judged"]:
            yield Finding(
                "quality",
                "note",
                f"{format_count(row['streams'])} streams were seen at the {row['vantage']} and are "
                "not judged: numbers of two vantages are never pooled.",
                f"judge them with --vantage {row['vantage']}",
            )
