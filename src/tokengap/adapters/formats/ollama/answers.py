"""Which answer each line belongs to, and how it ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.columns import Columns
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.losses import Losses

AT_THE_END: Final = 2**62

_LINE, _END, _ERROR, _REFUSED = range(4)


@dataclass
class Found:
    """The answer of each line, -1 if it has none.

    ended: answers, and of each its model and status. ends: by which record it was known; rows: that
    of its last line, None if that was not seen.
    """

    answers: list[int] = field(default_factory=list)
    models: list[str | None] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    rows: list[int | None] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)

    def end(
        self, model: str | None, answer: int, number: int, status: str, row: int | None = None
    ) -> None:
        """Note that an answer has ended."""
        self.ended.append(answer)
        self.models.append(model)
        self.ends.append(number)
        self.rows.append(row)
        self.statuses.append(status)


class Answers:
    """The answers of one file that are open, by model."""

    def __init__(self) -> None:
        self._open: dict[str | None, int] = {}
        self._begun = 0
        self._losses = Losses()

    def assign(self, entries: Columns, usable: Bools, is_error: Bools) -> Found:
        """Take the lines in their order; refuses errors that name no answer.

        usable: lines of which the time is known; what was refused of these only ends its answer.
        """
        found = Found()
        is_end = entries["done"].to_numpy(zero_copy_only=False)
        kinds = np.select([is_error, ~usable, is_end], [_ERROR, _REFUSED, _END], _LINE)
        models = entries["model"].to_pylist()
        for row, (model, kind) in enumerate(zip(models, kinds.tolist(), strict=True)):
            if kind >= _ERROR:
                found.answers.append(-1)
                if kind == _ERROR:
                    self._fail(row, entries, found)
                continue
            answer = self._open.get(model)
            if answer is None:
                answer = self._begin(model)
            found.answers.append(answer)
            if kind == _END:
                del self._open[model]
                found.end(model, answer, int(entries.numbers[row]), "completed", row)
        self._losses.note(entries)
        return found

    def rest(self) -> Found:
        """End all answers."""
        found = Found()
        for model, answer in self._open.items():
            found.end(model, answer, AT_THE_END, "truncated")
        return found

    def lost(self, begins: Ints, ends: Sequence[int]) -> Bools:
        """Whether a line was lost that may have been an answer's."""
        return self._losses.between(begins, ends)

    def _begin(self, model: str | None) -> int:
        self._open[model] = self._begun
        self._begun += 1
        return self._open[model]

    def _fail(self, row: int, entries: Columns, found: Found) -> None:
        if len(self._open) != 1:
            reason = "an error that names no answer, where not just one is open"
            entries.sieve.refuse_one(row, LineError(reason, "error"))
            return
        model, answer = self._open.popitem()
        found.end(model, answer, int(entries.numbers[row]), "failed")
