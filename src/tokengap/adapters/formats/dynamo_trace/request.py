"""A record of Dynamo's request trace: what the frontend measured of one request at its end."""

from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.formats.dynamo_trace.timing import Timing, Workers, times_of, workers_of
from tokengap.adapters.shared.columns import Columns, unless, unless_empty
from tokengap.adapters.shared.lines import Int64
from tokengap.adapters.shared.names import Attempts
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.stamps import SENTINEL_DROPPED

SCHEMAS: Final = ("dynamo.request.trace.v1", "dynamo.agent.trace.v1")
REQUEST_END: Final = "request_end"
OTHERS: Final = ("tool_start", "tool_end", "tool_error", "request_payload")
"""Events that a trace may hold beside the ends of requests."""


class Replay(msgspec.Struct, gc=False):
    """The request's length; the hashes of its blocks are left out."""

    input_length: Count | None = None


class Finish(msgspec.Struct, gc=False):
    """How it ended."""

    finish_reason: str | None = None


class Measured(Timing, gc=False):
    """`request`: its timing is there only for requests that carried agent or session headers."""

    request_id: str | None = None
    x_request_id: str | None = None
    model: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cached_tokens: Count | None = None
    queue_depth: Int64 | None = None
    worker: Workers | None = None
    replay: Replay | None = None
    finish_reason_metadata: Finish | None = None


class Agent(msgspec.Struct, gc=False):
    """Whose request it is; older traces call the session's parts otherwise."""

    session_id: str | None = None
    trajectory_id: str | None = None


class Event(msgspec.Struct, gc=False):
    """One record, without the wrapper that some writers put around it."""

    schema: str | None = None
    event_type: str | None = None
    request: Measured | None = None
    agent_context: Agent | None = None


def rows(events: Columns, clock: str, attempts: Attempts) -> Rows:
    """Return the rows of events that end a request; an id that comes again is another attempt."""
    _leave_out(events)
    request = events.part("request", "")
    x_ids, own_ids = (unless_empty(request[name]) for name in ("x_request_id", "request_id"))
    names = pc.coalesce(x_ids, own_ids)
    events.refuse(pc.is_null(names), "request.request_id: missing", "request.request_id")
    untimed = pc.and_(pc.is_null(request["ttft_ms"]), pc.is_null(request["total_time_ms"]))
    times = times_of(request, clock, untimed)
    workers, unset = workers_of(request.part("worker"))
    finish = request.part("finish_reason_metadata")
    facts: dict[str, Any] = {
        "request_id": names,
        "attempt": events.attempts(attempts, names),
        "status": "completed",
        "vantage": "gateway",
        "model": request["model"],
        "finish_reason": finish["finish_reason"],
        "prompt_tokens": request["input_tokens"],
        "cached_prompt_tokens": request["cached_tokens"],
        "output_tokens": request["output_tokens"],
        **times.facts,
        **workers,
    }
    if pc.any(untimed).as_py():
        facts |= _workload(request, untimed, facts, clock)
    return Rows(
        events.numbers,
        events.sieve,
        facts,
        ids={"x_request_id": x_ids, "dynamo_request_id": own_ids},
        labels=_labels(events),
        stages=times.stages,
        reported=times.reported,
        notes={
            "end_not_seen": pc.and_not(pc.invert(finish.there), untimed),
            SENTINEL_DROPPED: pc.or_(times.unset, pc.and_not(unset, untimed)),
        },
        unlisted=untimed,
    )


def _leave_out(events: Columns) -> None:
    """Make rows only of what ends a request."""
    expected = " or ".join(SCHEMAS)
    known = pc.is_in(events["schema"], pa.array(SCHEMAS))
    events.refuse(pc.invert(known), f"schema: {expected} expected", "schema", events["schema"])
    kind = events["event_type"]
    events.pass_over(pc.is_in(kind, pa.array(OTHERS)))
    ended = pc.and_(pc.equal(kind, REQUEST_END), events.part("request").there)
    reason = f"event_type: {REQUEST_END} with `request` expected"
    events.refuse(pc.invert(pc.fill_null(ended, fill_value=False)), reason, "event_type", kind)


def _workload(
    request: Columns, untimed: pa.Array, facts: dict[str, Any], clock: str
) -> dict[str, pa.Array]:
    """Columns in which requests without timing differ: what a replay needs is left of them."""
    arrival_ms = unless(pc.invert(untimed), request["request_received_ms"])
    arrival_ns = request.ms_ns(arrival_ms, "request_received_ms")
    lengths = unless(pc.invert(untimed), request.part("replay")["input_length"])
    workers = ("prefill_worker", "decode_worker", "handoff_source")
    return {
        "clock": pc.if_else(untimed, clock, facts["clock"]),
        "clock_kind": pc.if_else(untimed, "wall", facts["clock_kind"]),
        "received_ns": pc.if_else(untimed, arrival_ns, facts["received_ns"]),
        "arrival_ns": arrival_ns,
        "granularity": pc.if_else(untimed, "workload", None),
        "prompt_tokens": pc.coalesce(facts["prompt_tokens"], lengths),
        **{name: unless(untimed, facts[name]) for name in workers},
    }


def _labels(events: Columns) -> dict[str, pa.Array]:
    agent, depth = events.part("agent_context"), events.part("request")["queue_depth"]
    return {
        "session": agent["session_id"],
        "trajectory": agent["trajectory_id"],
        "queue_depth": pc.cast(depth, pa.string()),
    }
