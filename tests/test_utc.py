"""Days and hours as numbers, by calendar arithmetic."""

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tokengap.utc import HOUR_NS, day_number, day_of, day_start_ns, hour_number, hour_start
from tokengap.weekly.calendar import Week

W48 = Week(date(2026, 11, 23))


def test_time_counts_from_1970_in_utc() -> None:
    """20,780 days from 1970-01-01 to 2026-11-23: 56 years and 14 leap days to 2026, 326 more."""
    days = 56 * 365 + 14 + 326
    assert day_start_ns(W48.first) == W48.start_ns == days * 86_400 * 10**9
    assert hour_start(days * 24 + 5) == datetime(2026, 11, 23, 5, tzinfo=UTC)
    assert W48.first_hour == hour_number(W48.first) == days * 24
    assert day_of(day_number(W48.first)) == day_of(days) == W48.first


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 (Hypothesis adds the zone)
def test_an_instant_lies_in_its_hour(instant: datetime) -> None:
    start = hour_start(hour_number(instant.date()) + instant.hour)
    assert start <= instant < start + timedelta(hours=1)
    assert hour_number(instant.date()) * HOUR_NS == day_start_ns(instant.date())
