"""LiteLLM's StandardLoggingPayload, as its callbacks log it: one JSON object per call.

Stamps are wall seconds of the process that runs LiteLLM: a proxy, whose own keys show in
`metadata`, or the application itself, which a payload cannot prove; then the vantage is left open.
`completionStartTime` is the first chunk of a streamed answer. LiteLLM fills it with `endTime` where
there was none: in an answer that came as one body, and in most failures. Of a call that was sent
again after a failure it can be the first chunk of the earlier attempt, before the call's own start.
`endTime` is when the stream was over and put together, later than the last token, whose time is not
logged.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_columns
from tokengap.adapters.shared.columns import Columns, unless, unless_0
from tokengap.adapters.shared.names import Attempts
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.outcomes import status_of_exception, status_of_http
from tokengap.adapters.shared.record_files import read_pieces
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED, out_of_order
from tokengap.adapters.source import Source

EXPECTED: Final = "StandardLoggingPayload objects, as LiteLLM's callbacks get them"
CAMEL: Final = {
    "start_time": "startTime",
    "end_time": "endTime",
    "completion_start_time": "completionStartTime",
}
SUCCESS, FAILURE = "success", "failure"
LABELS: Final = ("call_type", "custom_llm_provider", "model_group", "trace_id")


class Payload(msgspec.Struct, rename=CAMEL, gc=False):
    """One call; seconds. Objects that hold text, or that loggers write as text, may be anything."""

    id: str
    start_time: float
    end_time: float
    status: str
    completion_start_time: float | None = None
    litellm_call_id: str | None = None
    trace_id: str | None = None
    session_id: str | None = None
    call_type: str | None = None
    custom_llm_provider: str | None = None
    cache_hit: bool | None = None
    stream: bool | None = None
    model: str | None = None
    model_id: str | None = None
    model_group: str | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    metadata: Any = None
    error_information: Any = None


class Litellm:
    """Reads LiteLLM's logged calls."""

    name = "litellm"
    version = 1
    about = About(
        reads="LiteLLM StandardLoggingPayload, JSON or JSONL",
        vantage="gateway (proxy), else as declared",
        granularity="aggregate",
        clock="wall s",
        ttft="yes, if streamed",
        worst_gap="no",
        handoff="no",
        checked="LiteLLM 1.110.2",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """The payload's stamps beside LiteLLM's words for the call."""
        return wants(head, "startTime", "endTime", "response_time", "call_type", "model_group")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per call; those with one call id are attempts, in the file's order."""
        for source in sources:
            make = partial(_rows, clock=intake.source_id(source), attempts=Attempts())
            pieces = read_pieces(source, EXPECTED)
            yield from read_columns(source, intake, pieces, BulkRecords(Payload, Payload), make)


def _rows(payloads: Columns, clock: str, attempts: Attempts) -> Rows:
    status, error_kind = _outcomes(payloads)
    completed = pc.equal(status, "completed")
    start_ns = payloads.seconds_ns("start_time", "startTime")
    end_ns = payloads.seconds_ns("end_time", "endTime")
    begun_ns = _begun_ns(payloads)
    streamed = pc.fill_null(payloads["stream"], False)
    filled_in = pc.and_(streamed, pc.equal(begun_ns, end_ns))
    first_ns = unless(pc.or_(pc.invert(streamed), filled_in), begun_ns)
    is_body = pc.and_not(completed, streamed)
    is_proxy = pa.array(
        [_text_in(m, "user_api_key_hash") is not None for m in payloads.others("metadata")]
    )
    logged_ids, tokens = payloads["litellm_call_id"], payloads["completion_tokens"]
    call_ids = pc.coalesce(unless(pc.equal(logged_ids, ""), logged_ids), payloads["id"])
    model_ids = payloads["model_id"]
    facts = {
        "request_id": call_ids,
        "attempt": payloads.attempts(attempts, call_ids),
        "status": status,
        "error_kind": error_kind,
        "clock": clock,
        "clock_kind": "wall",
        "vantage": pc.if_else(is_proxy, "gateway", None),
        "deployment": unless(pc.equal(model_ids, ""), model_ids),
        "model": payloads["model"],
        "prompt_tokens": payloads["prompt_tokens"],
        "output_tokens": unless(pc.and_not(pc.equal(tokens, 0), completed), tokens),
        # Which of the two it is follows from the vantage, which may only be declared.
        "sent_ns": unless(is_proxy, start_ns),
        "received_ns": start_ns,
        "first_token_ns": first_ns,
        "stream_close_ns": end_ns,
    }
    return Rows(
        payloads.numbers,
        payloads.sieve,
        facts,
        ids=_ids(payloads["id"], call_ids),
        labels=_labels(payloads),
        notes={
            "end_not_seen": completed,
            SENTINEL_DROPPED: filled_in,
            CLOCK_CONTRADICTION: out_of_order([start_ns, first_ns, end_ns]),
        },
        bodies=is_body,
        body_ns=unless(pc.invert(is_body), end_ns),
    )


def _begun_ns(payloads: Columns) -> pa.Array:
    """When the answer began, or what LiteLLM fills in."""
    begun_s = unless_0(payloads["completion_start_time"])
    return payloads.seconds_ns(pc.coalesce(begun_s, payloads["end_time"]), "completionStartTime")


def _outcomes(payloads: Columns) -> tuple[pa.Array, pa.Array]:
    """Status and error kind."""
    logged = payloads["status"]
    known = pc.is_in(logged, pa.array((SUCCESS, FAILURE)))
    reason = f"status: {SUCCESS} or {FAILURE} expected"
    payloads.refuse(pc.invert(known), reason, "status", logged)
    succeeded = pc.equal(logged, SUCCESS)
    if pc.all(succeeded).as_py():
        return pc.if_else(succeeded, "completed", None), pa.nulls(len(logged), pa.string())
    rows = zip(succeeded.to_pylist(), payloads.others("error_information"), strict=True)
    found = [("completed", None) if good else _failure(told) for good, told in rows]
    status, kind = zip(*found, strict=True)
    return pa.array(status, pa.string()), pa.array(kind, pa.string())


def _failure(information: object) -> tuple[str, str]:
    """Status and error kind of a call that failed."""
    kind, code = _text_in(information, "error_class"), _text_in(information, "error_code")
    if kind is not None and "timeout" in kind.lower():
        return status_of_exception(kind), kind
    if code is not None and re.fullmatch(r"\d{3}", code):
        return status_of_http(int(code)), kind or f"http_{code}"
    return "failed", kind or "error"


def _ids(answer_ids: pa.Array, call_ids: pa.Array) -> dict[str, pa.Array]:
    """LiteLLM puts its own id in place of the answer's where there was no answer."""
    own = pc.equal(answer_ids, call_ids)
    return {"litellm_call_id": call_ids, "sse_id": unless(own, answer_ids)}


def _labels(payloads: Columns) -> dict[str, pa.Array]:
    found = {name: payloads[name] for name in LABELS} | {"session": payloads["session_id"]}
    found = {name: unless(pc.equal(texts, ""), texts) for name, texts in found.items()}
    return found | {"cache_hit": pc.if_else(payloads["cache_hit"], "true", None)}


def _text_in(value: object, key: str) -> str | None:
    """Return a text from an object that a logger may have left out or written as something else."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) and found else None
