"""The first screen: what was promised and kept, what changed, what needs doing."""

from typing import Final

from tokengap.findings import Finding
from tokengap.report.section import Section, Table
from tokengap.report.weekly.actions import actions
from tokengap.report.weekly.promised import Promised, promised
from tokengap.report.weekly.words import (
    KEPT,
    budget_left,
    burn_words,
    change_words,
    kept_share,
    span_share,
)
from tokengap.slo.meaning import percent
from tokengap.weekly.model import Weekly

COLUMNS: Final = (
    "", "service", "promise", "kept", "95 % interval", "promised", "budget left", "burn",
    "week before",
)  # fmt: skip
WORDS: Final = ("", "service", "promise", "burn", "week before")
TONES: Final = {True: "kept", False: "missed", None: "open"}
NOTHING: Final = Finding("nothing", "note", "Nothing needs doing.")


def glance(weekly: Weekly, scope: str) -> Section:
    """One row a promise, and the list of what to do."""
    told = promised(weekly)
    tones = [TONES[each.promise.is_kept] for each in told]
    rows = [row(each) for each in told]
    return Section(
        "promises",
        "Promises, and what to do",
        "",
        scope,
        table=Table(COLUMNS, rows, WORDS, tones, tight=True) if rows else None,
        findings=[action.finding for action in actions(weekly)] or [NOTHING],
    )


def row(each: Promised) -> list[str]:
    """A promise in the words of `COLUMNS`."""
    promise, target = each.promise, each.promise.goal.target
    return [
        KEPT[promise.is_kept],
        each.service,
        each.name,
        kept_share(promise.kept, target),
        span_share(promise.kept.low, promise.kept.high, target),
        percent(target),
        budget_left(promise.budget),
        burn_words(promise),
        change_words(promise.change),
    ]
