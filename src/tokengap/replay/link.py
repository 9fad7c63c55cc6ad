"""A link that its transfers share fairly: each of n gets 1/n of the bandwidth.

All transfers of a link have been served the same number of bytes since any of them joined. So a
transfer is over when what each has been served reaches what it was when it joined plus its size: a
heap holds these sums, and a change of the number of transfers moves none of them.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import Final

from tokengap.replay.request import Request

_DONE_SHARE: Final = 1e-12  # of all bytes served: what adding up leaves over


@dataclass
class Link:
    """Times in ms; the bandwidth may change. A transfer is known by its request and its turn."""

    bandwidth_bytes_per_ms: float
    now_ms: float = 0.0
    served_bytes: float = 0.0
    """Each transfer's share since the link was last idle."""
    active: int = 0
    heap: list[tuple[float, int, int, Request]] = field(default_factory=list)
    """What each is served at its end, the order they came in, and the request with its turn."""
    broken_off: int = 0
    """Transfers in the heap that do not go on."""
    joined: int = 0
    turn: int = 0
    """Raised by whoever plans the next end anew, for whoever finds an earlier plan."""

    def start(self, request: Request, size_bytes: float, now_ms: float) -> float:
        """Begin to send; what the transfer has been served when it is over."""
        self._pass(now_ms)
        end_bytes = self.served_bytes + size_bytes
        self.joined += 1
        self.active += 1
        heappush(self.heap, (end_bytes, self.joined, request.turn, request))
        return end_bytes

    def stop(self, request: Request, end_bytes: float, now_ms: float) -> float:
        """Break off what `start` gave; the bytes that are left."""
        self._pass(now_ms)
        request.turn += 1
        self.active -= 1
        self.broken_off += 1
        return max(0.0, end_bytes - self.served_bytes)

    def change(self, bandwidth_bytes_per_ms: float, now_ms: float) -> None:
        """From now on, another bandwidth."""
        self._pass(now_ms)
        self.bandwidth_bytes_per_ms = bandwidth_bytes_per_ms

    def next_ms(self) -> float:
        """When the next transfer is over, if nothing changes; infinite without one."""
        if not self.active:
            return inf
        if self.broken_off:
            self._drop_broken()
        left_bytes = max(0.0, self.heap[0][0] - self.served_bytes)
        return self.now_ms + left_bytes * self.active / self.bandwidth_bytes_per_ms

    def take(self, now_ms: float) -> list[Request]:
        """Whose transfers are over at a time that `next_ms` gave."""
        self._pass(now_ms)
        heap = self.heap
        # The first one is over: adding up may leave a rest of it.
        self.served_bytes = max(self.served_bytes, heap[0][0])
        until_bytes = self.served_bytes * (1 + _DONE_SHARE)
        over: list[Request] = []
        while self.active and heap[0][0] <= until_bytes:
            over.append(heappop(heap)[3])
            self.active -= 1
            if self.broken_off:
                self._drop_broken()
        return over

    def _pass(self, now_ms: float) -> None:
        if self.active:
            passed_ms = now_ms - self.now_ms
            self.served_bytes += passed_ms * self.bandwidth_bytes_per_ms / self.active
        else:
            self.served_bytes = 0.0  # a sum that grew for ever would lose its last digits
        self.now_ms = now_ms

    def _drop_broken(self) -> None:
        """Let the first one be one that goes on."""
        heap = self.heap
        while heap and heap[0][3].turn != heap[0][2]:
            heappop(heap)
        self.broken_off = len(heap) - self.active


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
