"""Spans of llm-d's proxy beside the decode server: `llm_d.pd_proxy.request`, `.prefill`, `.decode`.

The proxy times its two requests, not what streams through it: no token has a time here. Its
`true_ttft_ms` ends when the decode server is *asked*, so it is kept under its own name. Durations
are whole milliseconds, cut off; where the spans of both requests are there, their stamps are used.
The summary lies on the request's span or, as the code nests its spans, on the decode request's.
"""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, Final

from tokengap.adapters.formats.otlp.document import SpanFile
from tokengap.adapters.formats.otlp.shelf import Piece, Shelf, without_repeats
from tokengap.adapters.formats.otlp.spans import Span
from tokengap.adapters.formats.otlp.tree import by_ancestor
from tokengap.adapters.rows import Stream, reported, stage
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.outcomes import status_of_http

PREFIX: Final = "llm_d.pd_proxy."

NAMES: Final = {f"{PREFIX}{name}" for name in ("request", "prefill", "decode")}

_DURATIONS: Final = ("true_ttft", "prefill_duration", "coordinator_overhead")


class LlmD:
    """Puts the proxy's spans aside, and makes a row of every request."""

    def __init__(self, files: Sequence[SpanFile], shelf: Shelf) -> None:
        self._files = files
        self._shelf = shelf

    def take(self, span: Span) -> None:
        """Put a span aside; LineError if it cannot be used."""
        self._shelf.add(Piece.of(span, span.trace_id, _facts(span)))

    def rows(self) -> Iterator[Stream]:
        """One row per request; parts of a request whose own span is missing are rejected."""
        for group in self._shelf.groups():
            pieces, repeated = without_repeats(group)
            below, orphans = by_ancestor(pieces, _is_request)
            for piece in orphans:
                reason = f"the {PREFIX}request span that this one belongs to is not in the log"
                self._files[piece.file].reject(piece.place, LineError(reason))
            for piece in filter(_is_request, pieces):
                row = _row(piece, below[piece.span_id], self._files[piece.file])
                if repeated:
                    row.quality.append("duplicate_dropped")
                yield row


def _is_request(piece: Piece) -> bool:
    return piece.name == f"{PREFIX}request"


def _facts(span: Span) -> dict[str, Any]:
    found, quality = span.attributes, list[str]()
    return {
        **{name: found.ms_ns(f"{PREFIX}{name}_ms", quality) for name in _DURATIONS},
        "instance": span.process.text("service.instance.id"),
        "request_id": found.text(f"{PREFIX}request_id"),
        "connector": found.text(f"{PREFIX}connector"),
        "prefill_target": found.text(f"{PREFIX}prefill_target"),
        "decode_target": found.text(f"{PREFIX}decode.target"),
        "split": found.flag(f"{PREFIX}disaggregation_used"),
        "concurrent": found.flag(
            f"{PREFIX}concurrent_pd", f"{PREFIX}prefill.async", f"{PREFIX}parallel_dispatch"
        ),
        "http_status": found.integer(f"{PREFIX}prefill.status_code"),
        "quality": quality,
    }


def _row(request: Piece, below: list[Piece], file: SpanFile) -> Stream:
    parts = [request, *below]
    facts = _merged(parts)
    prefill, decode = (_called(name, below) for name in ("prefill", "decode"))
    instance = facts.get("instance")
    clock = f"llm-d:{instance}" if instance else file.id
    status, error_kind = _outcome(parts, facts)
    row = Stream(
        request_id=request.span_id,
        source=f"{file.id}:{request.place}",
        status=status,
        error_kind=error_kind,
        vantage="gateway",
        trace=file.trace,
        clock=clock,
        clock_kind="wall",
        ids=_ids(request, facts),
        labels={"connector": facts["connector"]} if "connector" in facts else None,
        received_ns=request.start_ns,
        stream_close_ns=request.end_ns,
        stages=_stages(prefill, decode, facts, clock),
        quality=[note for part in parts for note in part.facts["quality"]],
    )
    if status == "completed":
        row.quality.append("end_not_seen")  # the proxy does not read the answer
    if "true_ttft" in facts:
        formula = "llm-d: start to dispatch of decode, before any token"
        row.reported = [reported("true_ttft", facts["true_ttft"], formula)]
    _split(row, facts)
    return row


def _merged(parts: Sequence[Piece]) -> dict[str, Any]:
    """What any of a request's spans says; the request's own wins."""
    facts: dict[str, Any] = {}
    for part in reversed(parts):
        facts |= {name: value for name, value in part.facts.items() if value is not None}
    return facts


def _called(name: str, pieces: Sequence[Piece]) -> Piece | None:
    return next((piece for piece in pieces if piece.name == PREFIX + name), None)


def _outcome(parts: Sequence[Piece], facts: dict[str, Any]) -> tuple[str, str | None]:
    """Status and error kind.

    A 4xx of the prefill server is what the client gets; after any other failure of it, the decode
    server does it all.
    """
    code = facts.get("http_status") or 0
    if HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR:
        return status_of_http(code), f"http_{code}"
    decode = _called("decode", parts)
    if parts[0].failed or (decode is not None and decode.failed):
        return "failed", "error"
    return "completed", None


def _ids(request: Piece, facts: dict[str, Any]) -> dict[str, str]:
    ids = {"trace_id": request.trace_id}
    return ids | {"x_request_id": facts["request_id"]} if "request_id" in facts else ids


def _stages(
    prefill: Piece | None, decode: Piece | None, facts: dict[str, Any], clock: str
) -> list[dict[str, object]]:
    """Prefill request and what lies between both; where they overlap, nothing does."""
    found = []
    worker = facts.get("prefill_target")
    if prefill is not None:
        found.append(stage("prefill", prefill.start_ns, prefill.end_ns, worker=worker, clock=clock))
    elif "prefill_duration" in facts:
        found.append(stage("prefill", duration_ns=facts["prefill_duration"], worker=worker))
    if facts.get("concurrent"):
        return found
    if prefill is not None and decode is not None:
        found.append(stage("relay", prefill.end_ns, decode.start_ns, clock=clock))
    elif "coordinator_overhead" in facts:
        found.append(stage("relay", duration_ns=facts["coordinator_overhead"]))
    return found


def _split(row: Stream, facts: dict[str, Any]) -> None:
    """Say whether the request was split, and between which servers.

    The prefill server is asked for one token, which the proxy throws away.
    """
    prefill, decode = facts.get("prefill_target"), facts.get("decode_target")
    if facts.get("split") is False:
        row.handoff_source = "none"
        row.prefill_worker = row.decode_worker = decode
    elif prefill is not None:
        row.handoff_source, row.last_prefill_token = "log", 0
        row.prefill_worker, row.decode_worker = prefill, decode
