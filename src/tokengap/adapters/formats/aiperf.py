"""AIPerf `profile_export.jsonl`: first-token time and gaps of every request, in wall time.

Failed and cancelled requests have no times here, and an error inside an answer cannot be seen at
all: `profile_export_raw.jsonl` of the same run tells more.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

import msgspec
import pyarrow as pa

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.aiperf_metadata import Failure, Metadata, outcome
from tokengap.adapters.shared.lines import LineError, decode, optional_time_ns, shaped, tokens
from tokengap.adapters.source import Line, Source
from tokengap.schema import TIME_LIMIT_NS

NS_PER_MS: Final = 1_000_000
ROUNDING_NS: Final = 1_000
"""Sums of rounded milliseconds may differ by this much; anything more is a missing event."""


class Metric(msgspec.Struct, gc=False):
    """One number of a request, or one list of numbers."""

    value: int | float | list[float] | None
    unit: str


class Metrics(msgspec.Struct):
    """Those that are read, under the tool's names."""

    time_to_first_token: Metric | None = None
    time_to_first_output_token: Metric | None = None
    inter_chunk_latency: Metric | None = None
    request_latency: Metric | None = None
    usage_prompt_tokens: Metric | None = None
    input_sequence_length: Metric | None = None
    error_isl: Metric | None = None
    usage_completion_tokens: Metric | None = None
    output_sequence_length: Metric | None = None

    def ns(self, tag: str) -> list[int]:
        """Return a duration, or a list of them, each rounded to ns by itself; [] if not there."""
        metric: Metric | None = getattr(self, tag)
        if metric is None or metric.value is None:
            return []
        field = f"metrics.{tag}"
        if metric.unit != "ms":
            raise LineError(f"{field}: unit ms expected", f"{field}.unit", metric.unit)
        values = metric.value if isinstance(metric.value, list) else [metric.value]
        for value in (min(values, default=0), max(values, default=0)):
            if not 0 <= value * NS_PER_MS <= TIME_LIMIT_NS:
                raise LineError(f"{field}: durations expected", f"{field}.value", value)
        return [round(value * NS_PER_MS) for value in values]

    def count(self, *tags: str) -> int | None:
        """Return the first of these token counts that is there."""
        for tag in tags:
            metric: Metric | None = getattr(self, tag)
            if metric is not None and metric.value is not None:
                return tokens(metric.value, f"metrics.{tag}.value")
        return None


class Trace(msgspec.Struct, gc=False):
    """Part of `trace_data`; wall ns."""

    request_send_start_ns: Any = None


class Record(msgspec.Struct):
    """One request."""

    metadata: Metadata
    metrics: Metrics
    trace_data: Trace | None = None
    error: Failure | None = None


class Aiperf:
    """Reads AIPerf's per-request metrics."""

    name = "aiperf"
    version = 1
    about = About(
        reads="AIPerf profile_export.jsonl",
        vantage="client",
        granularity="chunk",
        clock="wall ns and ms",
        ttft="yes",
        worst_gap="yes",
        handoff="stream, if declared",
        checked="AIPerf 0.13.0",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a metrics record."""
        return wants(head, "metadata", "metrics")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    clock = intake.source_id(source)
    for line in source.lines():
        try:
            record = shaped(decode(line.data), Record)
            record.metadata.refuse_warmup()
            stream = _request(record, line, clock)
        except LineError as error:
            intake.reject(source, line, error.reason, error.field, error.value)
        else:
            yield stream


def _request(record: Record, line: Line, clock: str) -> Stream:
    metadata = record.metadata
    status, error_kind = outcome(metadata, record.error)
    stream = Stream(
        request_id=metadata.x_request_id or str(line.number),
        source=f"{clock}:{line.number}",
        status=status or "completed",
        error_kind=error_kind,
        clock=clock,
        clock_kind="wall",
        ids=metadata.ids,
        labels=metadata.labels,
        prompt_tokens=record.metrics.count(
            "usage_prompt_tokens", "input_sequence_length", "error_isl"
        ),
        planned_ns=metadata.credit_ns,
        sent_ns=metadata.start_ns,
        stream_close_ns=metadata.end_ns,
    )
    if status is None:
        _fill_deliveries(stream, record)
    elif status == "cancelled":
        _fill_cancelled(stream, record)
    else:
        _fill_failed(stream, record)
    return stream


def _fill_deliveries(stream: Stream, record: Record) -> None:
    sent_ns = record.metadata.start_ns
    metrics = record.metrics
    first, latency = metrics.ns("time_to_first_token"), metrics.ns("request_latency")
    steps = [*first, *metrics.ns("inter_chunk_latency")] if first else latency
    stream.streamed = bool(first) or not latency
    stream.times_ns = list(accumulate(steps, initial=sent_ns))[1:] if steps else None
    stream.quality.append("end_not_seen")
    if not steps or (latency and abs(sum(steps) - latency[0]) > ROUNDING_NS):
        stream.quality.append("events_lost")
    stream.total_tokens, stream.total_source = _total(metrics)
    answer = metrics.ns("time_to_first_output_token")
    if first and answer > first:
        stream.first_answer_ns = sent_ns + answer[0]


def _total(metrics: Metrics) -> tuple[int | None, str | None]:
    total = metrics.count("usage_completion_tokens")
    if total:  # a server that does not count says 0
        return total, "usage"
    recount = metrics.count("output_sequence_length")
    return (None, None) if recount is None else (recount, "retokenised")


def _fill_cancelled(stream: Stream, record: Record) -> None:
    """Leave open what the tool loses: it drops what came and stamps the start too late."""
    sent_ns = record.trace_data.request_send_start_ns if record.trace_data else None
    stream.sent_ns = optional_time_ns(sent_ns, "trace_data.request_send_start_ns")
    stream.stream_close_ns = None
    stream.quality.append("events_lost")


def _fill_failed(stream: Stream, record: Record) -> None:
    if record.error is not None and record.error.code is not None:
        stream.times_ns = []  # an HTTP error: there was no stream
        stream.stream_close_ns = None  # the tool repeats the start here
    else:
        stream.quality.append("events_lost")
