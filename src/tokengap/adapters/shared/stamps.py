"""What the stamps of one request say of themselves: which are unset, and which cannot be."""

from collections.abc import Container, Iterable, Sequence
from functools import reduce
from itertools import accumulate
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.shared.lines import time_ns
from tokengap.adapters.shared.seconds import seconds_ns

SENTINEL_DROPPED: Final = "sentinel_dropped"
CLOCK_CONTRADICTION: Final = "clock_contradiction"


def set_seconds_ns(seconds: float | None, field: str) -> int | None:
    """Return a stamp in seconds as ns; None where it is missing, or 0: never set."""
    return None if not seconds else seconds_ns(seconds, field)


def after_ns(start_ns: int | None, lasted_ns: int | None, field: str) -> int | None:
    """Return the end of a duration; None without either; LineError beyond `TIME_LIMIT_NS`."""
    if start_ns is None or lasted_ns is None:
        return None
    return time_ns(start_ns + lasted_ns, field)


def stamp_notes(logged: Container[float | None], in_order_ns: Iterable[int | None]) -> list[str]:
    """Quality notes on stamps: some are 0 and so were never set; those that are break their order.

    logged: as the file has them. in_order_ns: those that must follow each other, None if unknown.
    """
    notes = [SENTINEL_DROPPED] if 0 in logged else []
    known = [t_ns for t_ns in in_order_ns if t_ns is not None]
    if known != sorted(known):
        notes.append(CLOCK_CONTRADICTION)
    return notes


def any_unset(logged: Sequence[pa.Array]) -> pa.Array:
    """Where one of a row's stamps is 0: never set. `stamp_notes` says so of one row."""
    return reduce(pc.or_, (pc.fill_null(pc.equal(column, 0), False) for column in logged))


def out_of_order(in_order_ns: Sequence[pa.Array]) -> pa.Array:
    """Where a row's stamps, NULL if unknown, break their order; as `stamp_notes` of one row."""
    latest_ns = [*accumulate(in_order_ns, pc.max_element_wise)]
    earlier = map(pc.less, in_order_ns[1:], latest_ns)
    return reduce(pc.or_, (pc.fill_null(each, False) for each in earlier))
