"""Shares against their target, budgets and names in words."""

from decimal import Decimal

import pytest

from tests.report.weekly.example import budget, goal, kept
from tokengap.report.weekly.words import (
    budget_left,
    kept_share,
    listed,
    log_text,
    points,
    promise_name,
    span_share,
)
from tokengap.slo.meaning import percent
from tokengap.slo.model import GOOD, Service


@pytest.mark.parametrize(
    ("met", "of", "target", "shown"),
    [
        (982, 1000, "0.99", "98.2 %"),
        (99_950, 100_000, "0.999", "99.95 %"),  # a digit more than the target has
        (98_996, 100_000, "0.99", "98.996 %"),  # 99.0 would read as reached
        (9_899_999, 10_000_000, "0.99", "98.99999 %"),
        (990, 1000, "0.99", "99.0 %"),
        (99_999, 100_000, "0.9", "99.999 %"),  # 100.0 would read as all
        (1, 100_000, "0.9", "0.001 %"),  # 0.0 would read as none
        (5, 5, "0.9", "100 %"),
        (0, 5, "0.9", "0 %"),
        (0, 0, "0.9", "-"),
    ],
)
def test_a_share_never_reads_as_the_other_side_of_its_target(
    met: int, of: int, target: str, shown: str
) -> None:
    assert kept_share(kept(met, of - met), Decimal(target)) == shown


@pytest.mark.parametrize(
    ("target", "shown"), [("0.99", "99 %"), ("0.9995", "99.95 %"), ("0.9", "90 %")]
)
def test_a_target_is_shown_as_it_was_written(target: str, shown: str) -> None:
    assert percent(Decimal(target)) == shown


def test_a_budget_is_left_or_spent_so_many_times() -> None:
    assert budget_left(budget(200, 20, 30)) == "75 %"  # 50 of 200
    assert budget_left(budget(200, 180, 180)) == "spent 1.8 times"  # 360 of 200
    assert budget_left(budget(200, 0, 5000)) == "spent 25 times"
    assert budget_left(budget(200, 0, 200)) == "spent"
    assert budget_left(budget(0, 0, 0)) == "-"


def test_a_handoff_never_stands_without_its_boundary() -> None:
    service = Service("s", (), handoff="relay")
    found = goal("handoff_gap", 200, "0.99", tenant="a*")
    assert promise_name(service, found) == "handoff gap (relay) ≤ 200 ms for tenant a*"
    assert promise_name(service, found, limit=False) == "handoff gap (relay) for tenant a*"
    assert promise_name(service, goal(GOOD, None, "0.9")) == "all limits"


def test_differences_and_intervals() -> None:
    assert (points(0.0088), points(-0.0088), points(None)) == ("+0.88", "-0.88", "-")
    assert span_share(0.9812, 0.9899, Decimal("0.99")) == "98.1 to 99.0 %"
    assert span_share(None, None, Decimal("0.99")) == "-"


def test_lists_are_short() -> None:
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed("abc") == "a, b and c"
    assert listed("abcde") == "a, b, c and 2 more"


def test_text_of_a_log_is_short_and_plain() -> None:
    assert log_text(None) == "not logged"
    assert log_text("a\x1b[2J\u202e") == "a\ufffd[2J\ufffd"
    assert len(log_text("x" * 500)) == 48
