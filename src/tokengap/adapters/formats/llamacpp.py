"""llama.cpp server answers with `timings`: bodies, or chunks of streams, JSON or JSONL.

Timings are durations of the server's monotonic clock: each answer stands on a clock of its own,
which begins when its prompt began to be processed. The wait before that is not known, so TTFT is
not either. The first token is made when `prompt_ms` is over; `predicted_ms` runs from there. With
`timings_per_token` every chunk has the totals so far, and their differences are the gaps at the
engine. Else only the end of an answer has them, and no gap is known. `prompt_n` leaves cached
tokens out. Values are null or NaN where a count is 0.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isfinite
from typing import Final

import msgspec
import pyarrow as pa

from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff
from tokengap.adapters.rows import Stream, record_batches, reported, stage
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.record_files import read_records
from tokengap.adapters.shared.records import Records
from tokengap.adapters.shared.seconds import ms_ns
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED, after_ns
from tokengap.adapters.source import Source

EXPECTED: Final = "answers of llama.cpp's server, which have `timings`"
NO_TIMINGS: Final = "an answer without timings: ask for `timings_per_token`, or keep its last chunk"
TIMES: Final = ("predicted_ms", "prompt_ms", "predicted_per_token_ms")
TPOT_FORMULA: Final = "llama.cpp: predicted_ms / predicted_n"


class Timings(msgspec.Struct, gc=False):
    """Totals of an answer so far; ms."""

    cache_n: Count | None = None
    prompt_n: Count | None = None
    prompt_ms: float | None = None
    predicted_n: Count | None = None
    predicted_ms: float | None = None
    predicted_per_token_ms: float | None = None

    def ns(self, name: str) -> int | None:
        """Return one of the times; None where it is null or NaN."""
        ms = getattr(self, name)
        return None if ms is None or not isfinite(ms) else ms_ns(ms, f"timings.{name}")

    @property
    def prompt_tokens(self) -> int | None:
        """Cached tokens and processed ones; None where an older server leaves one out."""
        if self.cache_n is None or self.prompt_n is None:
            return None
        return self.cache_n + self.prompt_n


class Choice(msgspec.Struct, gc=False):
    """Only how far it is."""

    index: Count = 0
    finish_reason: str | None = None


class Usage(msgspec.Struct, gc=False):
    """Token counts of an answer in OpenAI's form."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None


