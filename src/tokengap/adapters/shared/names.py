"""Request ids where a log may lack one, or give one twice."""

from collections.abc import Sequence
from itertools import compress

import numpy as np

from tokengap.adapters.deliveries import Bools, Ints


class Names:
    """Gives the requests of one run their ids, each only once: a row's key must be unique.

    A server that does not count its answers sends the same id with each of them.
    """

    def __init__(self) -> None:
        self._given: set[str] = set()

    def name(self, logged: str | None, index: int) -> str:
        """Return the logged id; where it is missing, the index; where it is taken, both."""
        name = logged or str(index)
        if name in self._given:
            name = f"{name}#{index}"
        self._given.add(name)
        return name

    def names(
        self, logged: Sequence[str | None], indices: Ints, good: Bools
    ) -> Sequence[str | None] | None:
        """Return the ids of many requests, None if they are the logged ones.

        A request that is not `good` takes none.
        """
        takers = [name or "" for name in compress(logged, good.tolist())]
        fresh = set(takers)
        if all(takers) and len(fresh) == len(takers) and self._given.isdisjoint(fresh):
            self._given |= fresh
            return None
        rows = zip(logged, indices.tolist(), good.tolist(), strict=True)
        return [self.name(text, at) if ok else None for text, at, ok in rows]


class Attempts:
    """Numbers requests whose id comes again, in the file's order."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}  # grows with the file

    def numbers(self, names: Sequence[str], good: Bools) -> Ints:
        """Return how often each name came before; where it is not `good`, it does not count."""
        before = np.zeros(len(names), np.int64)
        fresh = dict.fromkeys(compress(names, good.tolist()), 1)
        if len(fresh) == good.sum() and self._seen.keys().isdisjoint(fresh):
            self._seen |= fresh
            return before
        for row in np.flatnonzero(good).tolist():
            before[row] = self._seen.get(names[row], 0)
            self._seen[names[row]] = before[row] + 1
        return before
