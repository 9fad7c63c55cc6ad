"""A monotonic clock beside the wall clock of the same host."""

from collections.abc import Sequence
from math import ceil
from typing import Final

import numpy as np

from tokengap.adapters.interface import Clock

SHARE_HELD: Final = 0.9


def beside_wall(
    clock: str, source_id: str, wall_ahead_ns: Sequence[int], pairs: str
) -> Clock | None:
    """Return the clock's offset to its host's wall clock; None without a pair of readings.

    wall_ahead_ns: wall minus monotonic, in ns, of pairs read one right after the other. A process
    that is descheduled between the two readings spoils its pair, so the median counts, and the
    uncertainty holds nine pairs of ten. `pairs` says which readings they are.
    """
    if not len(wall_ahead_ns):
        return None
    ahead_ns = np.sort(np.asarray(wall_ahead_ns, np.int64))
    median_ns = ahead_ns[(len(ahead_ns) - 1) // 2]
    later = ahead_ns >= median_ns
    apart_ns = np.where(later, ahead_ns - median_ns, median_ns - ahead_ns).view(np.uint64)
    apart_ns.sort()
    return Clock(
        id=clock,
        reference=f"{clock}:wall",
        offset_ns=-int(median_ns),
        uncertainty_ns=int(apart_ns[ceil(SHARE_HELD * len(apart_ns)) - 1]),
        how=f"median of {len(wall_ahead_ns)} pairs {pairs}; 90 % of them lie within",
        source=source_id,
    )
