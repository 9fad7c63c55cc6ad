"""Langfuse observations of type GENERATION: pages of its API, or an export, JSON or JSONL.

Stamps are wall times of the application, most often in milliseconds. `completionStartTime` is the
first chunk, where the application's integration tells it; `endTime` is when the call returned, so
the time of the last token is not known, nor whether the answer was streamed. Spans, events and
other observations that are no calls of a model are passed over.
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
from tokengap.adapters.shared.columns import Columns, unless
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.nested import Reported
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.record_files import Piece, pieces_of, read_pieces
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, out_of_order
from tokengap.adapters.source import Source

EXPECTED: Final = "observations, as Langfuse's API returns or exports them"
TTFT_FORMULA: Final = "langfuse: timeToFirstToken = completionStartTime - startTime"
E2E_FORMULA: Final = "langfuse: latency = endTime - startTime"

_OTEL_TRACE: Final = r"^[0-9a-f]{32}$"


class Usage(msgspec.Struct, gc=False):
    """Token counts, under `usageDetails` or the older `usage`."""

    input: Count | None = None
    output: Count | None = None
    input_cached_tokens: Count | None = None


class Observation(msgspec.Struct, rename="camel", gc=False):
    """One observation; dates with their zone, durations in seconds."""

    id: str
    type: str
    start_time: str
    end_time: str | None = None
    completion_start_time: str | None = None
    trace_id: str | None = None
    model: str | None = None
    level: str | None = None
    environment: str | None = None
    usage: Usage | None = None
    usage_details: Usage | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    time_to_first_token: float | None = None
    latency: float | None = None


class Page(msgspec.Struct, gc=False):
    """One answer of the API."""

    data: list[msgspec.Raw] | None = None


_PAGE: Final = msgspec.json.Decoder(Page)


class Langfuse:
    """Reads exported Langfuse generations."""

    name = "langfuse"
    version = 1
    about = About(
        reads="Langfuse observations (API pages or export), JSON or JSONL",
        vantage="client",
        granularity="aggregate",
        clock="wall, most often ms",
        ttft="yes, where the first chunk was noted",
        worst_gap="no",
        handoff="no",
        checked=FROM_DOCUMENTATION,
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """An observation's keys, at the top or in a page's `data`."""
        wanted = ("traceId", "type", "startTime", "completionStartTime")
        if {"data", "meta"} <= head.keys:
            return Sniff(wanted, tuple(n for n in wanted if f'"{n}"'.encode() not in head.data))
        return wants(head, *wanted)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per generation."""
        for source in sources:
            make = partial(_rows, clock=intake.source_id(source), names=Names())
            yield from read_columns(
                source, intake, _observations(source), BulkRecords(Observation, Observation), make
            )


def _observations(source: Source) -> Iterator[Piece]:
    """Yield the observations, also out of pages."""
    for piece in read_pieces(source, EXPECTED):
        if b'"data"' in piece.text:
            yield from pieces_of(
                (place, item) for place, data in piece.items() for item in _items(data)
            )
        else:
            yield piece


def _items(data: bytes) -> list[bytes]:
    try:
        page = _PAGE.decode(data)
    except msgspec.MsgspecError:
        return [data]  # what is wrong with it is said when it is decoded as an observation
    return [data] if page.data is None else [bytes(item) for item in page.data]


def _rows(observations: Columns, clock: str, names: Names) -> Rows:
    observations.pass_over(pc.not_equal(observations["type"], "GENERATION"))
    start_ns = observations.wall_ns("start_time", "startTime")
    end_ns = observations.wall_ns("end_time", "endTime")
    first_ns = observations.wall_ns("completion_start_time", "completionStartTime")
    failed = pc.fill_null(pc.equal(observations["level"], "ERROR"), False)
    status = pc.if_else(failed, "failed", pc.if_else(pc.is_null(end_ns), "in_flight", "completed"))
    environment = observations["environment"]
    # Durations count where the stamps are missing.
    ttft_s = unless(pc.is_valid(first_ns), observations["time_to_first_token"])
    e2e_s = unless(pc.is_valid(end_ns), observations["latency"])
    facts = {
        "request_id": observations.named(names, observations["id"]),
        "status": status,
        "error_kind": pc.if_else(failed, "error", None),
        "clock": clock,
        "clock_kind": "wall",
        "vantage": "client",
        "model": observations["model"],
        "sent_ns": start_ns,
        "first_token_ns": first_ns,
        "stream_close_ns": end_ns,
        **_counts(observations),
    }
    return Rows(
        observations.numbers,
        observations.sieve,
        facts,
        ids={"trace_id": _otel_traces(observations["trace_id"])},
        labels={"environment": unless(pc.equal(environment, ""), environment)},
        reported=[
            Reported.of("ttft", TTFT_FORMULA, observations.seconds_ns(ttft_s, "ttft")),
            Reported.of("e2e", E2E_FORMULA, observations.seconds_ns(e2e_s, "e2e")),
        ],
        notes={
            CLOCK_CONTRADICTION: out_of_order([start_ns, first_ns, end_ns]),
            "end_not_seen": pc.equal(status, "completed"),
        },
    )


def _counts(observations: Columns) -> dict[str, pa.Array]:
    """Token counts by the newest name that is there."""
    newest, older = observations.part("usage_details"), observations.part("usage")
    oldest = (observations["prompt_tokens"], observations["completion_tokens"], None)
    columns = ("prompt_tokens", "output_tokens", "cached_prompt_tokens")
    names = ("input", "output", "input_cached_tokens")
    return {
        column: pc.if_else(newest.there, newest[name], pc.if_else(older.there, older[name], least))
        for column, name, least in zip(columns, names, oldest, strict=True)
    }


def _otel_traces(traces: pa.Array) -> pa.Array:
    """Only a trace id of OpenTelemetry's form is one that servers may have been sent."""
    return pc.if_else(pc.match_substring_regex(traces, _OTEL_TRACE), traces, None)
