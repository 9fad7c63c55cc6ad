"""Does a queue grow without end? Looked at some times during a replay.

A queue that a burst has filled empties again. One that grows for ever has, at some time, more
requests at its least than it ever had some time before: the looks so far are cut in three, and the
least of the last third is compared with the most of the middle one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

import numpy as np

from tokengap.replay.cluster import Cluster
from tokengap.replay.request import Request
from tokengap.replay.workload import MS_PER_S

LOOKS: Final = 64
FIRST_LOOKS: Final = 24
GROWTH_SHARE: Final = 0.05
"""Of the requests that arrived in the last third, as many must have been left over."""
GROWTH_REQUESTS: Final = 32
EARLIEST: Final = 16
SETTLING: Final = 4
"""A system fills until its first requests are due to end. A third of the looks must last so many
times as long as the earliest of them would take alone."""


@dataclass
class Queues:
    """How many requests each pool holds at each look."""

    at_ms: list[float] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    prefill: list[int] = field(default_factory=list)
    """That wait for a prefill, or are in one."""
    decode: list[int] = field(default_factory=list)
    """That wait for room at a decode worker, or decode."""
    is_unstable: bool = False
    alone_ms: float = 0.0
    """Mean time of the earliest requests, if nobody else were there."""

    def look(self, cluster: Cluster, requests: Sequence[Request], arrived: int) -> bool:
        """Count; whether one grows without end."""
        if not self.at_ms:
            self.alone_ms = fmean(map(cluster.alone_ms, requests[:EARLIEST]))
        prefill, decode = cluster.counts()
        self.at_ms.append(cluster.loop.now_ms)
        self.arrived.append(arrived)
        self.prefill.append(prefill)
        self.decode.append(decode)
        grows = diverges(self.arrived, self.prefill) or diverges(self.arrived, self.decode)
        self.is_unstable = self.is_unstable or (grows and self._has_settled())
        return self.is_unstable

    def _has_settled(self) -> bool:
        third_ms = self.at_ms[-1] - self.at_ms[-(len(self.at_ms) // 3) - 1]
        return third_ms > SETTLING * self.alone_ms

    def growth_per_s(self) -> dict[str, float | None]:
        """Requests by which each queue grows in a second, over the second half; None if not seen.

        The slope of the least squares.
        """
        half = len(self.at_ms) // 2
        at_s = np.array(self.at_ms[half:]) / MS_PER_S
        spread = at_s - at_s.mean() if len(at_s) else at_s
        weight = float(spread @ spread)
        return {
            name: float(spread @ np.array(counts[half:])) / weight if weight > 0 else None
            for name, counts in (("prefill", self.prefill), ("decode", self.decode))
        }


def diverges(arrived: Sequence[int], counts: Sequence[int]) -> bool:
    """Whether a queue that was counted so many times grows for ever.

    >>> diverges(range(0, 3000, 100), range(0, 1500, 50))
    True
    >>> diverges(range(0, 3000, 100), [0, 300] * 15)
    False
    """
    if len(counts) < FIRST_LOOKS:
        return False
    third = len(counts) // 3
    if min(counts[-third:]) <= max(counts[-2 * third : -third]):
        return False
    growth, came = (seen[-1] - seen[-third - 1] for seen in (counts, arrived))
    return growth >= GROWTH_REQUESTS and growth > GROWTH_SHARE * came
