"""Which answer each chunk belongs to, and when one has ended."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.columns import Columns
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.losses import Losses
from tokengap.adapters.source import Line, Source

NO_TIMINGS: Final = "an answer without timings: ask for `timings_per_token`, or keep its last chunk"

_AT_THE_END: Final = 2**62

Key = tuple[str, int]


class Chunk(msgspec.Struct, gc=False):
    """What tells where a chunk belongs. made: tokens so far, -1 if not told; lasted: since when."""

    row: int
    number: int
    key: Key
    made: int
    lasted: bool
    ends: bool
    timed: bool
    stops: bool


class Answer(msgspec.Struct, gc=False):
    """An answer that is open, and the row of its first chunk, or its place where that is kept."""

    number: int
    row: int
    place: Line | int | None = None
    made: int = 0
    is_timed: bool = False
    is_over: bool = False


@dataclass
class Found:
    """The answer of each chunk, -1 if it has none, and the rows in which a total grew.

    ended: answers, and by which record it was known of each.
    """

    answers: list[int] = field(default_factory=list)
    grew: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class Answers:
    """The answers of one file: those that are open, and the ids of those that were."""

    def __init__(self, source: Source, intake: Intake) -> None:
        self._source = source
        self._intake = intake
        self._open: dict[Key, Answer] = {}
        self._ended: set[Key] = set()
        self._begun = 0
        self._losses = Losses()
        self._place: Callable[[int], Line | int] = int

    def assign(self, chunks: Columns, columns: Mapping[str, pa.Array]) -> Found:
        """Take the chunks in their order; refuses those that cannot follow."""
        found = Found()
        self._place = chunks.place
        found.answers = [self._take(chunk, chunks, found) for chunk in _chunks(chunks, columns)]
        self._losses.note(chunks)
        for answer in self._open.values():
            if answer.place is None and not answer.is_timed:
                answer.place = self._place(answer.row)
        return found

    def rest(self) -> Found:
        """End all answers."""
        found = Found()
        self._close(list(self._open), _AT_THE_END, found)
        return found

    def lost(self, begins: Ints, ends: Sequence[int]) -> Bools:
        """Whether a chunk was lost that may have been an answer's."""
        return self._losses.between(begins, ends)

    def _take(self, chunk: Chunk, chunks: Columns, found: Found) -> int:
        """Add a chunk to its answer, whose number this is; -1 if that has ended."""
        key = chunk.key
        if key in self._ended:
            reason = "belongs to an answer that has ended"
            chunks.sieve.refuse_one(chunk.row, LineError(reason, "id", key[0]))
            return -1
        answer = self._open.get(key)
        if answer and not key[0] and 0 <= chunk.made < answer.made:
            self._close([key], chunk.number, found)  # begins anew, where no id tells
            answer = None
        answer = answer or self._begin(chunk, found)
        if chunk.ends:
            answer.is_over = True
        if chunk.timed and 0 <= chunk.made < answer.made:
            reason = "timings.predicted_n: less than in an earlier chunk"
            chunks.sieve.refuse_one(chunk.row, LineError(reason, "predicted_n", chunk.made))
            return answer.number
        if chunk.timed:
            answer.is_timed = True
            if chunk.made > answer.made and chunk.lasted:
                answer.made = chunk.made
                found.grew.append(chunk.row)
        if chunk.stops:
            self._close([key], chunk.number, found)
        return answer.number

    def _begin(self, chunk: Chunk, found: Found) -> Answer:
        if over := [key for key, answer in self._open.items() if answer.is_over]:
            self._close(over, chunk.number, found)
        answer = self._open[chunk.key] = Answer(self._begun, chunk.row)
        self._begun += 1
        return answer

    def _close(self, keys: Iterable[Key], number: int, found: Found) -> None:
        for key in keys:
            answer = self._open.pop(key)
            found.ended.append(answer.number)
            found.ends.append(number)
            if key[0]:
                self._ended.add(key)
            if not answer.is_timed:
                place = self._place(answer.row) if answer.place is None else answer.place
                self._intake.reject(self._source, place, NO_TIMINGS, "timings")


def _chunks(chunks: Columns, columns: Mapping[str, pa.Array]) -> Iterator[Chunk]:
    """Read of each what is needed here; one that was refused adds no totals and ends nothing."""
    good = pa.array(chunks.sieve.good)
    return map(
        Chunk,
        range(len(chunks)),
        chunks.numbers.tolist(),
        zip(
            pc.fill_null(columns["id"], "").to_pylist(), columns["choice"].to_pylist(), strict=True
        ),
        pc.fill_null(columns["predicted_n"], -1).to_pylist(),
        pc.is_valid(columns["lasted_ns"]).to_pylist(),
        columns["ends"].to_pylist(),
        pc.and_(columns["timed"], good).to_pylist(),
        pc.and_(columns["stops"], good).to_pylist(),
    )
