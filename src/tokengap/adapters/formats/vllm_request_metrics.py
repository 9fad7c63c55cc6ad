"""vLLM's `metrics` in its answers (`--enable-per-request-metrics`): bodies, or chunks of streams.

All are durations of the engine core, so each request stands on a clock of its own that begins when
it was queued, or where that wait is missing when it was scheduled. vLLM's `time_to_first_token_ms`
is counted from being scheduled: it is the prefill, and is reported under that name, never as TTFT,
which would need the arrival. Of a streamed answer only the last chunk has them; chunks before it
are passed over, and an answer that never gets to it is rejected. vLLM leaves the object out where
one request makes several answers.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_columns
from tokengap.adapters.shared.columns import Columns, unless_empty
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.nested import Reported, Stage
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.record_files import read_pieces
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, out_of_order
from tokengap.adapters.shared.unfinished import Unfinished
from tokengap.adapters.shared.vllm_ids import engine_id_columns
from tokengap.adapters.source import Source

EXPECTED: Final = "answers of a vLLM server started with --enable-per-request-metrics"
NO_METRICS: Final = "metrics: missing; vLLM gives none where one request makes several answers"
UNFINISHED: Final = "no chunk with `metrics`: the answer was cut, or its usage was not asked for"
TTFT_FORMULA: Final = "vllm: first token - scheduled; the wait in the queue is not in it"
TPOT_FORMULA: Final = "vllm: (last - first) / (n - 1)"


class Part(msgspec.Struct, gc=False, frozen=True):
    """The reasoning or the text of an answer; ms since it was scheduled."""

    token_count: Count = 0
    time_to_first_token_ms: float | None = None


class Parts(msgspec.Struct, gc=False):
    """`output_token_metrics`."""

    reasoning: Part = Part()
    content: Part = Part()


class Metrics(msgspec.Struct, gc=False):
    """Durations in ms; null where the engine has none."""

    time_to_first_token_ms: float | None = None
    generation_time_ms: float | None = None
    queue_time_ms: float | None = None
    mean_itl_ms: float | None = None
    output_token_metrics: Parts | None = None


class Usage(msgspec.Struct, gc=False):
    """Counts, by the names of either API."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None


class Choice(msgspec.Struct, gc=False):
    """Only how it ended."""

    finish_reason: str | None = None


class Answer(msgspec.Struct, gc=False):
    """One body or chunk; or one event of the Responses API, of another type."""

    id: str | None = None
    type: str | None = None
    object: str | None = None
    model: str | None = None
    choices: list[Choice] = []
    usage: Usage | None = None
    metrics: Metrics | None = None


class Record(Answer, gc=False):
    """One line: an answer, or an event of the Responses API that carries one."""

    response: Answer | None = None


