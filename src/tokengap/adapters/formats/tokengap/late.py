"""Lines that are good on their own and turn out bad beside others, possibly of another file."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from tokengap.adapters.interface import Intake
from tokengap.adapters.source import Source


@dataclass
class LateRejects:
    """Numbers the lines of all files of a call in one row, and quarantines some of them at the end.

    Line n of a source has the number `base + n`, where `base` is the last one of `bases` while the
    source is read.
    """

    sources: Sequence[Source]
    bases: list[int] = field(default_factory=lambda: [0])
    _found: dict[int, tuple[str, str, object]] = field(default_factory=dict)

    def __contains__(self, line: int) -> bool:
        return line in self._found

    def end_source(self, end_line: int) -> None:
        """The source just read has its lines below that number."""
        self.bases.append(self.bases[-1] + end_line)

    def refuse(self, line: int, reason: str, name: str, value: object = None) -> None:
        """Quarantine a line."""
        self._found[line] = (reason, name, value)

    def locate(self, line: int) -> tuple[int, int]:
        """Position of the line's source, and the line's number there."""
        source = bisect_right(self.bases, line - 1) - 1
        return source, line - self.bases[source]

    def place(self, line: int) -> str:
        """File and line, for a message."""
        source, number = self.locate(line)
        return f"{self.sources[source].name}:{number}"

    def report(self, intake: Intake) -> None:
        """Put all of them into `intake`; reads again the files that hold any."""
        wanted: list[dict[int, int]] = [{} for _ in self.sources]
        for line in self._found:
            source, number = self.locate(line)
            wanted[source][number] = line
        for read_again, numbers in zip(self.sources, wanted, strict=True):
            if numbers:
                self._report(intake, read_again, numbers)

    def _report(self, intake: Intake, source: Source, numbers: dict[int, int]) -> None:
        ordered = sorted(numbers)
        for block in source.blocks():
            end = block.first_line + block.data.count(b"\n") + 1
            if bisect_right(ordered, end) == bisect_right(ordered, block.first_line - 1):
                continue
            for line in block.lines():
                if line.number in numbers:
                    reason, name, value = self._found[numbers.pop(line.number)]
                    intake.reject(source, line, reason, name, value)
