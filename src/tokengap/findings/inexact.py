"""Which values are bounds or missing, and why."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from tokengap.findings.audit import Audit
from tokengap.findings.interface import Finding
from tokengap.units import format_count

_NAMES: Final = {
    "ttft": "TTFT",
    "tpot": "Average TPOT",
    "worst_gap": "Worst gap",
    "own_gaps": "Percentiles of own gaps",
    "e2e": "End to end",
}
WHY: Final = {
    "aggregate": "the log holds no single tokens",
    "clock_uncertain": "two clocks are only known within bounds",
    "clock_unrelated": "the clocks are unrelated; --clock or --same-clock relates them",
    "coalesced_reads": "bursts under 0.2 ms are artefacts of transport",
    "end_missing": "the last token's time is not logged",
    "events_lost": "deliveries are missing",
    "not_logged": "the log has no such stamp",
    "outside_ttft": "the handoff is not inside TTFT",
    "inside_ttft": "the handoff is inside TTFT",
    "handoff_undeclared": "--last-prefill-token is not given",
    "not_observable": "it came in one burst",
    "no_token": "no token was delivered",
    "non_monotonic": "the clock stepped back",
    "not_streamed": "the answer came as one body",
    "origin_missing": "the origin is not logged; --origin names another",
    "single_delivery": "all tokens came at once",
    "single_token": "one-token answers have none",
    "smeared": "the tool spread gaps over tokens",
    "split_unknown": "how many tokens the first delivery held is not logged",
}


def inexact(audit: Audit) -> Iterator[Finding]:
    """One finding per statistic that is not exact everywhere."""
    for statistic, found in groupby(audit.inexact, key=lambda row: row["statistic"]):
        rows = list(found)
        count = sum(row["requests"] for row in rows)
        why = "; ".join(
            f"{WHY.get(row['reason'], row['reason'])} ({format_count(row['requests'])})"
            for row in rows
        )
        yield Finding(
            "inexact",
            "note",
            f"{_NAMES[statistic]}: a bound or missing in {format_count(count)} of "
            f"{format_count(rows[0]['of'])} completed requests; {why}.",
        )