class Chunk(msgspec.Struct, gc=False):
    """One body, or one chunk. Native ones have no id, and `stop` at their end."""

    id: str | None = None
    model: str | None = None
    choices: list[Choice] = []
    usage: Usage | None = None
    timings: Timings | None = None
    stop: bool | None = None
    stop_type: str | None = None

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended; None where it goes on."""
        if self.stop:
            return self.stop_type or "stop"
        return self.choices[0].finish_reason if self.choices else None

    @property
    def is_end(self) -> bool:
        """Whether the answer is over; in a stream, what may follow is a chunk without choices."""
        is_usage = self.id is not None and not self.choices and self.timings is not None
        return is_usage or self.finish_reason is not None

    @property
    def answer(self) -> tuple[str, int]:
        """Id and index of the answer it belongs to."""
        return self.id or "", self.choices[0].index if self.choices else 0


RECORDS: Final = Records(Chunk, non_finite=True)


class Llamacpp:
    """Reads stored answers of llama.cpp's server."""

    name = "llamacpp"
    version = 1
    about = About(
        reads="llama.cpp server answers with `timings`, JSON or JSONL",
        vantage="engine",
        granularity="chunk; token where counts prove it; aggregate without timings_per_token",
        clock="durations in ms",
        ttft="no",
        worst_gap="yes, with timings_per_token; else bounds",
        handoff="no",
        checked=FROM_DOCUMENTATION,
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """An answer, and llama.cpp's timings somewhere in it."""
        wanted = ("timings", "prompt_ms", "predicted_ms")
        missing = tuple(name for name in wanted if f'"{name}"'.encode() not in head.data)
        answers = head.keys & {"choices", "content", "timings"}
        return Sniff(("choices|content|timings", *wanted), missing if answers else wanted)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per answer and choice."""
        for source in sources:
            yield from record_batches(_Answers(source, intake).streams(), intake.trace)


class _Answers:
    """The answers of one file: those that are open, and the ids of those that were."""

    def __init__(self, source: Source, intake: Intake) -> None:
        self._source = source
        self._intake = intake
        self._open: dict[tuple[str, int], _Answer] = {}
        self._ended: set[tuple[str, int]] = set()

    def streams(self) -> Iterator[Stream]:
        """Yield each answer when another begins after its end, and the rest at the file's end."""
        source_id = self._intake.source_id(self._source)
        for record, data in read_records(self._source, EXPECTED):
            try:
                yield from self._take(RECORDS.decode(data), Place(source_id, record))
            except LineError as error:
                self._intake.reject(self._source, record, error.reason, error.field, error.value)
                for answer in self._open.values():  # the chunk may have been any of theirs
                    answer.quality.add("events_lost")
        yield from self._close(list(self._open))

    def _take(self, chunk: Chunk, place: Place) -> Iterator[Stream]:
        key = chunk.answer
        if key in self._ended:
            raise LineError("belongs to an answer that has ended", "id", key[0])
        if key in self._open and not chunk.id and self._open[key].is_older_than(chunk):
            yield from self._close([key])
        if key not in self._open:
            yield from self._close([key for key, answer in self._open.items() if answer.is_over])
            self._open[key] = _Answer(place, *key)
        self._open[key].add(chunk)
        if chunk.stop:
            yield from self._close([key])

    def _close(self, keys: list[tuple[str, int]]) -> Iterator[Stream]:
        self._ended.update(key for key in keys if key[0])
        for key in keys:
            answer = self._open.pop(key)
            if answer.timings is None:
                self._intake.reject(self._source, answer.place.record, NO_TIMINGS, "timings")
            else:
                yield answer.stream(answer.timings)


class _Answer:
    """One answer, as far as it was seen: totals by the chunks that have them."""

    def __init__(self, place: Place, answer_id: str, choice: int) -> None:
        self.place = place
        self._id = answer_id
        self._choice = choice
        self._totals: list[tuple[int, int]] = []
        self._model: str | None = None
        self._usage = Usage()
        self.quality: set[str] = set()
        self._finish_reason: str | None = None
        self.timings: Timings | None = None
        self.is_over = False

    def is_older_than(self, chunk: Chunk) -> bool:
        """Tell by its totals a chunk that begins anew, where no id does."""
        made = None if chunk.timings is None else chunk.timings.predicted_n
        return bool(self._totals) and made is not None and made < self._totals[-1][0]

    def add(self, chunk: Chunk) -> None:
        """Add a chunk; LineError if its totals cannot follow those before."""
        self._model = chunk.model or self._model
        self._usage = chunk.usage or self._usage
        self._finish_reason = chunk.finish_reason or self._finish_reason
        self.is_over = self.is_over or chunk.is_end
        if chunk.timings is not None:
            self._add_totals(chunk.timings)

    def _add_totals(self, timings: Timings) -> None:
        made, (lasted_ns, prompt_ns, _) = timings.predicted_n, map(timings.ns, TIMES)
        after_ns(prompt_ns, lasted_ns, "timings.predicted_ms")
        known = self._totals[-1][0] if self._totals else 0
        if made is not None and made < known:
            raise LineError(
                "timings.predicted_n: less than in an earlier chunk", "predicted_n", made
            )
        self.timings = timings
        if lasted_ns is None or prompt_ns is None:
            self.quality.add(SENTINEL_DROPPED)
        if made is not None and lasted_ns is not None and made > known:
            self._totals.append((made, lasted_ns))

    def stream(self, timings: Timings) -> Stream:
        """Make the row; timings: the last ones."""
        prompt_ns, clock = timings.ns("prompt_ms"), self.place.text
        total = timings.predicted_n
        if total is None:
            total = self._usage.completion_tokens
        stream = Stream(
            request_id=self._id or str(self.place.number),
            choice=self._choice,
            source=self.place.text,
            status="completed" if self.is_over else "truncated",
            finish_reason=self._finish_reason,
            clock=clock,
            clock_kind="monotonic",
            vantage="engine",
            ids={"sse_id": self._id} if self._id else {},
            model=self._model,
            prompt_tokens=timings.prompt_tokens or self._usage.prompt_tokens,
            cached_prompt_tokens=timings.cache_n,
            total_tokens=total,
            total_source=None if total is None else "usage",
            stages=[] if prompt_ns is None else [stage("prefill", 0, prompt_ns, clock=clock)],
            quality=sorted(self.quality),
        )
        mean_ns = timings.ns("predicted_per_token_ms")
        if mean_ns is not None:
            stream.reported = [reported("tpot", mean_ns, TPOT_FORMULA)]
        self._fill_times(stream, prompt_ns)
        return stream

    def _fill_times(self, stream: Stream, prompt_ns: int | None) -> None:
        """Place the tokens; totals that were told only once tell the first and the last."""
        if len(self._totals) > 1:
            begun = [(0, 0), *self._totals]
            stream.times_ns = [(prompt_ns or 0) + lasted_ns for _, lasted_ns in self._totals]
            stream.counts = [after - before for (before, _), (after, _) in pairwise(begun)]
            stream.counts_source = "usage"
        elif prompt_ns is not None and self._totals:
            stream.first_ns = prompt_ns
            stream.last_token_ns = prompt_ns + self._totals[0][1]
            if self._totals[0][1] < 0:
                stream.quality.append(CLOCK_CONTRADICTION)
