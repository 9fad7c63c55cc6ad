"""A link that its transfers share fairly: each of n gets 1/n of the bandwidth.

All transfers of a link have been served the same number of bytes since any of them joined. So a
transfer is over when what each has been served, counted from the link's beginning, reaches what it
was when it joined plus its size: a heap holds these, and a change of the number of transfers moves
none of them.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import Final

from tokengap.replay.request import Request

MS_PER_S: Final = 1000.0
_DONE_SHARE: Final = 1e-12  # of all bytes served: what adding up leaves over


@dataclass(slots=True)
class Transfer:
    """A cache on its way."""

    request: Request
    ends_at_bytes: float
    """Of what each transfer has been served."""
    is_off: bool = False


@dataclass
class Link:
    """Times in ms; the bandwidth may change."""

    bandwidth_bytes_per_ms: float
    now_ms: float = 0.0
    served_bytes: float = 0.0
    """Each transfer's share since the beginning."""
    active: int = 0
    heap: list[tuple[float, int, Transfer]] = field(default_factory=list)
    joined: int = 0

    def start(self, request: Request, size_bytes: float, now_ms: float) -> Transfer:
        """Begin to send."""
        self._pass(now_ms)
        transfer = Transfer(request, self.served_bytes + size_bytes)
        self.joined += 1
        self.active += 1
        heappush(self.heap, (transfer.ends_at_bytes, self.joined, transfer))
        return transfer

    def stop(self, transfer: Transfer, now_ms: float) -> float:
        """Break off; the bytes that are left."""
        self._pass(now_ms)
        transfer.is_off = True
        self.active -= 1
        return max(0.0, transfer.ends_at_bytes - self.served_bytes)

    def change(self, bandwidth_bytes_per_ms: float, now_ms: float) -> None:
        """From now on, another bandwidth."""
        self._pass(now_ms)
        self.bandwidth_bytes_per_ms = bandwidth_bytes_per_ms

    def next_ms(self) -> float:
        """When the next transfer is over, if nothing changes; infinite without one."""
        self._drop_off()
        if not self.heap:
            return inf
        left_bytes = max(0.0, self.heap[0][0] - self.served_bytes)
        return self.now_ms + left_bytes * self.active / self.bandwidth_bytes_per_ms

    def take(self, now_ms: float) -> list[Transfer]:
        """Transfers that are over at a time that `next_ms` gave."""
        self._pass(now_ms)
        over: list[Transfer] = []
        self._drop_off()
        if self.heap:  # the first one is over: adding up may leave a rest of it
            self.served_bytes = max(self.served_bytes, self.heap[0][0])
        slack = self.served_bytes * _DONE_SHARE
        while self.heap and self.heap[0][0] <= self.served_bytes + slack:
            over.append(heappop(self.heap)[2])
            self.active -= 1
            self._drop_off()
        return over

    def _pass(self, now_ms: float) -> None:
        if self.active:
            passed_ms = now_ms - self.now_ms
            self.served_bytes += passed_ms * self.bandwidth_bytes_per_ms / self.active
        self.now_ms = now_ms

    def _drop_off(self) -> None:
        while self.heap and self.heap[0][2].is_off:
            heappop(self.heap)


def exposed_bytes(
    size_bytes: float, prefill_ms: float, layers: int, bandwidth_bytes_per_ms: float
) -> float:
    """What is left to send when the prefill ends, if each of equal layers is sent once computed.

    The link is taken to be idle until then. The hidden part is that of `handoff.LayerOverlap`:
    (layers - 1) / layers of the prefill or of the transfer, whichever is shorter.

    >>> exposed_bytes(80.0, prefill_ms=40.0, layers=4, bandwidth_bytes_per_ms=1.0)
    50.0
    """
    transfer_ms = size_bytes / bandwidth_bytes_per_ms
    hidden_ms = (layers - 1) / layers * min(prefill_ms, transfer_ms)
    return (transfer_ms - hidden_ms) * bandwidth_bytes_per_ms
