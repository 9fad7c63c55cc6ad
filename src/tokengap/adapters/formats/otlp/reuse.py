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
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from tokengap.adapters.formats.otlp.shelf import Piece

RELAY_LIMIT_NS: Final = 60_000_000_000
"""No decode server is asked later than this after the prefill server's answer."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A span and its place among those of its id; run and choice are from 0."""

    piece: Piece
    run: int
    choice: int
    choices: int


_Half = list[Piece]
"""All choices of one request at one server."""


def placed(pieces: Sequence[Piece]) -> Iterator[Placed]:
    """Place spans of one id, which have the facts `role` and `process`."""
    if len(pieces) == 1:
        yield Placed(pieces[0], 0, 0, 1)
        return
    for run, request in enumerate(_requests(pieces)):
        for half in request:
            for choice, piece in enumerate(half):
                yield Placed(piece, run, choice, len(half))


def _requests(pieces: Sequence[Piece]) -> list[list[_Half]]:
    """Each request as one half, the whole of an undivided one, or two; in order of arrival."""
    by_role: dict[str | None, list[_Half]] = defaultdict(list)
    for half in _halves(pieces):
        by_role[half[0].facts["role"]].append(half)
    decodes = by_role.pop("decode", [])
    prefills = [[half] for half in by_role.get("prefill", ())]
    begun_ns = [request[0][0].start_ns for request in prefills]
    found = [[half] for role, halves in by_role.items() if role is None for half in halves]
    found += prefills
    for decode in decodes:
        at = _prefill_of(decode[0], prefills, begun_ns)
        if at is None:
            found.append([decode])
        else:
            prefills[at].append(decode)
    return sorted(found, key=lambda request: request[0][0].start_ns)


def _prefill_of(
    decode: Piece, prefills: Sequence[list[_Half]], begun_ns: Sequence[int]
) -> int | None:
    """Find the last prefill that began before and has no decode half yet.

    Where there is none, clocks may differ: the first that began before the decode half ended.
    """
    began = bisect_right(begun_ns, decode.start_ns)
    ended = bisect_right(begun_ns, decode.end_ns)
    for at in chain(range(began - 1, -1, -1), range(began, ended)):
        relay_ns = decode.start_ns - prefills[at][0][0].end_ns
        if len(prefills[at]) == 1 and relay_ns <= RELAY_LIMIT_NS:
            return at
    return None


def _halves(pieces: Sequence[Piece]) -> list[_Half]:
    same: dict[tuple[object, ...], _Half] = defaultdict(list)
    for piece in sorted(pieces, key=lambda piece: piece.start_ns):
        same[piece.facts["role"], piece.facts["process"], piece.start_ns].append(piece)
    return list(same.values())
