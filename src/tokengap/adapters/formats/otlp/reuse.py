"""Request ids that come again in one log: choices, other runs, and the two halves.

vLLM writes one span per finished sequence, under an id that clients choose and repeat. Of spans
with one id:

- those of one process with one arrival are choices of one request, in no known order;
- the halves of a split request, one on the prefill and one on the decode server, belong together
  by time: a decode half to the last prefill half that began before it;
- later ones belong to another run, of the same servers or after a restart: vLLM logs only requests
  that finished, so a later one is no retry, and nothing relates the two.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

PREFILL: Final = "prefill"
DECODE: Final = "decode"
RELAY_LIMIT_NS: Final = 60_000_000_000
"""No decode server is asked later than this after the prefill server's answer."""


class Half(NamedTuple):
    """All choices of one request at one server, which does this half of it, if any, or the whole.

    start_ns, end_ns: of the span of the first choice.
    """

    number: int
    role: str | None
    start_ns: int
    end_ns: int


def runs(halves: Sequence[Half]) -> Iterator[tuple[int, int]]:
    """Yield the number of each half, and its run from 0; all have one id, and no two one arrival.

    Halves at one server have to be in order of arrival.
    """
    for run, request in enumerate(_requests(halves)):
        for half in request:
            yield half.number, run


def _requests(halves: Sequence[Half]) -> list[list[Half]]:
    """Each request as one half, the whole of an undivided one, or two; in order of arrival."""
    found = [[half] for half in halves if half.role != DECODE]
    prefills = [request for request in found if request[0].role == PREFILL]
    begun_ns = [request[0].start_ns for request in prefills]
    for decode in halves:
        if decode.role == DECODE:
            at = _prefill_of(decode, prefills, begun_ns)
            if at is None:
                found.append([decode])
            else:
                prefills[at].append(decode)
    return sorted(found, key=lambda request: request[0].start_ns)


def _prefill_of(
    decode: Half, prefills: Sequence[list[Half]], begun_ns: Sequence[int]
) -> int | None:
    """Find the last prefill that began before and has no decode half yet.

    Where there is none, clocks may differ: the first that began before the decode half ended.
    """
    began = bisect_right(begun_ns, decode.start_ns)
    ended = bisect_right(begun_ns, decode.end_ns)
    for at in chain(range(began - 1, -1, -1), range(began, ended)):
        relay_ns = decode.start_ns - prefills[at][0].end_ns
        if len(prefills[at]) == 1 and relay_ns <= RELAY_LIMIT_NS:
            return at
    return None
