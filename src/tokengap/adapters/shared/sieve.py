"""Which rows of a table can be used, and why the others cannot."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.cells import Cells, shown
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.source import Line, Source

_GOOD: Final = -1
_PASSED_OVER: Final = -2


class Sieve:
    """Rows of one piece of a table; of several reasons against a row the first one counts."""

    def __init__(self, rows: int) -> None:
        self._why = np.full(rows, _GOOD, np.int32)
        self._reasons: list[tuple[str, str | None, object]] = []

    @property
    def good(self) -> Bools:
        """Rows that nothing speaks against so far."""
        good: Bools = self._why == _GOOD
        return good

    def refuse(self, rows: Bools, reason: str, name: str, column: pa.Array | None = None) -> None:
        """Rows that cannot be used for what their cell in the named column holds."""
        self.put_aside(rows, f"{name}: {reason}", name, column)

    def put_aside(
        self, rows: Bools, reason: str, name: str | None = None, column: pa.Array | None = None
    ) -> None:
        """Rows that cannot be used, for any reason."""
        if rows.any() and (new := rows & self.good).any():
            self._why[new] = len(self._reasons)
            self._reasons.append((reason, name, column))

    def refuse_one(self, row: int, error: LineError) -> None:
        """A row that cannot be used for this."""
        if self._why[row] == _GOOD:
            self._why[row] = len(self._reasons)
            self._reasons.append((error.reason, error.field, error.value))

    def pass_over(self, rows: Bools) -> None:
        """Rows that say nothing of what is looked for, which is no fault of theirs."""
        self._why[rows & self.good] = _PASSED_OVER

    def checked(
        self, cells: Cells, expected: str, name: str, column: pa.Array, *, required: bool = True
    ) -> Cells:
        """The cells; refuses rows where they cannot be read, or are missing though `required`."""
        self.refuse(cells.bad, f"{expected} expected", name, column)
        if required:
            self.refuse(~cells.there, "missing", name)
        return cells

    def report(self, source: Source, place: Callable[[int], Line | int], intake: Intake) -> None:
        """Quarantine the refused rows; `place` says where a row stands."""
        for row in np.flatnonzero(self._why > _GOOD).tolist():
            reason, name, value = self._reasons[self._why[row]]
            if isinstance(value, pa.Array):
                value = shown(value, row)
            intake.reject(source, place(row), reason, name, value)
