"""Spans of one call of a model, as libraries in the calling program write them.

OpenLLMetry adds an event for every chunk of a streamed answer, role, finish and usage among them,
and keeps nothing that tells those apart: each is a delivery of an unknown number of tokens. The SDK
keeps the last 128 events of a span and drops the older ones, so that a long answer begins in its
middle: its first event is no first token, and the worst gap may be among those that were dropped.

Others write when the first chunk came (LiteLLM, Vercel's AI SDK, Langfuse), in three spellings, and
nothing of the later ones. Prompts and answers, which all of them may hold, are not looked at.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tokengap.adapters.formats.otlp.document import SpanFile
from tokengap.adapters.formats.otlp.shelf import Piece, Shelf, without_repeats
from tokengap.adapters.formats.otlp.spans import Span
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED
from tokengap.adapters.shared.wall_time import rfc3339_ns

CHUNK_EVENTS: Final = {"gen_ai.content.completion.chunk", "llm.content.completion.chunk"}
EVENT_LIMIT: Final = 128
"""Events of a span that the SDK keeps unless told otherwise."""

_OPERATION: Final = "gen_ai.operation.name"
_GENERATIONS: Final = {"chat", "text_completion", "generate_content"}
_FIRST_AFTER_S: Final = "gen_ai.response.time_to_first_chunk"
_FIRST_AFTER_MS: Final = ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk")
_FIRST_AT: Final = "langfuse.observation.completion_start_time"
_STREAMED: Final = ("gen_ai.is_streaming", "llm.is_streaming", "gen_ai.request.stream")
_OUTPUT: Final = (
    *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    *("ai.usage.outputTokens", "ai.usage.completionTokens"),
)
_INPUT: Final = (
    *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    *("ai.usage.inputTokens", "ai.usage.promptTokens"),
)


def is_call(span: Span) -> bool:
    """True for a span of a model's answer, whether it was streamed or not."""
    found = span.attributes
    if any(key in found for key in (_FIRST_AFTER_S, *_FIRST_AFTER_MS, _FIRST_AT)):
        return True
    if any(event.name in CHUNK_EVENTS for event in span.events):
        return True
    return found.text(_OPERATION) in _GENERATIONS


class Client:
    """Puts spans of calls aside, and makes rows of them."""

    def __init__(self, files: Sequence[SpanFile], shelf: Shelf) -> None:
        self._files = files
        self._shelf = shelf

    def take(self, span: Span) -> None:
        """Put a span aside; LineError if it cannot be used."""
        self._shelf.add(Piece.of(span, span.trace_id, _facts(span)))

    def rows(self) -> Iterator[Stream]:
        """One row per call. Of two libraries that tell of one call, the inner one is nearer."""
        for group in self._shelf.groups():
            pieces, repeated = without_repeats(group)
            outer = {piece.parent_id for piece in pieces}
            for piece in pieces:
                file = self._files[piece.file]
                if piece.span_id in outer:
                    reason = "a span below this one, of another library, is of the same call"
                    file.reject(piece.place, LineError(reason))
                    continue
                row = _row(piece, file)
                if piece.span_id in repeated:
                    row.quality.append("duplicate_dropped")
                yield row


def _facts(span: Span) -> dict[str, Any]:
    found, quality = span.attributes, list[str]()
    finish = found.texts("gen_ai.response.finish_reasons")
    chunks_ns = [event.t_ns for event in span.events if event.name in CHUNK_EVENTS]
    if chunks_ns and _lost_some(span):
        quality += ["events_lost", "first_events_lost"]
    return {
        "instance": span.process.text("service.instance.id"),
        "answer_id": found.text("gen_ai.response.id", "ai.response.id"),
        "model": found.text("gen_ai.response.model", "gen_ai.request.model", "ai.model.id"),
        "finish_reason": finish[0] if finish else found.text("ai.response.finishReason"),
        "choices": max(len(finish), found.integer("gen_ai.request.choice.count") or 1),
        "prompt_tokens": found.count(*_INPUT),
        "cached_tokens": found.count("gen_ai.usage.cache_read.input_tokens"),
        "tokens": found.count(*_OUTPUT),
        "max_tokens": found.count("gen_ai.request.max_tokens"),
        "streamed": found.flag(*_STREAMED),
        "chunks_ns": chunks_ns,
        "first_ns": None if chunks_ns else _first_chunk_ns(span, quality),
        "error": _error_kind(span),
        "quality": quality,
    }


def _lost_some(span: Span) -> bool:
    """Tell whether the SDK dropped events; where it does not count them, by how many there are."""
    if span.dropped_events is None:
        return len(span.events) == EVENT_LIMIT
    return span.dropped_events > 0


def _first_chunk_ns(span: Span, quality: list[str]) -> int | None:
    """When the first chunk came; the end of an answer that was not streamed stands for none."""
    found = span.attributes
    after_ns = found.s_ns(_FIRST_AFTER_S, quality, zero_is_unset=True)
    for key in _FIRST_AFTER_MS:
        if after_ns is None:
            after_ns = found.ms_ns(key, quality, zero_is_unset=True)
    at = found.text(_FIRST_AT)
    if after_ns is not None:
        first_ns = span.start_ns + after_ns
    elif at is not None:
        first_ns = rfc3339_ns(at.strip('"'), _FIRST_AT)  # some SDKs write it as JSON in a text
    else:
        return None
    if first_ns >= span.end_ns:
        quality.append(SENTINEL_DROPPED)
        return None
    if first_ns < span.start_ns:
        quality.append(CLOCK_CONTRADICTION)
    return first_ns


def _error_kind(span: Span) -> str | None:
    """Class of the failure; its message may hold text of the user."""
    if not span.failed:
        return None
    raised = [e.attributes.text("exception.type") for e in span.events if e.name == "exception"]
    return span.attributes.text("error.type") or next(filter(None, raised), "error")


def _row(piece: Piece, file: SpanFile) -> Stream:
    facts = piece.facts
    row = Stream(
        request_id=piece.span_id,
        source=f"{file.id}:{piece.place}",
        status="failed" if piece.failed else "completed",
        error_kind=facts["error"],
        trace=file.trace,
        clock=f"otel:{facts['instance']}" if facts["instance"] else file.id,
        clock_kind="wall",
        ids={"trace_id": piece.trace_id, "span_id": piece.span_id},
        finish_reason=facts["finish_reason"],
        model=facts["model"],
        prompt_tokens=facts["prompt_tokens"],
        cached_prompt_tokens=facts["cached_tokens"],
        requested_output_tokens=facts["max_tokens"],
        total_tokens=facts["tokens"],
        total_source=None if facts["tokens"] is None else "usage",
        sent_ns=piece.start_ns,
        stream_close_ns=piece.end_ns,
        quality=list(facts["quality"]),
    )
    if facts["answer_id"] is not None:
        row.ids = {**(row.ids or {}), "sse_id": facts["answer_id"]}
    if row.status == "completed" and row.finish_reason is None:
        row.quality.append("end_not_seen")
    _fill_deliveries(row, piece)
    return row


def _fill_deliveries(row: Stream, piece: Piece) -> None:
    facts = piece.facts
    if facts["chunks_ns"] and facts["choices"] == 1:
        row.times_ns = facts["chunks_ns"]
    elif facts["chunks_ns"]:
        row.first_ns = facts["chunks_ns"][0]  # whose chunks the others are is not known
    elif facts["streamed"] is False:
        row.streamed = False
        row.times_ns = [] if piece.failed else [piece.end_ns]
    else:
        row.first_ns = facts["first_ns"]
