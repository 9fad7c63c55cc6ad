"""Answers of which a part was seen and the end, which alone has the times, was not."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.interface import Intake
from tokengap.adapters.source import Line, Source


class Unfinished:
    """The answers of one file that have begun."""

    def __init__(self) -> None:
        self._seen: dict[str, Line | int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether all that began have ended."""
        return not self._seen

    def note(
        self, answers: pa.Array, parts: pa.Array, ends: pa.Array, place: Callable[[int], Line | int]
    ) -> None:
        """Note where a row is a part of an answer, or its end; `place` says where it stands."""
        rows = zip(
            pc.fill_null(answers, "").to_pylist(), parts.to_pylist(), ends.to_pylist(), strict=True
        )
        for row, (answer, is_part, is_end) in enumerate(rows):
            if is_end:
                self._seen.pop(answer, None)
            elif is_part and answer not in self._seen:
                self._seen[answer] = place(row)

    def report(self, source: Source, intake: Intake, reason: str) -> None:
        """Quarantine the first part of each answer that never ended."""
        for answer, place in self._seen.items():
            intake.reject(source, place, reason, "id", answer)
