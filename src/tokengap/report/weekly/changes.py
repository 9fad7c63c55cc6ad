"""What changed against the week before."""

from collections.abc import Iterator, Sequence
from typing import Final

from tokengap.findings import Finding
from tokengap.findings.audit import Row
from tokengap.report.section import Section, Table
from tokengap.report.weekly.promised import Promised, promised
from tokengap.report.weekly.words import VERDICTS, points, points_span
from tokengap.units import counted, format_count, format_share
from tokengap.weekly.model import (
    BETTER,
    CANNOT_TELL,
    NOT_COMPARABLE,
    WORSE,
    ValueChange,
    Weekly,
)

COLUMNS: Final = (
    "service", "promise", "verdict", "raw", "at equal mix", "interval", "value", "requests",
    "before", "lengths in both",
)  # fmt: skip
_LEVELS: Final = {
    WORSE: "stall", NOT_COMPARABLE: "unknown", BETTER: "note", CANNOT_TELL: "note",
}  # fmt: skip
_HOW: Final = (
    "Raw, at equal mix, interval: differences of the kept share in percentage points. Equal mix "
    "weighs both weeks alike by lengths of prompts and answers, so a shift of what is asked is no "
    "change. Value: how the time itself changed, 1.10 being 10 % longer."
)
_WORDS: Final = ("service", "promise", "verdict")


def changes(weekly: Weekly, scope: str) -> Section:
    """Each promise against the week before, both by the limit of now."""
    told = promised(weekly)
    comparisons = format_count(weekly.comparisons)
    confidence = f"{weekly.confidence * 100:f}".rstrip("0").rstrip(".")
    return Section(
        "changes",
        "Against the week before",
        counted(weekly.comparisons, "comparison"),
        scope,
        data=[_data(each) for each in told],
        table=Table(COLUMNS, [_row(each) for each in told], _WORDS, tight=True),
        findings=list(_why(told)),
        notes=[
            _HOW,
            f"All {comparisons} intervals hold together in {confidence} % of reports.",
        ],
    )


def _why(told: Sequence[Promised]) -> Iterator[Finding]:
    """Each verdict and its reason once, with the promises that have it."""
    order = list(_LEVELS)
    whys = {(each.promise.change.verdict, each.promise.change.says) for each in told}
    for verdict, says in sorted(whys, key=lambda why: (order.index(why[0]), why[1])):
        same = [
            e for e in told if (e.promise.change.verdict, e.promise.change.says) == (verdict, says)
        ]
        names = ", ".join(each.short for each in same)
        why = f"{says[:1].upper()}{says[1:].removesuffix('.')}."
        yield Finding(
            "change", _LEVELS[verdict], f"{VERDICTS[verdict].capitalize()}: {names}. {why}"
        )


def _row(each: Promised) -> list[str]:
    change = each.promise.change
    share = change.matched_share
    return [
        each.service,
        each.name,
        VERDICTS[change.verdict],
        points(change.raw),
        points(change.matched),
        points_span(change.low, change.high),
        _value(change.value),
        format_count(change.requests),
        format_count(change.requests_before),
        "-" if share is None else format_share(share),
    ]


def _value(value: ValueChange | None) -> str:
    if value is None:
        return "-"
    if value.matched is None or value.low is None or value.high is None:
        return f"{value.raw:.2f} raw"
    return f"{value.matched:.2f} ({value.low:.2f} to {value.high:.2f})"


def _data(each: Promised) -> Row:
    change, value = each.promise.change, each.promise.change.value
    return {
        "service": each.service,
        "promise": each.promise.name,
        "verdict": change.verdict,
        "raw": change.raw,
        "matched": change.matched,
        "low": change.low,
        "high": change.high,
        "value_raw": value and value.raw,
        "value_matched": value and value.matched,
        "value_low": value and value.low,
        "value_high": value and value.high,
        "requests_before": change.requests_before,
        "requests": change.requests,
        "matched_share": change.matched_share,
        "says": change.says,
    }
