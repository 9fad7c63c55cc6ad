"""Data that came long after its day: reports that were made before lack it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from tokengap.store.records import UNDATED, Loaded, Part
from tokengap.store.standing import Standing, same_way
from tokengap.utc import DAY_NS, HOUR_NS, day_start_ns

LATE_AFTER_NS: Final = 36 * HOUR_NS
"""After the end of the day: a job that loads a day's logs has the day after to do it."""


def is_late(part: Part) -> bool:
    """The part was loaded so long after its day; False where either is not known."""
    if part.loaded_ns is None or part.day in {None, UNDATED}:
        return False
    end_ns = day_start_ns(date.fromisoformat(str(part.day))) + DAY_NS
    return part.loaded_ns > end_ns + LATE_AFTER_NS


def late_streams(
    loads: Sequence[Loaded], standings: Sequence[Standing], before: Sequence[Part]
) -> Mapping[str, int]:
    """Streams by day, of what these loads brought late, and of what they changed.

    standings: how the loads stood when they were committed. before: the parts that were live until
    then; a log that has only grown changes nothing of the days that it has no more of.
    """
    found = Counter[str]()
    for load, stand in zip(loads, standings, strict=True):
        if stand.already:
            continue
        for part in load.parts:
            found[str(part.day)] += part.streams if is_late(part) else 0
        unchanged = {old.load_id for old in stand.replaces if same_way(old, load.provenance)}
        for part in before:
            if part.load_id in unchanged:
                found[str(part.day)] -= part.streams
    return +found
