"""A request in the newer schema, with its `info.timings`; wall seconds."""

from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.formats.guidellm.facts import MEAN_GAP, Answers, Run, endings
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.columns import Columns, unless, unless_empty
from tokengap.adapters.shared.lines import Int64
from tokengap.adapters.shared.nested import Reported, reported_lists
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.requests import asked
from tokengap.adapters.shared.row_batches import Rows

TTFT: Final = "guidellm 0.8: first token - request start"
MEAN_TIME: Final = "guidellm 0.8: (last token - request start) / output_tokens"
LATENCY: Final = "guidellm 0.8: end of the stream - request start"


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


class Info(msgspec.Struct):
    """How a request went."""

    status: str
    timings: Timings
    conversation_id: str | None = None
    turn_index: Int64 | None = None
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


class Request(msgspec.Struct):
    """One request, and what its body says."""

    row: Row
    model: str | None
    asked_tokens: Count | None


def records() -> BulkRecords[Row]:
    """Decode them."""
    return BulkRecords(Request, Row, _request)


def _request(row: Row) -> Request:
    body = asked(row.request_args)
    return Request(row, body.model_name, body.tokens)


def rows(requests: Columns, run: Run) -> Rows:
    """Return the rows of a benchmark. GuideLLM's success is all that is known of how one ended."""
    row = requests.part("row", "")
    info = row.part("info")
    timings = info.part("timings", "")
    planned_ns, sent_ns = (timings.seconds_ns(name) for name in ("targeted_start", "request_start"))
    close_ns = _close_ns(timings)
    status, error_kind = _outcomes(info)
    completed, answer_ids = pc.equal(status, "completed"), unless_empty(row["response_id"])
    answers = _answers(row, timings, completed, close_ns)
    delivered, marks = answers.delivered(), _marks(timings, answers)
    facts = {
        "trace": run.trace,
        "request_id": requests.named(run.names, pc.coalesce(answer_ids, row["request_id"])),
        "status": status,
        "error_kind": error_kind,
        "clock": run.clock,
        "clock_kind": "wall",
        "vantage": "client",
        "model": _model(requests["model"], run.model),
        "prompt_tokens": row["prompt_tokens"],
        "cached_prompt_tokens": row["cached_tokens"],
        "requested_output_tokens": requests["asked_tokens"],
        "planned_ns": planned_ns,
        "sent_ns": sent_ns,
        "stream_close_ns": close_ns,
        "first_token_ns": answers.first_ns,
        "first_answer_ns": marks.pop("first_answer"),
        "last_token_ns": unless(pa.array(delivered.observed), answers.last_ns),
        "reported": reported_lists(_reported(row), len(row)),
    }
    session = {"session": info["conversation_id"], "turn": info["turn_index"].cast(pa.string())}
    return Rows(
        requests.numbers,
        requests.sieve,
        facts,
        ids={"sse_id": answer_ids},
        labels=run.labels(len(row)) | session,
        marks=marks,
        notes={"end_not_seen": completed},
        delivered=delivered,
    )


def _marks(timings: Columns, answers: Answers) -> dict[str, pa.Array]:
    """The first answer text, and the first and last event, where they are not the token."""
    named = {
        "first_answer": ("first_output_token_iteration", answers.first_ns),
        "first_event": ("first_request_iteration", answers.first_ns),
        "last_event": ("last_request_iteration", answers.last_ns),
    }
    found = {}
    for kind, (name, token_ns) in named.items():
        ns = timings.seconds_ns(unless(answers.bodies, timings[name]), name)
        found[kind] = unless(pc.fill_null(pc.equal(ns, token_ns), False), ns)
    return found


def _answers(row: Columns, timings: Columns, completed: pa.Array, close_ns: pa.Array) -> Answers:
    """The answers; one that has tokens, but no event with one, came as a body."""
    first_ns = timings.seconds_ns("first_token_iteration")
    has_tokens = pc.fill_null(pc.greater(row["output_tokens"], 0), False)
    bodies = pc.and_(pc.is_null(first_ns), pc.and_(completed, has_tokens))
    last_s = unless(bodies, timings["last_token_iteration"])
    return Answers(
        first_ns,
        timings.seconds_ns(last_s, "last_token_iteration"),
        tokens=row["output_tokens"],
        is_usage=pc.is_valid(row.part("output_metrics")["total_tokens"]),
        events=timings["token_iterations"],
        bodies=bodies,
        body_ns=close_ns,
    )


def _close_ns(timings: Columns) -> pa.Array:
    end_ns = timings.seconds_ns("request_end")
    resolved_s = unless(pc.is_valid(end_ns), timings["resolve_end"])
    return pc.coalesce(end_ns, timings.seconds_ns(resolved_s, "resolve_end"))


def _outcomes(info: Columns) -> tuple[pa.Array, pa.Array]:
    """Status and error kind."""
    errored = pc.equal(info["status"], "errored")
    error_status, error_kind = endings(info["error"])
    ended = pc.is_in(info["status"], pa.array(["completed", "cancelled"]))
    status = pc.if_else(ended, info["status"], "in_flight")
    return pc.if_else(errored, error_status, status), pc.if_else(errored, error_kind, None)


def _model(asked_for: pa.Array, served: str | None) -> pa.Array:
    asked_for = unless_empty(asked_for)
    return asked_for if served is None else pc.fill_null(asked_for, served)


def _reported(row: Columns) -> list[Reported]:
    """The tool's own numbers."""
    return [
        Reported.of("ttft", TTFT, row.ms_ns("time_to_first_token_ms")),
        Reported.of("tpot", MEAN_GAP, row.ms_ns("inter_token_latency_ms")),
        Reported.of("tpot", MEAN_TIME, row.ms_ns("time_per_output_token_ms")),
        Reported.of("e2e", LATENCY, row.seconds_ns("request_latency")),
    ]
