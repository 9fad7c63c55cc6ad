"""Ollama's streamed answers, as its API sends them: JSON lines of /api/generate or /api/chat.

Every line has `created_at`, wall time at which Ollama's server had the chunk from its runner; the
server is an API frontend, so the vantage is `gateway`. Lines name no request: one with
`done: true` ends the answer, and answers of two models may be mixed, those of one may not. An
answer that came whole is one line.

The last line has durations of the monotonic clock. `total_duration` ends as that line is made, so
the answer's beginning could be worked out from it, but on another clock: if the wall clock was set
meanwhile it would be wrong, and nothing tells. TTFT is therefore reported, and no origin stored.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches, reported, stage
from tokengap.adapters.shared.lines import LineError, optional_time_ns
from tokengap.adapters.shared.openai import Count, Part
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.record_files import read_records
from tokengap.adapters.shared.records import Records
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION
from tokengap.adapters.shared.wall_time import rfc3339_ns
from tokengap.adapters.source import Source
from tokengap.schema import TIME_LIMIT_NS

EXPECTED: Final = "lines that Ollama's /api/generate or /api/chat sent"
TTFT_FORMULA: Final = (
    "from ollama: total_duration - (created_at of the last line - of the first), two clocks"
)
E2E_FORMULA: Final = "ollama: total_duration"
TPOT_FORMULA: Final = "ollama: eval_duration / eval_count"
LOAD_FORMULA: Final = "ollama: load_duration, the model's, before the prompt is read"
NO_ANSWER: Final = ("load", "unload")


class Message(msgspec.Struct, gc=False):
    """New text of a chat answer."""

    content: Any = None
    thinking: Any = None
    tool_calls: Any = None


class Entry(msgspec.Struct, gc=False):
    """One line; durations in ns."""

    model: str | None = None
    created_at: str | None = None
    done: bool = False
    done_reason: str | None = None
    response: Any = None
    thinking: Any = None
    message: Message | None = None
    error: Any = None
    total_duration: Any = None
    load_duration: Any = None
    prompt_eval_count: Count | None = None
    prompt_eval_duration: Any = None
    eval_count: Count | None = None
    eval_duration: Any = None

    @property
    def part(self) -> Part:
        """What text it carries."""
        message = self.message or Message()
        if self.response or message.content:
            return Part.ANSWER
        if self.thinking or message.thinking:
            return Part.REASONING
        return Part.TOOL if message.tool_calls else Part.EMPTY

    def ns(self, name: str) -> int | None:
        """Return a duration."""
        return optional_time_ns(getattr(self, name), name)


class Said(NamedTuple):
    """What is kept of a line."""

    t_ns: int
    part: Part
    is_end: bool

    @property
    def mark(self) -> str:
        """What to call it where it holds no token."""
        return "finish" if self.is_end else "empty"


RECORDS: Final = Records(Entry)


class Ollama:
    """Reads stored answers of Ollama."""

    name = "ollama"
    version = 1
    about = About(
        reads="Ollama /api/generate and /api/chat answers, JSONL",
        vantage="gateway (Ollama's server)",
        granularity="chunk; token where counts prove it",
        clock="wall ns; durations monotonic",
        ttft="no (reported, on two clocks)",
        worst_gap="yes",
        handoff="no",
        checked=FROM_DOCUMENTATION,
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a line."""
        return wants(head, "model", "created_at", "done", "response|message")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per answer."""
        for source in sources:
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    answers = _Answers()
    source_id = intake.source_id(source)
    for record, data in read_records(source, EXPECTED):
        try:
            ended = answers.take(RECORDS.decode(data), Place(source_id, record))
        except LineError as error:
            intake.reject(source, record, error.reason, error.field, error.value)
            answers.note_loss()
        else:
            if ended is not None:
                yield ended
    yield from answers.rest()


class _Answers:
    """The answers that are open, by model."""

    def __init__(self) -> None:
        self._open: dict[str | None, _Answer] = {}
        self._begun = 0

    def take(self, entry: Entry, place: Place) -> Stream | None:
        """Add a line; return the answer that it ends, if any."""
        if entry.error is not None:
            return self._fail()
        if entry.done_reason in NO_ANSWER:
            raise LineError("a model was loaded or unloaded, and nothing answered", "done_reason")
        if entry.created_at is None:
            raise LineError("created_at: missing", "created_at")
        t_ns = rfc3339_ns(entry.created_at, "created_at")
        answer = self._open.get(entry.model) or self._begin(entry.model, place)
        answer.add(entry, t_ns)
        return self._open.pop(entry.model).stream("completed") if entry.done else None

    def _begin(self, model: str | None, place: Place) -> "_Answer":
        self._open[model] = answer = _Answer(model, place, self._begun)
        self._begun += 1
        return answer

    def _fail(self) -> Stream:
        if len(self._open) != 1:
            raise LineError("an error that names no answer, where not just one is open", "error")
        _, answer = self._open.popitem()
        return answer.stream("failed", "in_band_error")

    def note_loss(self) -> None:
        """Note that a line could not be used: it may have been any open answer's."""
        for answer in self._open.values():
            answer.quality.add("events_lost")

    def rest(self) -> Iterator[Stream]:
        """Yield the answers that never ended."""
        return (answer.stream("truncated") for answer in self._open.values())


