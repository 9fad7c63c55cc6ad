"""What is said of hidden stalls."""

from tests.findings.given import LIMITS, said
from tokengap.findings.hidden_stalls import hidden_stalls


def test_counts_them_among_completed_requests_and_names_the_limits() -> None:
    (finding,) = said(hidden_stalls, stalls=[{"stall": "hidden"}] * 23)
    assert finding.level == "stall"
    assert finding.says.startswith("23 of 60 completed requests stalled")
    assert "≤ 50 ms" in finding.says
    assert "≤ 500 ms" in finding.says


def test_says_that_there_is_none() -> None:
    (finding,) = said(hidden_stalls)
    assert finding.level == "note"
    assert finding.says.startswith("No request hides a stall")


def test_possible_ones_are_a_finding_of_their_own() -> None:
    none, possible = said(hidden_stalls, stalls=[{"stall": "possible"}] * 2)
    assert none.level == "note"
    assert possible.level == "unknown"
    assert possible.says.startswith("2 more may")


def test_says_nothing_without_both_limits() -> None:
    assert said(hidden_stalls, objectives=LIMITS[1:]) == []
