"""What two periods are compared by: sums over requests of like lengths that began together."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UNKNOWN_LENGTH = -2
"""Bin of requests whose number of tokens is not known."""
_NO_BLOCK: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Cells:
    """Columns of one length, a cell an entry.

    now: of the later period. block: stretch of time; the same number in both periods is the same
    time of their weeks. prompt, output: bins of lengths. finished: completed. applies, met, valued:
    requests. log_sum: over those valued, of the natural logarithm of the value.
    """

    now: Flags
    block: Counts
    prompt: Counts
    output: Counts
    finished: Flags
    applies: Numbers
    met: Numbers
    valued: Numbers
    log_sum: Numbers

    def where(self, flags: Flags) -> "Cells":
        """Only these cells."""
        return Cells(*(getattr(self, field.name)[flags] for field in fields(self)))


def joined(parts: Sequence[Cells], now: Sequence[bool]) -> Cells:
    """Several runs as one, with no block in common; now: which are of the later period.

    A run may have no cell: nothing of it had the statistic.
    """
    columns: dict[str, list[npt.NDArray[Any]]] = {field.name: [] for field in fields(Cells)}
    first = 0
    for part, later in zip(parts, now, strict=True):
        block = part.block - part.block.min(initial=_NO_BLOCK) + first
        first = int(block.max(initial=first - 1)) + 1
        own = {"now": np.full(len(block), later), "block": block}
        for name, column in columns.items():
            column.append(own.get(name, getattr(part, name)))
    return Cells(**{name: np.concatenate(column) for name, column in columns.items()})
