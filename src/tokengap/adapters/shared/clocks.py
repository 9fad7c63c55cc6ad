"""A monotonic clock beside the wall clock of the same host."""

from collections.abc import Sequence
from statistics import median_low

from tokengap.adapters.interface import Clock


def beside_wall(
    clock: str, source_id: str, wall_ahead_ns: Sequence[int], pairs: str
) -> Clock | None:
    """Return the clock's offset to its host's wall clock; None without a pair of readings.

    wall_ahead_ns: wall minus monotonic, in ns, of pairs read one right after the other. A process
    that is descheduled between the two readings spoils its pair, so the median counts, and the
    largest deviation bounds what the rest may hide. `pairs` says which readings they are.
    """
    if not wall_ahead_ns:
        return None
    median_ns = median_low(wall_ahead_ns)
    return Clock(
        id=clock,
        reference=f"{clock}:wall",
        offset_ns=-median_ns,
        uncertainty_ns=max(abs(ahead_ns - median_ns) for ahead_ns in wall_ahead_ns),
        how=f"median of {len(wall_ahead_ns)} pairs {pairs}",
        source=source_id,
    )
