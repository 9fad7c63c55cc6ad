"""Records that could not be used: each may have been a part of any answer that was open."""

from collections.abc import Sequence

import numpy as np

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.columns import Columns


class Losses:
    """Those of one file, by their numbers."""

    def __init__(self) -> None:
        self._numbers = np.zeros(0, np.int64)

    def note(self, records: Columns) -> None:
        """Note the records that could not be decoded, and those that were refused."""
        refused = records.numbers[~records.sieve.good]
        new = np.sort(np.concatenate((refused, np.array(records.undecoded, np.int64))))
        self._numbers = np.concatenate((self._numbers, new))

    def between(self, begins: Ints, ends: Sequence[int]) -> Bools:
        """Where one was lost from the record with which an answer began until it had ended."""
        lost: Bools = np.searchsorted(self._numbers, begins) < np.searchsorted(self._numbers, ends)
        return lost
