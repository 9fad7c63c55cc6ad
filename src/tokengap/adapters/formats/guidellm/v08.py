"""A request in the newer schema, with its `info.timings`; wall seconds."""

from typing import Final

import msgspec

from tokengap.adapters.formats.guidellm.facts import (
    MEAN_GAP,
    Strategy,
    ending,
    fill_reported,
    fill_times,
)
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.requests import asked
from tokengap.adapters.shared.seconds import optional_ms_ns, optional_seconds_ns

TTFT: Final = "guidellm 0.8: first token - request start"
MEAN_TIME: Final = "guidellm 0.8: (last token - request start) / output_tokens"
LATENCY: Final = "guidellm 0.8: end of the stream - request start"

_ENDED: Final = {"completed": "completed", "cancelled": "cancelled"}


class Timings(msgspec.Struct, gc=False):
    """Stamps of the client; `token_iterations` counts the events with text."""

    targeted_start: float | None = None
    request_start: float | None = None
    first_request_iteration: float | None = None
    first_token_iteration: float | None = None
    first_output_token_iteration: float | None = None
    last_token_iteration: float | None = None
    last_request_iteration: float | None = None
    token_iterations: Count = 0
    request_end: float | None = None
    resolve_end: float | None = None

    def ns(self, name: str) -> int | None:
        """Return one of the stamps."""
        return optional_seconds_ns(getattr(self, name), name)


class Info(msgspec.Struct):
    """How a request went."""

    status: str
    timings: Timings
    conversation_id: str | None = None
    turn_index: int | None = None
    error: str | None = None


class OutputMetrics(msgspec.Struct, frozen=True, gc=False):
    """Usage, where the server sent it."""

    total_tokens: Count | None = None


class Row(msgspec.Struct):
    """One request."""

    request_id: str
    info: Info
    response_id: str | None = None
    request_args: str | None = None
    output_metrics: OutputMetrics = OutputMetrics()
    prompt_tokens: Count | None = None
    cached_tokens: Count | None = None
    output_tokens: Count | None = None
    request_latency: float | None = None
    time_to_first_token_ms: float | None = None
    time_per_output_token_ms: float | None = None
    inter_token_latency_ms: float | None = None


def stream(row: Row, strategy: Strategy, place: Place) -> Stream:
    """Make the row's stream. GuideLLM's success is all that is known of how a stream ended."""
    timings, body = row.info.timings, asked(row.request_args)
    session = {"session": row.info.conversation_id, "turn": row.info.turn_index}
    made = Stream(
        request_id=row.response_id or row.request_id,
        source=place.text,
        status="in_flight",
        clock=place.source_id,
        clock_kind="wall",
        ids={"sse_id": row.response_id} if row.response_id else None,
        labels=strategy.labels | {k: str(v) for k, v in session.items() if v is not None},
        model=body.model_name,
        prompt_tokens=row.prompt_tokens,
        cached_prompt_tokens=row.cached_tokens,
        requested_output_tokens=body.tokens,
        planned_ns=timings.ns("targeted_start"),
        sent_ns=timings.ns("request_start"),
        stream_close_ns=timings.ns("resolve_end" if timings.request_end is None else "request_end"),
        total_tokens=row.output_tokens,
        total_source="usage" if row.output_metrics.total_tokens is not None else "events",
    )
    _fill_ending(made, row.info)
    _fill_deliveries(made, timings)
    fill_reported(made, _reported(row))
    return made


def _fill_ending(made: Stream, info: Info) -> None:
    if info.status == "completed":
        made.status = "completed"
        made.quality.append("end_not_seen")
    elif info.status == "errored":
        made.status, made.error_kind = ending(info.error)
    elif info.status == "cancelled":
        made.status = "cancelled"


def _fill_deliveries(made: Stream, timings: Timings) -> None:
    first_ns = timings.ns("first_token_iteration")
    if first_ns is None and made.status == "completed" and made.total_tokens:
        made.streamed = False
        made.times_ns = None if made.stream_close_ns is None else [made.stream_close_ns]
        return
    last_ns = timings.ns("last_token_iteration")
    fill_times(made, first_ns, last_ns, timings.token_iterations)
    answer_ns = timings.ns("first_output_token_iteration")
    made.first_answer_ns = None if answer_ns == first_ns else answer_ns
    _mark(made, "first_event", timings.ns("first_request_iteration"), first_ns)
    _mark(made, "last_event", timings.ns("last_request_iteration"), last_ns)


def _mark(made: Stream, kind: str, t_ns: int | None, token_ns: int | None) -> None:
    """Mark the first or last event of a stream where it is no token."""
    if t_ns is not None and t_ns != token_ns:
        made.marks.append((kind, t_ns))


def _reported(row: Row) -> list[tuple[str, int | None, str]]:
    ttft = optional_ms_ns(row.time_to_first_token_ms, "time_to_first_token_ms")
    mean_gap = optional_ms_ns(row.inter_token_latency_ms, "inter_token_latency_ms")
    per_token = optional_ms_ns(row.time_per_output_token_ms, "time_per_output_token_ms")
    latency = optional_seconds_ns(row.request_latency, "request_latency")
    return [
        ("ttft", ttft, TTFT),
        ("tpot", mean_gap, MEAN_GAP),
        ("tpot", per_token, MEAN_TIME),
        ("e2e", latency, LATENCY),
    ]
