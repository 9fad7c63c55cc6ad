"""Data of a week that was loaded long after it: earlier reports of that week lack it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime

from tokengap.adapters.source import short_digest
from tokengap.findings.audit import Row
from tokengap.store.late import is_late
from tokengap.store.records import Part
from tokengap.utc import day_of
from tokengap.weekly.model import Late


def late_of(parts: Iterable[Part], sources: Iterable[Row]) -> Sequence[Late]:
    """Each day and load that came late, with how many requests of the service.

    sources: requests by day and digest of the file they are from, as their `source` has it.
    """
    requests = Counter[tuple[str, str]]()
    for row in sources:
        requests[str(day_of(row["day"])), row["file"]] += row["requests"]
    found = []
    for part in parts:
        count = sum(requests[str(part.day), short_digest(f.sha256)] for f in part.provenance.files)
        if count and is_late(part) and part.loaded_ns is not None and part.day is not None:
            loaded = datetime.fromtimestamp(part.loaded_ns // 10**9, UTC)
            names = part.provenance.names
            found.append(Late(date.fromisoformat(part.day), count, loaded, names))
    return sorted(found, key=lambda late: (late.day, late.loaded, late.names))
