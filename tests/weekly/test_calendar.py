from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.errors import UsageError
from tokengap.weekly.calendar import Week, parse_week

W48 = Week(date(2026, 11, 23))
DAYS = st.dates(date(1971, 1, 10), date(2200, 1, 1))


@pytest.mark.parametrize(
    ("day", "name"),
    [
        # As the standard has it: week 1 holds the year's first Thursday.
        ("2026-11-22", "2026-W47"),
        ("2026-11-23", "2026-W48"),
        ("2026-11-29", "2026-W48"),
        ("2025-12-29", "2026-W01"),
        ("2026-12-31", "2026-W53"),
        ("2027-01-03", "2026-W53"),
        ("2027-01-04", "2027-W01"),
        ("2021-01-03", "2020-W53"),
    ],
)
def test_a_day_lies_in_its_iso_week(day: str, name: str) -> None:
    week = Week.of(date.fromisoformat(day))
    assert str(week) == name
    assert parse_week(name) == parse_week(name.replace("-", "")) == week


@given(DAYS)
def test_a_week_has_seven_days_from_monday(day: date) -> None:
    week = Week.of(day)
    assert day in week.days
    assert [each.isoweekday() for each in week.days] == [1, 2, 3, 4, 5, 6, 7]
    assert (week.first, week.last) == (week.days[0], week.days[-1])
    assert week.after == week.last + timedelta(1)
    assert Week.of(week.after).back(1) == week
    assert parse_week(str(week)) == week


def test_weeks_up_to_one_end_with_it() -> None:
    assert [str(week) for week in Week(date(2026, 1, 5)).up_to(3)] == [
        "2025-W52", "2026-W01", "2026-W02",
    ]  # fmt: skip
    assert list(W48.up_to(0)) == []
    assert W48.back(1) < W48


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("48", "expected a year and an ISO week, such as 2026-W48"),
        ("2026-48", "such as 2026-W48"),
        ("2026-W8", "such as 2026-W48"),
        (" 2026-W48", "such as 2026-W48"),
        ("2026-11-29", "such as 2026-W48; 2026-11-29 lies in 2026-W48"),
        ("2026-W54", "--week 2026-W54: Invalid week: 54"),
        ("2025-W53", "--week 2025-W53: Invalid week: 53"),
        ("2026-W00", "--week 2026-W00: Invalid week: 0"),
        ("0000-W01", "--week 0000-W01: "),
    ],
)
def test_what_is_no_week_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_week(text)
    assert said in str(error.value)
