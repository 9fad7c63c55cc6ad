"""AIPerf `profile_export_raw.jsonl`: every SSE event of every request, with its receipt time.

Times are on the client host's monotonic clock. The wall times in `metadata` are not mixed with
them: they give the clock's offset to wall time, over the run, and a label.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.aiperf_metadata import Failure, Metadata, outcome
from tokengap.adapters.shared.clocks import beside_wall
from tokengap.adapters.shared.lines import LineError, decode, shaped, time_ns
from tokengap.adapters.shared.openai import asked_model, asked_tokens
from tokengap.adapters.shared.outcomes import status_of_http
from tokengap.adapters.shared.transcript import Transcript
from tokengap.adapters.source import Line, Source

HTTP_ERROR: Final = 400


class Packet(msgspec.Struct, gc=False):
    """One field of an SSE event."""

    name: str
    value: str | None = None


class Response(msgspec.Struct, gc=False):
    """One SSE event, or one whole body (`text`) of an answer that was not streamed."""

    perf_ns: Any
    packets: list[Packet] = []
    text: str | None = None


class Record(msgspec.Struct):
    """One request."""

    metadata: Metadata
    start_perf_ns: Any
    responses: list[Response]
    status: int | None = None
    error: Failure | None = None
    payload: Any = None


class AiperfRaw:
    """Reads AIPerf's raw export."""

    name = "aiperf-raw"
    version = 1
    about = About(
        reads="AIPerf profile_export_raw.jsonl (--export-level raw)",
        vantage="client",
        granularity="chunk; token where counts prove it",
        clock="monotonic ns",
        ttft="yes",
        worst_gap="yes",
        handoff="stream, if declared",
        checked="AIPerf 0.13.0",
    )
    supersedes: tuple[str, ...] = ("aiperf",)
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a raw record."""
        return wants(head, "metadata", "start_perf_ns", "responses")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request and choice; the clock's wall offset goes to `intake`."""
        for source in sources:
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    clock = intake.source_id(source)
    wall_ahead_ns = array("q")
    for line in source.lines():
        try:
            record = shaped(decode(line.data), Record)
            record.metadata.refuse_warmup()
            streams = list(_request(record, line, clock))
            if not record.metadata.was_cancelled:  # then the two were not read together
                wall_ahead_ns.append(_wall_ahead_ns(record))
        except LineError as error:
            intake.reject(source, line, error.reason, error.field, error.value)
        else:
            yield from streams
    offset = beside_wall(clock, clock, wall_ahead_ns, "request_start_ns - start_perf_ns")
    if offset is not None:
        intake.clocks.append(offset)


def _wall_ahead_ns(record: Record) -> int:
    ahead_ns = record.metadata.start_ns - time_ns(record.start_perf_ns, "start_perf_ns")
    return time_ns(ahead_ns, "metadata.request_start_ns - start_perf_ns")


def _request(record: Record, line: Line, clock: str) -> Iterator[Stream]:
    metadata = record.metadata
    status, error_kind = outcome(metadata, record.error)
    if status is None and record.status is not None and record.status >= HTTP_ERROR:
        status, error_kind = status_of_http(record.status), f"http_{record.status}"
    request = Stream(
        request_id=metadata.x_request_id or str(line.number),
        source=f"{clock}:{line.number}",
        status=status or "truncated",
        error_kind=error_kind,
        clock=clock,
        clock_kind="monotonic",
        streamed=all(response.text is None for response in record.responses),
        ids=metadata.ids,
        labels=_labels(metadata),
        model=asked_model(record.payload),
        requested_output_tokens=asked_tokens(record.payload),
        sent_ns=time_ns(record.start_perf_ns, "start_perf_ns"),
    )
    if status == "cancelled" and not record.responses:
        # The tool throws away what a cancelled request had received: not known is not none.
        request.quality.append("events_lost")
        yield request
        return
    transcript, last_ns = _transcript(record.responses)
    request.stream_close_ns = last_ns if transcript.done_ns is None else transcript.done_ns
    yield from transcript.streams(request)


def _labels(metadata: Metadata) -> dict[str, str]:
    credit_ns = metadata.credit_ns
    return metadata.labels | (
        {} if credit_ns is None else {"credit_issued_wall_ns": str(credit_ns)}
    )


def _transcript(responses: Sequence[Response]) -> tuple[Transcript, int | None]:
    transcript, t_ns = Transcript(), None
    for response in responses:
        t_ns = time_ns(response.perf_ns, "responses.perf_ns")
        if response.text is not None:
            transcript.add(t_ns, response.text)
            continue
        data = [p.value for p in response.packets if p.name == "data" and p.value is not None]
        if data:
            transcript.add(t_ns, "\n".join(data))  # as SSE joins the data lines of one event
        else:
            transcript.mark("keepalive", t_ns)
    return transcript, t_ns
