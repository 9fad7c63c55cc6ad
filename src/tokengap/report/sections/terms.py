"""The terms that the page uses, in a sentence each."""

from typing import Final

from tokengap.report.section import Section, Subject

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


def terms(subject: Subject) -> Section:
    """What the words mean."""
    return Section("terms", "Terms", "", subject.scope, terms=TERMS)
