from datetime import UTC, date, datetime

import pytest

from tests.slo.given import full
from tokengap.slo import Objective
from tokengap.slo.model import Exclusion, Service, SloFile, Window, fits, limits_of

CHAT, BATCH = full().services
MS = 10**6


def held(day: date, **request: str) -> dict[str, int | None]:
    return {goal.statistic: goal.limit_ns for goal in CHAT.in_force(day, request)}


@pytest.mark.parametrize(
    ("day", "limit_ms"),
    [
        (date(2025, 12, 31), None),
        (date(2026, 1, 1), 500),
        (date(2026, 10, 31), 500),  # history is judged by what held
        (date(2026, 11, 1), 400),
        (date(2027, 5, 1), 400),
    ],
)
def test_the_version_of_the_day_holds(day: date, limit_ms: int | None) -> None:
    assert held(day).get("worst_gap") == (None if limit_ms is None else limit_ms * MS)


@pytest.mark.parametrize(
    ("day", "request_", "limit_ms"),
    [
        (date(2026, 6, 1), {"slo_class": "premium"}, 300),
        (date(2026, 5, 31), {"slo_class": "premium"}, 500),  # not yet: the wide one
        (date(2026, 6, 1), {"slo_class": "interactive"}, 500),
        (date(2026, 6, 1), {"tenant": "acme-eu"}, 250),
        (date(2026, 6, 1), {"tenant": "acme-eu", "slo_class": "premium"}, 250),  # tenant first
        (date(2026, 11, 30), {"tenant": "acme-eu", "slo_class": "premium"}, 250),
        (date(2026, 12, 1), {"tenant": "acme-eu", "slo_class": "premium"}, 300),  # it has ended
        (date(2026, 12, 1), {"tenant": "acme-eu"}, 400),
        (date(2026, 6, 1), {"tenant": "acme"}, 500),  # acme-* needs the dash
    ],
)
def test_the_narrowest_objective_of_a_request_holds(
    day: date, request_: dict[str, str], limit_ms: int
) -> None:
    assert held(day, **request_)["worst_gap"] == limit_ms * MS


def test_objectives_without_rivals_hold_for_all() -> None:
    assert [goal.statistic for goal in CHAT.in_force(date(2026, 6, 1), {"tenant": "acme-1"})] == [
        "worst_gap",
        "good",
    ]


def test_all_that_holds_on_a_day_is_in_the_order_of_the_file() -> None:
    limits = [goal.limit_ns for goal in CHAT.on(date(2026, 11, 30))]
    assert limits == [400 * MS, 300 * MS, 250 * MS, None]


def test_a_request_belongs_to_the_first_service_that_takes_it() -> None:
    file = full()
    names = [
        (found := file.service_of(request)) and found.name
        for request in (
            {"deployment": "chat-eu", "slo_class": "premium"},
            {"deployment": "chat-eu", "slo_class": "free"},
            {"deployment": "chat-eu"},
            {},
        )
    ]
    assert names == ["chat", "batch", "batch", "batch"]
    assert SloFile((CHAT,)).service_of({"deployment": "batch"}) is None


def test_what_is_not_known_fits_only_the_star() -> None:
    assert fits(["*"], None)
    assert not fits(["", "a", "?*", "[!a]*"], None)
    assert fits(["a", "b?"], "b1")
    assert not fits(["B?"], "b1")


@pytest.mark.parametrize(
    ("window", "first", "after"),
    [
        (Window("rolling", 28), date(2026, 11, 3), date(2026, 12, 1)),
        (Window("rolling", 1), date(2026, 11, 30), date(2026, 12, 1)),
        (Window("week"), date(2026, 11, 30), date(2026, 12, 7)),  # a Monday
        (Window("month"), date(2026, 11, 1), date(2026, 12, 1)),
    ],
)
def test_a_window_spans_whole_days(window: Window, first: date, after: date) -> None:
    assert window.span(date(2026, 11, 30)) == (first, after)


def test_a_week_runs_to_its_sunday_and_a_month_over_a_leap_day() -> None:
    assert Window("week").span(date(2026, 12, 6)) == (date(2026, 11, 30), date(2026, 12, 7))
    assert Window("month").span(date(2028, 2, 3)) == (date(2028, 2, 1), date(2028, 3, 1))


def test_a_deployment_is_what_it_was_on_the_day() -> None:
    gpus = {day: [d.gpus for d in full().deployments_on(day)] for day in (
        date(2025, 12, 31), date(2026, 9, 30), date(2026, 10, 1),
    )}  # fmt: skip
    assert list(gpus.values()) == [[], [16], [24]]


def test_exclusions_of_a_service_are_its_own_and_those_of_all() -> None:
    later, earlier = (datetime(2026, 1, day, tzinfo=UTC) for day in (9, 1))
    end = datetime(2026, 2, 1, tzinfo=UTC)
    own, all_, other = (
        Exclusion(later, end, "own", ("chat",)),
        Exclusion(earlier, end, "all"),
        Exclusion(earlier, end, "other", ("batch",)),
    )
    file = SloFile((CHAT, BATCH), exclusions=(own, all_, other))
    assert file.exclusions_of("chat") == [all_, own]


def test_limits_of_goals_are_those_of_an_audit() -> None:
    goals = CHAT.in_force(date(2026, 11, 30))
    assert limits_of(goals, "slo.toml") == [Objective("worst_gap", 400 * MS, "slo.toml")]


def test_a_service_without_rules_takes_every_request() -> None:
    assert Service("all", CHAT.goals).takes({})
