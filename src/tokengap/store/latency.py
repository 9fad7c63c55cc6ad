"""Which days of a store have their per-request latency rows, and whether these are up to date.

The rows lie in the table `latency`, one file for each day and way of declaring. A file's name
begins with three digests: of the loads whose rows it was worked out from, of what was declared, and
of the queries that did it. A request that is tried again after midnight
belongs to the day of its last attempt, so that the days before and after count among the loads.
Streams without a day may be other views of the requests of any day: they count for every day.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

import msgspec

from tokengap.store.records import UNDATED, Part
from tokengap.store.tables import Store

_DIGITS: Final = 16

Days = Mapping[str, Sequence[Part]]
"""Live parts by UTC day, or `undated`."""


def by_day(parts: Sequence[Part]) -> Days:
    """The parts of each day, in order of days."""
    days: dict[str, list[Part]] = defaultdict(list)
    for part in sorted(parts, key=lambda part: part.day or UNDATED):
        days[part.day or UNDATED].append(part)
    return days


def around(days: Days, day: str) -> list[Part]:
    """Parts that the day's rows depend on: of the days beside it, too, and those without a day."""
    if day == UNDATED:
        near: Iterable[str] = days
    else:
        middle = date.fromisoformat(day)
        near = [*(str(middle + timedelta(days=step)) for step in (-1, 0, 1)), UNDATED]
    return [part for each in near for part in days.get(each, ())]


def is_pruned(parts: Sequence[Part]) -> bool:
    """Rows of the day were removed for their age: nothing can be worked out from it any more."""
    return any(part.pruned for part in parts)


def loads_digest(parts: Sequence[Part]) -> str:
    """Equal for the same loads, however their rows are spread over files, pruned or not."""
    return digest(sorted({part.load_id for part in parts}))


def digest(value: object) -> str:
    """Digits that tell values apart."""
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:_DIGITS]


@dataclass(frozen=True)
class LatencyFile:
    """Rows of one day, all made in one way."""

    uri: str
    rows: int

    def is_of(self, *digests: str) -> bool:
        """Its name begins with these digests: of loads, of what was declared, of the queries."""
        return self.uri.rsplit("/", 1)[-1].startswith("".join(digests))

    def declares(self, facts: str) -> bool:
        """It was made under these declarations, of whatever loads and by whatever queries."""
        return self.uri.rsplit("/", 1)[-1][_DIGITS:].startswith(facts)


def kept_days(store: Store) -> dict[str, list[LatencyFile]]:
    """The latency rows of each day that has some, in the order of their names."""
    days: dict[str, list[LatencyFile]] = defaultdict(list)
    for uri, file in sorted(store.latency.files().items()):
        folder, _ = uri.removeprefix(f"{store.latency.uri}/").split("/", 1)
        days[folder.removeprefix("day=")].append(LatencyFile(uri, file.rows))
    return days
