"""What the stamps of one request say of themselves: which are unset, and which cannot be."""

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.shared.lines import time_ns

SENTINEL_DROPPED: Final = "sentinel_dropped"
CLOCK_CONTRADICTION: Final = "clock_contradiction"


def after_ns(start_ns: int | None, lasted_ns: int | None, field: str) -> int | None:
    """Return the end of a duration; None without either; LineError beyond `TIME_LIMIT_NS`."""
    if start_ns is None or lasted_ns is None:
        return None
    return time_ns(start_ns + lasted_ns, field)


def any_unset(logged: Sequence[pa.Array]) -> pa.Array:
    """Where one of a row's stamps is 0, and so was never set."""
    return reduce(pc.or_, (pc.fill_null(pc.equal(column, 0), False) for column in logged))


def out_of_order(in_order_ns: Sequence[pa.Array]) -> pa.Array:
    """Where a row's stamps, NULL if unknown, break the order in which they are given."""
    latest_ns = [*accumulate(in_order_ns, pc.max_element_wise)]
    earlier = map(pc.less, in_order_ns[1:], latest_ns)
    return reduce(pc.or_, (pc.fill_null(each, False) for each in earlier))
