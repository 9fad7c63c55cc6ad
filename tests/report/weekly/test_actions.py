"""What needs doing: each kind of trouble is told once, and nothing where there is none."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.report.weekly.example import (
    WEEK,
    at,
    budget,
    burns,
    chat,
    code,
    empty,
    goal,
    kept,
    promise,
    single,
    weekly,
)
from tokengap.report.weekly.actions import actions, top
from tokengap.weekly.model import WORSE, Change, Contributor, Coverage, Late, ServiceWeek


def said(*services: ServiceWeek, unmatched: int = 0) -> list[str]:
    made = weekly(*services, unmatched=unmatched)
    return [action.finding.says for action in actions(made)]


def troubled(**changed: Any) -> ServiceWeek:
    """`single`, its promise changed."""
    of = single()
    made = promise(goal("ttft", 500, "0.9"), changed.pop("told", kept(95, 5)), **changed)
    return replace(of, promises=[made])


def test_nothing_needs_doing_where_all_is_well() -> None:
    assert said(single()) == []


def test_a_missed_promise_says_by_how_many_requests() -> None:
    (line,) = said(troubled(told=kept(80, 15, 5), budget=budget(1000, 0, 20)))
    assert line == "one, TTFT ≤ 500 ms: missed, 20 of 100 requests bad."  # 15 missed, 5 unknown


def test_a_spent_budget_and_one_that_is_soon() -> None:
    (spent,) = said(troubled(budget=budget(10, 10, 5, exhausted_in_days=0.0)))
    assert spent == "one: nothing is left of the 28-day budget for TTFT (spent 1.5 times)."
    (soon,) = said(troubled(budget=budget(10, 0, 5, exhausted_in_days=7.0)))
    ends = "at this week's rate the 28-day budget ends before the next report"
    assert soon == f"one: {ends} for TTFT (lasts 7.0 days)."
    (now,) = said(troubled(budget=budget(10, 0, 9, exhausted_in_days=0.8)))
    assert now == f"one: {ends} for TTFT (lasts under a day)."
    assert said(troubled(budget=budget(10, 0, 1, exhausted_in_days=63.0))) == []


def test_a_burn_rule_says_for_how_long_and_until_when() -> None:
    (line,) = said(troubled(burn=burns(20.0, 2, at(1, 9))))
    assert line.endswith("burn rate of 1 h above 14.4 for 2 hours, at most 20, until "
                         "Tue 24 Nov 09:00.")  # fmt: skip


def test_a_regression_says_by_how_much() -> None:
    change = Change(WORSE, "Lower.", -0.02, -0.015, -0.02, -0.01, 100, 100, 1.0)
    (line,) = said(troubled(change=change))
    assert line.endswith("worse than the week before by 1.50 points (1.00 to 2.00).")


def test_holes_late_data_and_requests_of_no_service() -> None:
    late = Late(WEEK.first, 12, datetime(2026, 12, 2, tzinfo=UTC), "late.jsonl")
    hole = Coverage(168, 160, [(at(0, 0), at(0, 8))])
    assert said(replace(single(), late=[late], coverage=hole), unmatched=1) == [
        "one: 8 hours of 168 without data.",
        "one: 12 streams of this week were loaded late.",
        "Of no service: 1 request.",
    ]


def test_what_is_urgent_comes_first() -> None:
    levels = [action.finding.level for action in actions(weekly())]
    assert levels == ["stall"] * 2 + ["unknown"] * 3 + ["note"]


def test_misses_gather_where_there_are_more_than_its_part_of_requests() -> None:
    """Of 1,000 misses; three deviations of 400 due are 46, of 4 due in 10 misses 4.6."""
    even = Contributor("tenant", "even", 5000, 600, 0.5, 0.6)  # 1.2 times its part
    more = Contributor("model", "more", 4000, 500, 0.4, 0.5)  # 1.25 times
    few = Contributor("worker", "few", 100, 150, 0.01, 0.15)  # under a fifth of the misses
    chance = Contributor("slo_class", "chance", 4000, 7, 0.4, 0.7)  # 7 of 10
    cause = Contributor("cause", "preemption", 600, 600, 0.06, 0.6)
    unknown = Contributor("cause", "unexplained", 400, 400, 0.04, 0.4)
    unlogged = Contributor("deployment", None, 1000, 1000, 0.1, 1.0)
    told = replace(single(), contributors=[even, more, few, chance, cause, unknown, unlogged])
    assert [each.value for each in top(told)] == ["preemption", "more"]


def test_contributors_need_a_promise_in_trouble() -> None:
    gathers = [Contributor("model", "m", 40, 14, 0.125, 0.875)]
    assert said(replace(single(), contributors=gathers)) == []
    in_trouble = troubled(told=kept(80, 20), budget=budget(1000, 0, 20))
    assert said(replace(in_trouble, contributors=gathers))[1] == (
        "In one, begin with model m (87.5 % of misses, 12.5 % of requests)."
    )


def test_each_service_tells_its_own() -> None:
    lines = said(chat(), code(), empty())
    assert sum(line.startswith("chat, worst gap ≤ 500 ms: missed") for line in lines) == 1
    assert "code: 13 hours of 168 without data." in lines  # 168 - 155
    assert "idle: 168 hours of 168 without data." in lines


def test_budgets_of_kept_promises_share_a_line() -> None:
    spent = budget(10, 10, 5, exhausted_in_days=0.0)
    missed = promise(goal("e2e", 900, "0.9"), kept(80, 20), budget=spent)
    two = [promise(goal(name, 50, "0.9"), kept(95, 5), budget=spent) for name in ("ttft", "tpot")]
    first, second = said(replace(single(), promises=[*two, missed]))
    assert first.startswith("one, end to end ≤ 900 ms: missed, 20 of 100 requests bad; its 28-day")
    assert second == (
        "one: nothing is left of the 28-day budget for TTFT (spent 1.5 times), average TPOT "
        "(spent 1.5 times)."
    )


def test_of_a_dimension_the_value_beyond_its_part_is_named_and_not_the_largest() -> None:
    large = Contributor("tenant", "large", 600, 500, 0.6, 0.5)
    small = Contributor("tenant", "small", 200, 400, 0.2, 0.4)
    assert [each.value for each in top(replace(single(), contributors=[large, small]))] == ["small"]
