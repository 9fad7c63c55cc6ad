"""The terms that the report uses, in a sentence each, and what it leaves out."""

from collections.abc import Iterator
from typing import Final

from tokengap.report.section import Section, Subject, Table
from tokengap.units import format_count

TERMS: Final = {
    "stream": "one answer to one attempt of one request, seen at one vantage",
    "delivery": "an instant at which one or more tokens became visible",
    "gap": "the time between two deliveries of a stream",
    "worst gap": "the longest gap of a request; bounded below where deliveries were lost",
    "TTFT": "time to first token: first delivery - origin",
    "average TPOT": "time per output token: (last - first delivery) / tokens after the first "
    "delivery; an interval where the log does not say how many tokens came first",
    "end to end": "last token - origin",
    "handoff": "the gap in which the prefill side hands over to the decode side: after token k, "
    "the last one that the prefill side delivers",
    "met, missed": "at or under the limit for certain, over it for certain; unknown where the log "
    "does not decide, not applicable where the quantity does not exist",
    "hidden stall": "a completed request that meets its average TPOT and misses its worst gap",
    "possible": "one of these two verdicts is unknown and the other fits",
    "offered": "completed, failed, timed out, rejected, truncated, and cancelled with a miss",
    "good": "completed, at least one token, every limit that applies met; unknown is never good",
    "attainment": "good / offered, with its 95 % interval (Wilson)",
}

_WORDS: Final = ("left out", "why")


def terms(subject: Subject) -> Section:
    """What the words mean, and what no verdict is about."""
    left_out = list(_left_out(subject))
    return Section(
        "terms",
        "Definitions and exclusions",
        f"n {format_count(subject.audit.counts['streams'])} streams, all that were read",
        subject.scope,
        terms=TERMS,
        table=Table(("left out", "n", "why"), left_out, _WORDS) if left_out else None,
        notes=[] if left_out else ["Nothing was left out: every stream is of an offered request."],
    )


def _left_out(subject: Subject) -> Iterator[list[str]]:
    counts, audit = subject.audit.counts, subject.audit
    seen = sum(row["streams"] for row in audit.vantages if not row["judged"])
    judged = audit.judged[0]["vantage"] if audit.judged else "no vantage"
    found = {
        "streams of other vantages": (seen, f"verdicts are about the {judged}'s view"),
        "requests in flight": (counts["in_flight"], "not over at the cut-off"),
        "attempts given up": (counts["retried"], "the last attempt counts, from the first's start"),
        "superseded streams": (counts["superseded"], "a finer file holds the same request"),
        "records in quarantine": (counts["rejects"], "they cannot be read; see Data quality"),
    }
    for what, (count, why) in found.items():
        if count:
            yield [what, format_count(count), why]
