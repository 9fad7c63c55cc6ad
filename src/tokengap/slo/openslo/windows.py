"""Time windows of OpenSLO as windows of a service."""

from datetime import datetime

from tokengap.slo.model import WEEK
from tokengap.slo.openslo.terms import CALENDARS, UTC_NAMES
from tokengap.slo.services import DAYS_OF, ROLLING_DAYS
from tokengap.slo.table import Table


def window(spec: Table) -> str:
    """The window of an SLO, as a service has it: `28d`, `week` or `month`."""
    windows = list(spec.tables("timeWindow", ("duration", "isRolling", "calendar")))
    if len(windows) != 1:
        spec.fail("timeWindow", "expected one, such as 28d that roll", value=False)
    (table,) = windows
    duration = table.needed(table.text, "duration", "28d")
    rolls = table.data.get("isRolling", False)
    if "calendar" in table.data:
        if rolls:
            table.fail("isRolling", "stands beside calendar; keep one")
        return _calendar(table, duration)
    if rolls is not True:
        table.fail("isRolling", "expected true, or a calendar", value=False)
    rolling = ROLLING_DAYS.fullmatch(duration)
    if rolling is None:
        table.fail("duration", "a rolling window has whole days or weeks, such as 28d or 4w")
    return f"{int(rolling[1]) * DAYS_OF[rolling[2]]}d"


def _calendar(table: Table, duration: str) -> str:
    calendar = table.inner("calendar", ("startTime", "timeZone"))
    zone = calendar.needed(calendar.text, "timeZone", UTC_NAMES[0])
    if zone not in UTC_NAMES:
        calendar.fail("timeZone", f"days are counted in {UTC_NAMES[0]}")
    kind = next((kind for kind, text in CALENDARS.items() if text == duration), None)
    if kind is None:
        known = " or ".join(CALENDARS.values())
        table.fail("duration", f"a calendar window is {known}")
    start = calendar.needed(calendar.data.get, "startTime", "2024-01-01 00:00:00")
    if not _begins(start, kind):
        day = "a Monday" if kind == WEEK else "the first of a month"
        calendar.fail("startTime", f"a {kind} begins at 00:00:00 on {day}")
    return kind


def _begins(start: object, kind: str) -> bool:
    try:
        moment = datetime.fromisoformat(str(start))
    except ValueError:
        return False
    midnight = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
    return midnight and (moment.weekday() == 0 if kind == WEEK else moment.day == 1)
