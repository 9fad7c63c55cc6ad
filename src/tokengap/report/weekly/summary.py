"""The week in one paragraph, fit for a chat."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from tokengap.report.markdown import text
from tokengap.report.weekly.actions import actions
from tokengap.report.weekly.promised import Promised, promised
from tokengap.report.weekly.words import kept_share, listed, longer, points
from tokengap.slo.meaning import percent
from tokengap.units import counted, format_count
from tokengap.weekly.model import BETTER, NOT_COMPARABLE, WORSE, Weekly

_NAMED: Final = 2
"""Missed promises that are named each."""


def summary(weekly: Weekly) -> str:
    """The paragraph as Markdown, in which no text of a log takes effect."""
    return text(paragraph(weekly))


def paragraph(weekly: Weekly) -> str:
    """Whether promises are kept, what changed, what needs doing."""
    return f"{weekly.week}: {answer(weekly)} {changed(weekly)} {_doing(weekly)}"


def answer(weekly: Weekly) -> str:
    """Whether the promises are kept."""
    told = [each for each in promised(weekly) if each.promise.is_kept is not None]
    so_far = "" if weekly.ended else " so far"
    if not told:
        return f"No promise could be judged{so_far}: no request of this week is under one."
    missed = [each for each in told if not each.promise.is_kept]
    if not missed:
        return f"{_all(len(told))} kept{so_far}."
    kept = f"{format_count(len(told) - len(missed))} of {counted(len(told), 'promise')} kept"
    return f"{kept}{so_far}; missed: {_which(missed)}."


def _which(missed: Sequence[Promised]) -> str:
    """The missed promises: by name if they are few, else how many of each service."""
    if len(missed) <= _NAMED:
        return listed(map(_missed, missed))
    services = Counter(each.service for each in missed)
    many = listed(f"{count} of {service}" for service, count in services.items())
    return f"{many}, by most {_missed(max(missed, key=_beyond))}"


def _beyond(each: Promised) -> Fraction:
    """How many times the requests that may miss did."""
    kept = each.promise.kept
    return Fraction(kept.bad, kept.applies) / (1 - Fraction(each.promise.goal.target))


def changed(weekly: Weekly) -> str:
    """What changed against the week before."""
    judged = [each for each in promised(weekly) if each.promise.kept.applies]
    named = {
        WORSE: "Worse than the week before",
        BETTER: "Better",
        NOT_COMPARABLE: "Not comparable",
    }
    found = [
        f"{words}: {listed(map(_named, same))}."
        for verdict, words in named.items()
        if (same := [each for each in judged if each.promise.change.verdict == verdict])
    ]
    if not judged:
        return "Nothing can be compared with the week before."
    return " ".join(found) or "Against the week before, no change can be told from chance."


def _all(promises: int) -> str:
    return "The promise was" if promises == 1 else f"All {format_count(promises)} promises were"


def _missed(each: Promised) -> str:
    target = each.promise.goal.target
    kept = kept_share(each.promise.kept, target)
    return f"{each.short} ({kept}, promised {percent(target)})"


def _named(each: Promised) -> str:
    change = each.promise.change
    if change.value_tells is not None:
        return f"{each.short} ({longer(change.value_tells)})"
    difference = change.matched
    return each.short + ("" if difference is None else f" ({points(difference)} points)")


def _doing(weekly: Weekly) -> str:
    to_do = [action.brief for action in actions(weekly)]
    return f"To do: {listed(to_do, '; ')}." if to_do else "Nothing needs doing."
