"""GenAI-Perf's `profile_export.json`, which perf_analyzer writes: one JSON document.

Stamps are wall ns of the client's host, one per receive callback of its HTTP client. A callback
holds several events of an answer or a piece of one; an event has the time of the callback that
completed it. A step of the wall clock stays in the gaps and may make one negative. The first failed
request ends a run without a file, so that a file is a sample of successes: every row says so.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
import pyarrow as pa

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.answers import answers
from tokengap.adapters.shared.documents import document
from tokengap.adapters.shared.lines import LineError, time_ns
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.records import Records
from tokengap.adapters.shared.requests import asked
from tokengap.adapters.shared.server_sent import NO_DATA, EventReader
from tokengap.adapters.shared.transcript import Transcript
from tokengap.adapters.source import Source
from tokengap.errors import InputError

FAILURES_NOT_KEPT: Final = "failures_not_kept"
"""Quality note: the tool keeps no failed request, so attainment is not over what was offered."""

_EXPECTED: Final = "the `profile_export.json` of GenAI-Perf or perf_analyzer"


class Mode(msgspec.Struct, gc=False):
    """How load was made: mode `concurrency` or `request_rate`."""

    mode: str | None = None
    value: int | float | None = None

    @property
    def labels(self) -> dict[str, str]:
        """The mode and its value."""
        return {} if self.mode is None else {self.mode: str(self.value)}


class Experiment(msgspec.Struct):
    """One level of load."""

    requests: list[msgspec.Raw]
    experiment: Mode = msgspec.field(default_factory=Mode)


class Export(msgspec.Struct):
    """The file; `service_kind` says what was spoken to."""

    experiments: list[Experiment]
    service_kind: str = "openai"


class Inputs(msgspec.Struct, frozen=True, gc=False):
    """What was sent: a body as JSON text."""

    payload: str | None = None
    session_id: str | None = None


class Output(msgspec.Struct, gc=False):
    """What one callback held: raw text."""

    response: str


class Request(msgspec.Struct):
    """One request; times and outputs pair index by index."""

    timestamp: Any
    response_timestamps: list[Any]
    response_outputs: list[Output]
    request_inputs: Inputs = Inputs()
    sequence_id: int | None = None

    @property
    def session(self) -> dict[str, str]:
        """The conversation it belongs to."""
        found = self.request_inputs.session_id or self.sequence_id
        return {} if found is None else {"session": str(found)}

    @property
    def callbacks(self) -> list[tuple[int, str]]:
        """Time and text of every callback."""
        if len(self.response_timestamps) != len(self.response_outputs):
            raise LineError(
                "response_outputs: as many as response_timestamps expected", "response_outputs"
            )
        return [
            (time_ns(t, "response_timestamps"), output.response)
            for t, output in zip(self.response_timestamps, self.response_outputs, strict=True)
        ]


class GenaiPerf:
    """Reads GenAI-Perf's per-request export."""

    name = "genai-perf"
    version = 1
    about = About(
        reads="GenAI-Perf and perf_analyzer profile_export.json of OpenAI-style endpoints",
        vantage="client",
        granularity="chunk; token where counts prove it",
        clock="wall ns",
        ttft="yes",
        worst_gap="yes",
        handoff="stream, if declared",
        checked="GenAI-Perf 0.0.16, perf_analyzer 2.60.0",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Experiments that begin with their mode of load."""
        begins = b'"experiment"' in head.data and b'"mode"' in head.data
        mode = ("experiments[].experiment.mode",)
        outer = wants(head, "experiments")
        return Sniff(outer.wanted + mode, outer.missing + (() if begins else mode))

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request and choice; InputError if it is no export of OpenAI-style answers."""
        for source in sources:
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    export = document(source, Export, _EXPECTED)
    if export.service_kind != "openai":
        raise InputError(
            f"{source.name}: service_kind is {export.service_kind}; only answers of an "
            "OpenAI-style endpoint are read (--service-kind openai)"
        )
    found = enumerate(raw for each in export.experiments for raw in each.requests)
    for number, experiment in enumerate(export.experiments, 1):
        suffix = f".{number}" if len(export.experiments) > 1 else ""
        own = islice(found, len(experiment.requests))
        for stream in _requests(experiment.experiment.labels, own, source, intake):
            stream.trace = f"{intake.trace}{suffix}"
            yield stream


def _requests(
    load: dict[str, str], found: Iterator[tuple[int, msgspec.Raw]], source: Source, intake: Intake
) -> Iterator[Stream]:
    def make(request: Request, place: Place) -> list[Stream]:
        return list(_answer(request.callbacks, _base(request, load, place)))

    raw = ((index, _utf8(bytes(data))) for index, data in found)
    return answers(source, intake, raw, Records(Request), make)


def _utf8(data: bytes) -> bytes:
    """Replace what is not UTF-8: a callback may end in the middle of a letter."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="replace").encode()
    return data


def _base(request: Request, load: dict[str, str], place: Place) -> Stream:
    body = asked(request.request_inputs.payload)
    return Stream(
        request_id="",
        source=place.text,
        status="truncated",
        clock=place.source_id,
        clock_kind="wall",
        model=body.model_name,
        labels=load | request.session,
        requested_output_tokens=body.tokens,
        sent_ns=time_ns(request.timestamp, "timestamp"),
        quality=[FAILURES_NOT_KEPT],
    )


def _answer(callbacks: list[tuple[int, str]], base: Stream) -> Iterator[Stream]:
    """Read what the callbacks brought: events, or the pieces of a body that was not streamed."""
    transcript, reader = Transcript(), EventReader()
    whole = "".join(text for _, text in callbacks)
    base.stream_close_ns = callbacks[-1][0] if callbacks else None
    if base.stream_close_ns is not None and whole.lstrip().startswith("{"):
        base.streamed = False
        transcript.add(base.stream_close_ns, whole)
        return transcript.streams(base)
    for t_ns, text in callbacks:
        _add(transcript, t_ns, reader.feed(text))
    if base.stream_close_ns is not None:
        _add(transcript, base.stream_close_ns, reader.end())
    return transcript.streams(base)


def _add(transcript: Transcript, t_ns: int, events: Sequence[str]) -> None:
    for data in events:
        if data == NO_DATA:
            transcript.mark("keepalive", t_ns)
        else:
            transcript.add(t_ns, data)
