"""inference-perf `per_request_lifecycle_metrics.json`: one JSON array, a record per request.

Floats are seconds on CLOCK_MONOTONIC, which the client's processes share. The tool stamps only
events whose first choice has text, and keeps the raw answer: how it ended, and errors inside it
that the tool takes for a success, are read from there. An event with empty text has no stamp: where
usage counts it as a token, it is part of N and no delivery.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
import pyarrow as pa

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.answers import answers
from tokengap.adapters.shared.documents import document
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.openai import Count, Payload, Usage
from tokengap.adapters.shared.outcomes import error_kind, status_of_exception, status_of_http
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.records import Records
from tokengap.adapters.shared.requests import asked
from tokengap.adapters.shared.seconds import seconds_ns
from tokengap.adapters.shared.stored_answer import stored_answer
from tokengap.adapters.shared.transcript import Transcript
from tokengap.adapters.source import Source

_EXPECTED: Final = "inference-perf's array with one record per request"
_HTTP_ERROR: Final = "HTTP Error "


class Text(msgspec.Struct, frozen=True, gc=False):
    """Part of `info.request_metrics`; a failed request has 0 tokens here."""

    input_tokens: Count | None = None


class RequestMetrics(msgspec.Struct, frozen=True, gc=False):
    """Part of `info`."""

    text: Text = Text()


class ResponseMetrics(msgspec.Struct):
    """Part of `info`; seconds. Without `chunk_times` the answer was not streamed."""

    output_tokens: Count | None = None
    server_usage: Usage | None = None
    chunk_times: list[float] | None = None
    output_token_times: list[float] = []

    @property
    def stamps_ns(self) -> list[int] | None:
        """The times of events with text; None if there are none."""
        if self.chunk_times is None:
            return None
        return [seconds_ns(t, "info.response_metrics.chunk_times") for t in self.chunk_times]


class Info(msgspec.Struct, frozen=True):
    """What the tool found out of a request."""

    request_metrics: RequestMetrics = RequestMetrics()
    response_metrics: ResponseMetrics | None = None
    lora_adapter: str | None = None
    graph_event_id: str | None = None
    labels: dict[str, Any] = {}

    @property
    def measured(self) -> ResponseMetrics:
        """What was measured of the answer; of a failure, nothing."""
        return self.response_metrics or ResponseMetrics()

    @property
    def all_labels(self) -> dict[str, str]:
        """What may tell groups of requests apart."""
        own = {"lora_adapter": self.lora_adapter, "graph_event_id": self.graph_event_id}
        return {k: str(v) for k, v in (self.labels | own).items() if v is not None}


class Failure(msgspec.Struct, gc=False):
    """An HTTP status, or an exception."""

    error_type: str

    @property
    def http_code(self) -> int | None:
        """The status; None of an exception."""
        code = self.error_type.removeprefix(_HTTP_ERROR)
        return int(code) if code != self.error_type and code.isdecimal() else None


class Computed(msgspec.Struct, gc=False):
    """Being there, it says that the tool counted the tokens of each event."""


class Record(msgspec.Struct):
    """One request."""

    start_time: float
    end_time: float
    request: str | None = None
    response: str | None = None
    info: Info | None = None
    error: Failure | None = None
    computed_metrics: Computed | None = None

    @property
    def known(self) -> Info:
        """What the tool found out, be it nothing."""
        return self.info or Info()

    @property
    def recount(self) -> list[int] | None:
        """Tokens of each stamped event, where the tool counted them: it repeats the stamp."""
        metrics = self.known.measured
        stamps, tokens = metrics.chunk_times or [], metrics.output_token_times
        if self.computed_metrics is None and tokens == stamps:
            return None
        repeats = Counter(tokens)
        counts = [repeats[stamp] for stamp in stamps]
        return counts if sum(counts) == len(tokens) else None


class InferencePerf:
    """Reads inference-perf's per-request report."""

    name = "inference-perf"
    version = 1
    about = About(
        reads="inference-perf per_request_lifecycle_metrics.json",
        vantage="client",
        granularity="chunk; token where counts prove it",
        clock="monotonic s",
        ttft="yes",
        worst_gap="yes",
        handoff="stream, if declared",
        checked="inference-perf 0.7.0",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """An array of records that begin with their times and the request's JSON text."""
        keys = wants(head, "start_time", "end_time", "request")
        array = ("a JSON array",)
        is_array = head.data.lstrip().startswith(b"[")
        return Sniff(array + keys.wanted, (() if is_array else array) + keys.missing)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request and choice; InputError if the file is no JSON array."""
        for source in sources:
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    found = enumerate(map(bytes, document(source, list[msgspec.Raw], _EXPECTED)))
    return answers(source, intake, found, Records(Record), _request)


def _base(record: Record, place: Place) -> Stream:
    body = asked(record.request)
    return Stream(
        request_id="",
        source=place.text,
        status="truncated",
        clock=place.source_id,
        clock_kind="monotonic",
        model=body.model_name,
        labels=record.known.all_labels,
        requested_output_tokens=body.tokens,
        sent_ns=seconds_ns(record.start_time, "start_time"),
        stream_close_ns=seconds_ns(record.end_time, "end_time"),
    )


def _request(record: Record, place: Place) -> list[Stream]:
    base = _base(record, place)
    if record.error is not None:
        return _failed(record.error, record.response or "", base)
    streams = _answered(record, record.known.measured, base)
    for stream in streams:
        if stream.prompt_tokens is None:
            stream.prompt_tokens = record.known.request_metrics.text.input_tokens
    return streams


def _failed(failure: Failure, response: str, base: Stream) -> list[Stream]:
    """Read a failure. What came before a connection broke is kept, but not its times."""
    base.times_ns = []
    if failure.http_code is not None:
        base.status = status_of_http(failure.http_code)
        base.error_kind = f"http_{failure.http_code}"
        return [base]
    base.status = status_of_exception(failure.error_type)
    base.error_kind = error_kind(failure.error_type)
    answer = stored_answer(response, None, _is_stamped)
    if answer is not None:
        return list(answer.streams(base))
    base.times_ns = None
    base.quality.append("events_lost")
    return [base]


def _answered(record: Record, metrics: ResponseMetrics, base: Stream) -> list[Stream]:
    text = record.response or ""
    if text.lstrip().startswith("{"):
        return _body(text, metrics, base, seconds_ns(record.end_time, "end_time"))
    stamps_ns = metrics.stamps_ns
    answer = stored_answer(text, stamps_ns, _is_stamped)
    if answer is None:
        return [_unread(metrics, replace(base, times_ns=stamps_ns, counts=record.recount))]
    streams = list(answer.streams(base))
    if len(streams) == 1 and streams[0].counts is None:
        _fill_counts(streams[0], record.recount)
    return streams


def _fill_counts(stream: Stream, recount: list[int] | None) -> None:
    if recount is not None and len(recount) == len(stream.times_ns or ()):
        stream.counts, stream.counts_source = recount, "retokenised"


def _body(text: str, metrics: ResponseMetrics, base: Stream, read_ns: int) -> list[Stream]:
    """Read an answer that was not streamed: the tool took it when it had all of it."""
    base.streamed = False
    transcript = Transcript()
    try:
        transcript.add(read_ns, text)
    except LineError:
        return [_unread(metrics, replace(base, times_ns=[read_ns]))]
    return list(transcript.streams(base))


def _unread(metrics: ResponseMetrics, base: Stream) -> Stream:
    """Take the tool's own word where the answer's text says nothing it can be held against."""
    usage = metrics.server_usage or Usage()
    return replace(
        base,
        status="completed",
        counts_source="retokenised" if base.counts else "events",
        total_tokens=usage.completion_tokens or metrics.output_tokens,
        total_source="usage" if usage.completion_tokens else "retokenised",
        prompt_tokens=usage.prompt_tokens,
        quality=["end_not_seen"],
    )


def _is_stamped(payload: Payload) -> bool:
    """Tell whether the tool stamps the event: it looks at its first choice alone."""
    if not payload.choices:
        return False
    first = payload.choices[0]
    return bool(first.text or (first.delta and first.delta.content))
