"""The gate: what holds, and the sentence that says why."""

from fractions import Fraction
from typing import Any

import pytest

from tests.report.weekly.gate_example import (
    HOLE,
    budget,
    burn,
    example,
    kept,
    promise,
    service,
    weekly,
)
from tokengap.weekly.gate import (
    BURN,
    CONDITIONS,
    COVERAGE,
    MISS,
    REGRESSION,
    Check,
    checks,
    share_change,
)
from tokengap.weekly.model import (
    BETTER,
    CANNOT_TELL,
    NOT_COMPARABLE,
    WORSE,
    Change,
    Coverage,
    ServiceWeek,
    ValueChange,
)


def judged(condition: str, week: ServiceWeek, **options: Any) -> Check:
    """The only check of this condition."""
    (check,) = checks(weekly(week), [condition], **options)
    return check


def of(condition: str, **more: Any) -> Check:
    """The check of a service's only promise."""
    return judged(condition, service(promises=[promise(**more)]))


def says(check: Check) -> str:
    """Its sentence, with usual spaces."""
    return check.says.replace("\u202f", " ")


def test_every_condition_is_checked_once_for_each_promise() -> None:
    found = list(checks(example()))
    names = ["worst_gap", "ttft", "good", 'worst_gap tenant=a"\\<b>\n*']
    wanted: list[tuple[str, str | None, str]]
    wanted = [("chat", name, c) for name in names for c in (MISS, BURN, REGRESSION)]
    wanted += [("chat", None, COVERAGE)]
    wanted += [("batch", "e2e", c) for c in (MISS, BURN, REGRESSION)] + [("batch", None, COVERAGE)]
    assert [(c.service, c.promise, c.condition) for c in found] == wanted
    assert [(c.promise, c.condition) for c in found if c.holds] == [
        ("worst_gap", MISS), ("worst_gap", REGRESSION), ("ttft", BURN), ("good", BURN),
        (None, COVERAGE),
    ]  # fmt: skip
    assert [(c.promise, c.condition) for c in found if c.holds is None] == [("e2e", REGRESSION)]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_only_the_conditions_asked_for_are_checked(condition: str) -> None:
    assert {check.condition for check in checks(example(), [condition])} == {condition}


def test_a_miss_says_how_many_are_too_few() -> None:
    """99 % of 1,000 are 990."""
    check = of(MISS, kept=kept(980, 15, 5))
    assert check.holds is True
    assert says(check) == (
        "980 of 1 000 requests met 400 ms, 10 too few for its target of 99 %; 5 could not be judged"
    )


def test_a_share_just_below_its_target_does_not_read_like_it() -> None:
    """99 % of 100,000 are 99,000; 98.999 % rounds to 99.0 %."""
    check = of(MISS, kept=kept(98_999, 1001))
    assert check.holds is True
    assert says(check) == "98 999 of 100 000 requests met 400 ms, 1 too few for its target of 99 %"
    assert of(MISS, kept=kept(99_000, 1000)).holds is False
    check = of(MISS, kept=kept(99_949, 51), target="0.9995")
    assert says(check).endswith(" 1 too few for its target of 99.95 %")


def test_the_target_is_compared_exactly() -> None:
    """7 % of 100 are 7; in doubles, 0.07 * 100 is more."""
    assert of(MISS, kept=kept(7, 93), target="0.07").holds is False
    assert "1 too few" in says(of(MISS, kept=kept(6, 94), target="0.07"))


def test_good_is_said_of_whole_requests() -> None:
    check = of(MISS, statistic="good", limit_ns=None, target="0.95", kept=kept(949, 51))
    assert says(check).startswith("949 of 1 000 requests were good, 1 too few")


def test_what_could_not_be_judged_is_not_kept() -> None:
    """A promise to all that fits none of the requests is broken; one to a few may have none."""
    nothing = of(MISS, kept=kept(0))
    assert nothing.holds is True
    assert says(nothing) == "no request that it applies to, of 1 000 offered: nothing was judged"
    assert of(MISS, kept=kept(0), only={"tenant": "acme"}).holds is None
    silent = judged(MISS, service(promises=[promise(kept=kept(0))], offered=0))
    assert silent.holds is None
    assert of(MISS, kept=kept(0, 0, 3)).holds is True


