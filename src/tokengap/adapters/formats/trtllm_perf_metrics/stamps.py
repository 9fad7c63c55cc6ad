"""Stamps of records as ns, and which records hold a placeholder for one that is missing."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.columns import Columns, is_true, unless
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.seconds import seconds_column
from tokengap.adapters.shared.sieve import Sieve


class Stamps:
    """Reads stamps in seconds of a steady clock. dropped: where any was a placeholder."""

    def __init__(self, sieve: Sieve) -> None:
        self._sieve = sieve
        self.dropped = ~sieve.good

    def ns(self, part: Columns, name: str) -> pa.Array:
        """Return a field's stamps; NULL where one is missing, or not after the clock's start."""
        seconds, unset = _set(part[name])
        self.dropped |= unset
        return part.seconds_ns(seconds, name)

    def of_many(self, seconds: pa.Array, name: str, owners: Ints) -> Ints:
        """Do as `ns` for stamps of which a record has many, 0 where there is none.

        owners: the record that each one is of.
        """
        seconds, unset = _set(seconds)
        self.dropped[owners[unset]] = True
        ns, bad = seconds_column(seconds)
        for at in np.flatnonzero(bad).tolist():
            error = LineError(f"{name}: seconds expected", name, seconds[at].as_py())
            self._sieve.refuse_one(owners[at], error)
        values: Ints = pc.fill_null(ns, 0).to_numpy()
        return values


def _set(seconds: pa.Array) -> tuple[pa.Array, Bools]:
    unset = pc.fill_null(pc.less_equal(seconds, 0), False)
    return unless(unset, seconds), is_true(unset)
