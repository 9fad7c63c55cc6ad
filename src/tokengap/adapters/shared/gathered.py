"""Answers that a log holds in several records: their parts, side by side once they have ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.columns import is_true

_ANSWER = "answer"


@dataclass(frozen=True)
class Gathered:
    """Parts of whole answers; answer a has `offsets[a]:offsets[a + 1]`, one at least."""

    parts: pa.RecordBatch
    offsets: Ints

    def __len__(self) -> int:
        """Number of answers."""
        return len(self.offsets) - 1

    def __getitem__(self, name: str) -> pa.Array:
        """A column of the parts."""
        return self.parts.column(name)

    def where(self, name: str) -> Bools:
        """Parts of which a column is true."""
        return is_true(self[name])

    @cached_property
    def firsts(self) -> Ints:
        """The first part of each answer."""
        return self.offsets[:-1]

    @cached_property
    def sizes(self) -> Ints:
        """Parts of each answer."""
        return np.diff(self.offsets)

    def count(self, where: Bools) -> Ints:
        """How many parts of each answer are marked."""
        counts: Ints = np.add.reduceat(where, self.firsts, dtype=np.int64)
        return counts

    def last(self, where: Bools) -> pa.Array:
        """The last part of each answer that is marked; NULL if there is none."""
        marked = np.where(where, np.arange(len(where)), -1)
        last = np.maximum.reduceat(marked, self.firsts)
        return pa.array(last, mask=last < 0)

    def first(self, where: Bools) -> pa.Array:
        """The first part of each answer that is marked; NULL if there is none."""
        marked = np.where(where, np.arange(len(where)), len(where))
        first = np.minimum.reduceat(marked, self.firsts)
        return pa.array(first, mask=first == len(where))


class Gathering:
    """Holds parts of answers until these have ended."""

    def __init__(self) -> None:
        self._held: pa.Table | None = None

    def add(self, parts: Mapping[str, pa.Array], answers: Sequence[int]) -> None:
        """Add parts in their order. answers: the number of each one's; -1 to leave it out."""
        table = pa.table({**parts, _ANSWER: pa.array(answers, pa.int64())})
        self._held = table if self._held is None else pa.concat_tables([self._held, table])

    def take(self, ended: Sequence[int]) -> Gathered | None:
        """Return the answers that ended, in this order; None if there are none."""
        if self._held is None or not ended:
            return None
        answer, ends = self._held.column(_ANSWER).to_numpy(), np.array(ended, np.int64)
        rank = _ranks(answer, ends)
        whole = np.flatnonzero(rank >= 0)
        order = whole[np.argsort(rank[whole], kind="stable")]
        sizes = np.bincount(rank[whole], minlength=len(ends))
        (parts,) = self._held.take(pa.array(order)).combine_chunks().to_batches()
        self._held = self._held.filter(pa.array((rank < 0) & (answer >= 0)))
        return Gathered(parts, np.concatenate(([0], np.cumsum(sizes))))


def _ranks(answer: Ints, ended: Ints) -> Ints:
    """Which of those that ended each of these is; -1 for others."""
    order = np.argsort(ended)
    at = order[np.minimum(np.searchsorted(ended, answer, sorter=order), len(ended) - 1)]
    ranks: Ints = np.where(ended[at] == answer, at, -1)
    return ranks
