"""Words that an export writes and an import expects."""

from typing import Final

API: Final = "openslo/v1"
TOOL: Final = "tokengap"
"""Type of the metric sources, name and type of the data source, prefix of the annotations."""
FROM: Final = f"{TOOL}/from"
UNTIL: Final = f"{TOOL}/until"
OFFERED: Final = "offered"
"""Statistic of the total of a ratio, whose good part is `GOOD`."""
OCCURRENCES: Final = "Occurrences"
AT_MOST: Final = "lte"
JUDGED: Final = ("match", "vantage", "origin", "handoff")
"""Keys of a service that stand in the metric source of each of its SLOs."""
CALENDARS: Final = {"week": "1w", "month": "1M"}
UTC_NAMES: Final = ("UTC", "Etc/UTC")
CALENDAR_START: Final = "2024-01-01 00:00:00"
"""A Monday and the first of a month."""
EXTRA: Final = "tokengap[openslo]"