class _Answer:
    """One answer, line by line."""

    def __init__(self, model: str | None, place: Place, index: int) -> None:
        self._model = model
        self._place = place
        self._index = index
        self._lines: list[Said] = []
        self._last = Entry()
        self.quality: set[str] = set()

    def add(self, entry: Entry, t_ns: int) -> None:
        """Add a line."""
        self._lines.append(Said(t_ns, entry.part, entry.done))
        self._last = entry

    def stream(self, status: str, error_kind: str | None = None) -> Stream:
        """Make the row."""
        last = self._last if self._last.done else Entry()  # only the end has durations
        total = last.eval_count
        lines = list(zip(self._lines, _hold_tokens(self._lines, total), strict=True))
        times_ns = [line.t_ns for line, is_token in lines if is_token]
        prefill_ns = last.ns("prompt_eval_duration")
        whole = last.done and len(lines) == 1 and self._lines[0].part > Part.EMPTY
        end_ns = self._lines[-1].t_ns
        span_ns = end_ns - times_ns[0] if times_ns and not whole else None
        if (span_ns or 0) > (last.ns("total_duration") or TIME_LIMIT_NS):
            self.quality.add(CLOCK_CONTRADICTION)  # the wall clock was set meanwhile
        return Stream(
            request_id=str(self._index),
            source=self._place.text,
            status=status,
            error_kind=error_kind,
            finish_reason=last.done_reason,
            clock=self._place.source_id,
            clock_kind="wall",
            vantage="gateway",
            model=self._model,
            streamed=not whole,
            times_ns=times_ns,
            total_tokens=total,
            total_source=None if total is None else "usage",
            prompt_tokens=last.prompt_eval_count,
            first_answer_ns=self._first_answer_ns(),
            stream_close_ns=end_ns if last.done else None,
            stages=[] if prefill_ns is None else [stage("prefill", duration_ns=prefill_ns)],
            reported=_reported(last, span_ns),
            marks=[(line.mark, line.t_ns) for line, is_token in lines if not is_token],
            quality=sorted(self.quality),
        )

    def _first_answer_ns(self) -> int | None:
        """Return the time of the first answer text, where thinking came before it."""
        parts = [line.part for line in self._lines]
        if Part.REASONING not in parts or Part.ANSWER not in parts:
            return None
        first = parts.index(Part.ANSWER)
        return self._lines[first].t_ns if parts.index(Part.REASONING) < first else None


def _hold_tokens(lines: list[Said], total: int | None) -> list[bool]:
    """Tell which lines hold tokens: those with text, the empty ones where that makes the total."""
    texts = [line.part > Part.EMPTY for line in lines]
    if total is None or sum(texts) == total:
        return texts
    fuller = (
        [True] * len(lines),
        [text or not line.is_end for text, line in zip(texts, lines, strict=True)],
    )
    return next((counted for counted in fuller if sum(counted) == total), texts)


def _reported(last: Entry, span_ns: int | None) -> list[dict[str, object]]:
    """Ollama's own durations, and TTFT as what is left of them before the span of the stream."""
    total_ns, decode_ns = last.ns("total_duration"), last.ns("eval_duration")
    told = [("e2e", total_ns, E2E_FORMULA), ("load", last.ns("load_duration"), LOAD_FORMULA)]
    if total_ns is not None and span_ns is not None and 0 <= span_ns <= total_ns:
        told.append(("ttft", total_ns - span_ns, TTFT_FORMULA))
    if decode_ns is not None and last.eval_count:
        told.append(("tpot", round(decode_ns / last.eval_count), TPOT_FORMULA))
    return [reported(name, ns, how) for name, ns, how in told if ns is not None]
