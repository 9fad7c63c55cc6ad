"""vLLM's `llm_request`: one span per finished sequence, from the API server.

Its start is the arrival and wall time; so are `time_to_first_token` and `e2e`, up to the first and
the last output that the API server handled. The times in queue and in the model are the engine's
own: durations on another clock, which do not add up to the others. What is left is front-end and
inter-process time. No token in between is timed, and no request that did not finish has a span.

A deployment with separate prefill and decode servers names them so (`service.name`). The prefill
server answers with one token in one body, so that its token is out when its span ends, a little
after the API server had it: that end is where the handoff begins.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from tokengap.adapters.formats.otlp.document import SpanFile
from tokengap.adapters.formats.otlp.reuse import Placed, placed
from tokengap.adapters.formats.otlp.shelf import Piece, Shelf, without_repeats
from tokengap.adapters.formats.otlp.spans import Span
from tokengap.adapters.rows import Stream, reported, stage
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.vllm_ids import engine_ids

SCOPES: Final = "vllm."
REQUEST: Final = "llm_request"

_LATENCY: Final = "gen_ai.latency."
_ROLES: Final = {"prefill": "-p", "decode": "-d"}
"""The halves, and what a proxy may append to the id that it sends to either server."""
_STAGES: Final = {
    None: ("queue", "prefill"),
    "prefill": ("queue", "prefill"),
    "decode": ("decode_queue", "decode_first_step"),
}


class Vllm:
    """Puts request spans aside, and makes rows of them. Spans of a start-up are none."""

    def __init__(self, files: Sequence[SpanFile], shelf: Shelf) -> None:
        self._files = files
        self._shelf = shelf

    def take(self, span: Span) -> None:
        """Put a span aside; LineError if it cannot be used."""
        if span.name != REQUEST:
            return
        facts = _facts(span)
        group = f"{self._files[span.file].trace}\n{facts['shared_id']}"
        self._shelf.add(Piece.of(span, group, facts))

    def rows(self) -> Iterator[Stream]:
        """One row per span."""
        for group in self._shelf.groups():
            pieces, repeated = without_repeats(group)
            for found in placed(pieces):
                row = _row(found, self._files[found.piece.file])
                if found.piece.span_id in repeated:
                    row.quality.append("duplicate_dropped")
                yield row


def _facts(span: Span) -> dict[str, Any]:
    found, process = span.attributes, span.process
    request_id = found.text("gen_ai.request.id")
    if request_id is None:
        raise LineError("gen_ai.request.id: missing", "gen_ai.request.id")
    service = process.text("service.name") or ""
    instance = process.text("service.instance.id") or ""
    role = _role(service)
    quality: list[str] = []
    facts = {
        f"{name}_ns": found.s_ns(f"{_LATENCY}{name}", quality, zero_is_unset=wall)
        for name, wall in (
            ("time_to_first_token", True),
            ("e2e", True),
            ("time_in_queue", False),
            ("time_in_model_prefill", False),
            ("time_in_model_decode", False),
        )
    }
    shared_id, ids = _ids(request_id, role)
    return facts | {
        "request_id": request_id,
        "shared_id": shared_id,
        "ids": ids,
        "role": role,
        "service": service,
        "instance": instance,
        "process": instance or service,
        "model": found.text("gen_ai.response.model", "gen_ai.request.model"),
        "prompt_tokens": found.count("gen_ai.usage.prompt_tokens"),
        "tokens": found.count("gen_ai.usage.completion_tokens"),
        "max_tokens": found.count("gen_ai.request.max_tokens"),
        "quality": quality,
    }


@cache
def _role(service: str) -> str | None:
    """Return the half that a server does, if its name says one."""
    found = [role for role in _ROLES if role in service.lower()]
    return found[0] if len(found) == 1 else None


def _ids(request_id: str, role: str | None) -> tuple[str, dict[str, str]]:
    """Id that both halves of a request share, and the ids that other logs know it by."""
    ids = engine_ids(request_id)
    if role is None or not ids:
        return request_id, ids
    sent_id = ids["x_request_id"]
    own_id = sent_id.removesuffix(_ROLES[role])
    halves = {"x_request_id": own_id, f"x_request_id.{role}": sent_id}
    if role == "decode":  # its answer is the one that the client sees
        halves["sse_id"] = ids["sse_id"].removesuffix(_ROLES[role])
    return request_id.replace(sent_id, own_id, 1), halves


def _row(found: Placed, file: SpanFile) -> Stream:
    piece, facts = found.piece, found.piece.facts
    role, instance = facts["role"], facts["instance"]
    worker = "/".join(filter(None, (facts["service"], instance[:8]))) or None
    # Both halves may have been sent under one id, and both are rows.
    both = role is not None and facts["shared_id"] == facts["request_id"]
    row = Stream(
        request_id=f"{facts['request_id']}.{role}" if both else facts["request_id"],
        source=f"{file.id}:{piece.place}",
        status="completed",
        vantage="engine",
        trace=f"{file.trace}.{found.run + 1}" if found.run else file.trace,
        choice=found.choice,
        clock=f"vllm:{instance}" if instance else file.id,
        clock_kind="wall",
        ids={**facts["ids"], "trace_id": piece.trace_id},
        labels={"service": facts["service"]} if facts["service"] else None,
        model=facts["model"],
        prompt_tokens=facts["prompt_tokens"],
        requested_output_tokens=facts["max_tokens"],
        total_tokens=facts["tokens"],
        total_source=None if facts["tokens"] is None else "usage",
        arrival_ns=piece.start_ns,
        stream_close_ns=piece.end_ns,
        stages=_stages(facts, worker),
        quality=[*facts["quality"], "failures_not_kept"],
    )
    if found.choices > 1:
        row.quality.append("order_assumed")
    _place_tokens(row, piece)
    _split(row, role, worker)
    return row


def _stages(facts: dict[str, Any], worker: str | None) -> list[dict[str, object]]:
    durations_ns = (facts["time_in_queue_ns"], facts["time_in_model_prefill_ns"])
    return [
        stage(name, duration_ns=duration_ns, worker=worker)
        for name, duration_ns in zip(_STAGES[facts["role"]], durations_ns, strict=True)
        if duration_ns is not None
    ]


def _place_tokens(row: Stream, piece: Piece) -> None:
    """First and last token, and the tool's average."""
    facts = piece.facts
    first_ns, e2e_ns = facts["time_to_first_token_ns"], facts["e2e_ns"]
    row.first_ns = None if first_ns is None else piece.start_ns + first_ns
    row.last_token_ns = None if e2e_ns is None else piece.start_ns + e2e_ns
    row.reported = []
    decode_ns, tokens = facts["time_in_model_decode_ns"], facts["tokens"]
    if decode_ns is not None and tokens is not None and tokens > 1:
        formula = "vllm: time_in_model_decode / (n - 1)"
        row.reported.append(reported("tpot", round(decode_ns / (tokens - 1)), formula))
    if facts["role"] == "prefill":
        if first_ns is not None:
            formula = "vllm: arrival to first output at the API server"
            row.reported.append(reported("ttft", first_ns, formula))
        row.first_ns = row.last_token_ns = piece.end_ns


def _split(row: Stream, role: str | None, worker: str | None) -> None:
    """Say which half of a request the row is."""
    if role is None:
        return
    row.handoff_source = "log"
    row.last_prefill_token = int(role == "prefill")
    if role == "prefill":
        row.prefill_worker = worker
    else:
        row.decode_worker = worker
