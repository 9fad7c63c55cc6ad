"""A run beside earlier ones that a file keeps: what fails the job of a benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass

from tokengap.weekly.model import NOT_COMPARABLE, WORSE, Change


@dataclass(frozen=True)
class Against:
    """What changed since the runs of a baseline."""

    file: str
    """Where they are kept, for a reader."""
    runs: int
    """How many there are, one or more."""
    changes: Mapping[str, Change]
    """By statistic, and `good` for whole requests: the run against all of them."""

    @property
    def compares(self) -> bool:
        """Something can be compared at all."""
        return any(change.verdict != NOT_COMPARABLE for change in self.changes.values())

    @property
    def got_worse(self) -> bool:
        """Something did, beyond the noise between the runs."""
        return any(change.verdict == WORSE for change in self.changes.values())