class VllmRequestMetrics:
    """Reads stored answers of vLLM servers that return metrics."""

    name = "vllm-request-metrics"
    version = 1
    about = About(
        reads="vLLM answers with `metrics` (--enable-per-request-metrics), JSON or JSONL",
        vantage="engine",
        granularity="aggregate",
        clock="durations in ms",
        ttft="no",
        worst_gap="bounds",
        handoff="no",
        checked=f"{FROM_DOCUMENTATION} (vLLM 0.33.0)",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """An answer, and the names of the metrics somewhere in it."""
        wanted = wants(head, "id|response", "object|type", "choices|usage|metrics|response")
        inner = ("metrics", "time_to_first_token_ms", "queue_time_ms")
        missing = tuple(name for name in inner if f'"{name}"'.encode() not in head.data)
        return Sniff((*wanted.wanted, *inner), (*wanted.missing, *missing))

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per answer."""
        for source in sources:
            records = BulkRecords(Answer, Record, _answer)
            pieces, unfinished = read_pieces(source, EXPECTED), Unfinished()
            make = partial(
                _rows, source_id=intake.source_id(source), names=Names(), unfinished=unfinished
            )
            yield from read_columns(source, intake, pieces, records, make)
            unfinished.report(source, intake, UNFINISHED)


def _answer(record: Record) -> Answer:
    if record.response is None:
        return record
    record.response.type = record.type
    return record.response


def _rows(answers: Columns, source_id: str, names: Names, unfinished: Unfinished) -> Rows:
    _leave_out(answers, unfinished)
    metrics, usage = answers.part("metrics"), answers.part("usage")
    clocks = answers.places_in(source_id)
    queue_ns, prefill_ns = metrics.ms_ns("queue_time_ms"), metrics.ms_ns("time_to_first_token_ms")
    decode_ns, mean_ns = metrics.ms_ns("generation_time_ms"), metrics.ms_ns("mean_itl_ms")
    scheduled_ns = pc.fill_null(queue_ns, 0)
    first_ns = answers.after_ns(scheduled_ns, prefill_ns, "metrics.time_to_first_token_ms")
    last_ns = answers.after_ns(first_ns, decode_ns, "metrics.generation_time_ms")
    in_order_ns = [pa.scalar(0), scheduled_ns, first_ns, last_ns]
    facts = {
        "request_id": answers.named(names, answers["id"]),
        "status": "completed",
        "finish_reason": _finish_reasons(answers),
        "clock": clocks,
        "clock_kind": "monotonic",
        "vantage": "engine",
        "model": answers["model"],
        "first_token_ns": first_ns,
        "last_token_ns": last_ns,
        "first_answer_ns": _first_answer_ns(metrics, scheduled_ns),
        "output_tokens": usage.any_of("completion_tokens", "output_tokens"),
        "prompt_tokens": usage.any_of("prompt_tokens", "input_tokens"),
    }
    return Rows(
        answers.numbers,
        answers.sieve,
        facts,
        ids=engine_id_columns(answers["id"]),
        stages=[
            Stage("queue", pc.multiply(queue_ns, 0), queue_ns, clock=clocks),
            Stage("prefill", scheduled_ns, first_ns, clock=clocks),
        ],
        reported=[
            Reported.of("ttft_from_scheduled", TTFT_FORMULA, prefill_ns),
            Reported.of("tpot", TPOT_FORMULA, mean_ns),
        ],
        notes={CLOCK_CONTRADICTION: out_of_order(in_order_ns)},
    )


def _leave_out(answers: Columns, unfinished: Unfinished) -> None:
    """Make rows only of answers with metrics; some of the others will have them later."""
    ends = answers.part("metrics").there
    if pc.all(ends).as_py() and unfinished.is_empty:
        return
    kind = pc.coalesce(unless_empty(answers["type"]), answers["object"], pa.scalar(""))
    is_part = pc.or_(pc.ends_with(kind, ".chunk"), pc.starts_with(kind, "response."))
    is_part = pc.or_(is_part, pc.invert(answers.part("usage").there))
    parts = pc.and_(pc.invert(ends), is_part)
    unfinished.note(answers["id"], parts, ends, answers.place)
    answers.pass_over(parts)
    answers.refuse(pc.invert(ends), NO_METRICS)


def _finish_reasons(answers: Columns) -> pa.Array:
    choices = answers.others("choices")
    return pa.array([each[0].finish_reason if each else None for each in choices], pa.string())


def _first_answer_ns(metrics: Columns, scheduled_ns: pa.Array) -> pa.Array:
    """Return the time of the first answer text, where reasoning came before it."""
    parts, field = metrics.part("output_token_metrics"), "metrics.output_token_metrics.content"
    reasoned = pc.greater(parts.part("reasoning")["token_count"], 0)
    content_ms = parts.part("content")["time_to_first_token_ms"]
    content_ns = metrics.ms_ns(pc.if_else(reasoned, content_ms, None), field)
    return metrics.after_ns(scheduled_ns, content_ns, field)