def test_a_burn_says_the_rules_that_were_over() -> None:
    check = of(BURN, burn=[burn(1, 14.4, 20.04, 1), burn(72, 1, 0.5)])
    assert check.holds is True
    assert says(check) == (
        "at most 20.04 times its budget's pace over 1 hour, in 1 hour over 14.4 beyond chance"
    )


def test_no_burn_says_every_rule_and_the_budget() -> None:
    check = of(BURN, burn=[burn(1, 14.4, 20.04), burn(72, 1, 0.5)])
    assert check.holds is False
    assert says(check) == (
        "at most 20.04 times its budget's pace over 1 hour, never over 14.4 beyond chance; "
        "at most 0.50 times its budget's pace over 72 hours, never over 1 beyond chance; "
        "20 misses since 2026-11-02, where 40 were allowed"
    )


@pytest.mark.parametrize(
    ("allowed", "spent", "holds"),
    [
        (20, 19, False),
        (20, 20, True),  # none is left
        (20, 21, True),
        (Fraction(41, 2), 20, False),  # half a miss is left
        (Fraction(41, 2), 21, True),
    ],
)
def test_a_spent_budget_holds(allowed: Fraction | int, spent: int, holds: bool) -> None:
    check = of(BURN, budget=budget(allowed, spent))
    assert check.holds is holds
    assert says(check).endswith(f"{spent} misses since 2026-11-02, where 20 were allowed")


def test_without_requests_there_is_no_burn() -> None:
    check = of(BURN, budget=budget(0, 0), burn=[burn(1, 14.4, None)])
    assert (check.holds, says(check)) == (None, "no request of which a budget could be spent")


@pytest.mark.parametrize(
    ("verdict", "holds"),
    [(WORSE, True), (BETTER, False), (CANNOT_TELL, False), (NOT_COMPARABLE, None)],
)
def test_only_worse_is_a_regression(verdict: str, holds: bool | None) -> None:
    check = of(REGRESSION, change=Change(verdict, "because"))
    assert (check.holds, check.says) == (holds, "because")


def test_a_change_has_its_interval() -> None:
    value = ValueChange(1.02, 1.1, 1.05, 1.152)
    change = Change(WORSE, "kept less", -0.01, -0.0213, -0.03, -0.0121, value=value)
    assert of(REGRESSION, change=change).says == (
        "kept less (share kept -2.13 points, -3 to -1.21; values times 1.100, 1.050 to 1.152)"
    )


def test_a_change_of_all_is_written_out() -> None:
    assert share_change(Change(WORSE, "all miss", -1.0, -1.0, -1.0, -0.995)) == (
        "-100 points, -100 to -99.5"
    )


def covering(coverage: Coverage, **options: Any) -> Check:
    return judged(COVERAGE, service(coverage=coverage), **options)


def test_coverage_is_of_the_hours_due() -> None:
    """151 of 168 are 89.9 %, 152 are 90.5 %."""
    check = covering(Coverage(168, 151, [HOLE]))
    assert check.holds is True
    assert says(check) == (
        "151 of 168 hours have requests (89.9 %), less than 90 %; "
        "none from 2026-11-24 03:00 to 2026-11-24 15:00 UTC"
    )
    assert covering(Coverage(168, 152, [HOLE])).holds is False
    assert covering(Coverage(10, 9, [HOLE])).holds is False
    assert covering(Coverage(168, 151, [HOLE]), least_coverage=0.5).holds is False


def test_nothing_seen_covers_nothing() -> None:
    silent = covering(Coverage(168, 0, [HOLE]), least_coverage=0.0)
    assert (silent.holds, says(silent)) == (True, "no request in any of 168 hours")
    excluded = covering(Coverage(0, 0, []))
    assert excluded.holds is True
    assert says(excluded) == "no hour is left to judge: all of the week is excluded"
