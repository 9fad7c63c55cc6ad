"""Which days of a store have their per-request latency rows, and whether these are up to date.

The rows lie in the table `latency`, one file a day. A file's name begins with two digests: of the
loads whose rows it was worked out from, and of how. A request that is tried again after midnight
belongs to the day of its last attempt, so that the days before and after count among the loads.
Streams without a day may be other views of the requests of any day: they count for every day.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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


def kept_days(store: Store) -> dict[str, list[str]]:
    """URIs of the latency rows of each day that has some."""
    days: dict[str, list[str]] = defaultdict(list)
    for uri in store.latency.live():
        folder, _ = uri.removeprefix(f"{store.latency.uri}/").split("/", 1)
        days[folder.removeprefix("day=")].append(uri)
    return days


def is_current(uris: Sequence[str], loads: str, how: str = "") -> bool:
    """The rows of a day were worked out from these loads; and in this way, if it is given."""
    return any(uri.rsplit("/", 1)[-1].startswith(loads + how) for uri in uris)
