"""The paragraph: promises, change, what to do, in a chat's length."""

from dataclasses import replace

import pytest

from tests.report.hostile import EVIL
from tests.report.reading import rendered
from tests.report.weekly.example import chat, empty, goal, kept, promise, single, weekly
from tokengap.report.weekly.summary import paragraph, summary
from tokengap.report.words import plain
from tokengap.weekly.model import Contributor


def test_two_services_in_a_paragraph() -> None:
    said = paragraph(weekly())
    assert "\n" not in said
    assert 60 <= len(said.split()) <= 110
    assert said.startswith(
        "2026-W48: 6 of 7 promises kept; missed: chat worst gap (98.2 %, promised 99 %). "
        "Worse than the week before: chat worst gap (-0.88 points). "
        "Better: code end to end (+1.90 points). Not comparable: code handoff gap (stream). "
        "To do: chat worst gap (missed, budget spent, burn, worse); begin with cause prefill "
        "interference and tenant <b>|@x in chat"
    )


def test_a_quiet_week() -> None:
    assert paragraph(weekly(single(), unmatched=0)) == (
        "2026-W48: The promise was kept. Against the week before, no change can be told from "
        "chance. Nothing needs doing."
    )


def test_a_week_that_is_not_over_says_so() -> None:
    said = paragraph(weekly(single(), unmatched=0, ended=False))
    assert said.startswith("2026-W48: The promise was kept so far.")


def test_a_week_without_a_request() -> None:
    assert paragraph(weekly(empty(), unmatched=0)) == (
        "2026-W48: No promise could be judged: no request of this week is under one. Nothing can "
        "be compared with the week before. To do: 168 h of idle without data."
    )


@pytest.mark.parametrize("evil", EVIL)
def test_no_text_of_a_log_takes_effect(evil: str) -> None:
    attack = Contributor("tenant", evil, 4_000, 800, 0.1, 0.9)
    written = summary(weekly(replace(chat(), contributors=[attack])))
    page = rendered(written)
    assert {tag for tag, _, _ in page.elements} <= {"p", "code"}
    (told,) = page.texts("p")
    shown = plain(evil)[:40].split()
    assert all(word in told.replace("\u2026", "") for word in shown[:3])


def test_many_missed_promises_are_counted_and_the_worst_is_named() -> None:
    """Of 100 each may miss 10 and 1: 30 are three times too many, 5 are five times."""
    three = [
        promise(goal("ttft", 500, "0.9"), kept(70, 30)),
        promise(goal("tpot", 50, "0.99"), kept(95, 5)),
        promise(goal("e2e", 900, "0.9"), kept(89, 11)),
    ]
    said = paragraph(weekly(replace(single(), promises=three)))
    assert said.startswith(
        "2026-W48: 0 of 3 promises kept; missed: 3 of one, by most one average TPOT "
        "(95.0 %, promised 99 %). "
    )
