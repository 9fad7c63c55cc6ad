"""A request in the older schema, with its `scheduler_info`; wall seconds.

A worker takes the start of its first request before it sets up its HTTP client, which takes longer
than most first tokens. When that request was sent is not known.
"""

from functools import reduce
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.formats.guidellm.facts import MEAN_GAP, Answers, Run, endings
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.columns import Columns, unless
from tokengap.adapters.shared.lines import Int64
from tokengap.adapters.shared.nested import Reported, reported_lists
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.stamps import SENTINEL_DROPPED
from tokengap.schema import TIME_LIMIT_NS

TTFT: Final = "guidellm 0.3: first token - start"
MEAN_TIME: Final = "guidellm 0.3: (last token - first token) / output_tokens"
LATENCY: Final = "guidellm 0.3: end of the stream - start"

CLIENT_SET_UP: Final = "start_before_client"
"""Quality note: the logged start comes before the client was set up; `sent_ns` is not known."""

_STAMPS: Final = ("start_time", "end_time", "first_token_time", "last_token_time")
_NO_SCHEDULE: Final = ("synchronous", "concurrent")
"""Strategies whose `targeted_start_time` is when a worker got free to ask, long before its turn."""


class SchedulerInfo(msgspec.Struct, gc=False):
    """How the load generator ran a request."""

    process_id: Int64
    targeted_start_time: float | None = None
    errored: bool = False
    canceled: bool = False


class Row(msgspec.Struct):
    """One request; a time that was never set is -1."""

    scheduler_info: SchedulerInfo
    start_time: float
    end_time: float
    request_id: str | None = None
    prompt_tokens: Count | None = None
    output_tokens: Count | None = None
    first_token_time: float | None = None
    last_token_time: float | None = None
    request_latency: float | None = None
    time_to_first_token_ms: float | None = None
    time_per_output_token_ms: float | None = None
    inter_token_latency_ms: float | None = None
    error: str | None = None


def records() -> BulkRecords[Row]:
    """Decode them."""
    return BulkRecords(Row, Row)


def rows(requests: Columns, run: Run) -> Rows:
    """Return the rows of a benchmark. GuideLLM's success is all that is known of how one ended."""
    info = requests.part("scheduler_info")
    first_ns, last_ns = _ns(requests, "first_token_time"), _ns(requests, "last_token_time")
    planned = pa.scalar(run.strategy.type_ not in _NO_SCHEDULE)
    targeted_s = pc.if_else(planned, info["targeted_start_time"], None)
    planned_ns = requests.seconds_ns(targeted_s, "scheduler_info.targeted_start_time")
    sent_ns, close_ns = _ns(requests, "start_time"), _ns(requests, "end_time")
    error_status, error_kind = endings(requests["error"])
    ended = pc.if_else(info["errored"], error_status, "completed")
    status = pc.if_else(info["canceled"], "cancelled", ended)
    failed = pc.and_not(info["errored"], info["canceled"])
    tokens = pc.if_else(pc.is_valid(first_ns), requests["output_tokens"], None)
    delivered = Answers(first_ns, last_ns, tokens, pc.equal(ended, "completed")).delivered()
    told = _reported(requests, first_ns)
    is_first = _first_of_workers(requests, sent_ns, info["process_id"])
    facts = {
        "trace": run.trace,
        "request_id": requests.named(run.names, requests["request_id"]),
        "status": status,
        "error_kind": pc.if_else(failed, error_kind, None),
        "clock": run.clock,
        "clock_kind": "wall",
        "vantage": "client",
        "model": run.model,
        "prompt_tokens": requests["prompt_tokens"],
        "planned_ns": planned_ns,
        "sent_ns": unless(is_first, sent_ns),
        "stream_close_ns": close_ns,
        "first_token_ns": first_ns,
        "last_token_ns": unless(pa.array(delivered.observed), last_ns),
        "reported": reported_lists(told, len(requests)),
    }
    unset = [pc.fill_null(pc.less(requests[name], 0), False) for name in _STAMPS]
    return Rows(
        requests.numbers,
        requests.sieve,
        facts,
        labels=run.labels(len(requests))
        | {"client_process": pc.cast(info["process_id"], pa.string())},
        notes={
            SENTINEL_DROPPED: reduce(pc.or_, unset),
            "end_not_seen": pc.equal(status, "completed"),
            CLIENT_SET_UP: is_first,
        },
        delivered=delivered,
    )


def _ns(requests: Columns, name: str) -> pa.Array:
    """One of the times."""
    return requests.seconds_ns(unless(pc.less(requests[name], 0), requests[name]), name)


def _reported(requests: Columns, first_ns: pa.Array) -> list[Reported]:
    """The tool's own numbers of an answer with tokens; its means are 0 where there is no gap."""
    begun = pc.is_valid(first_ns)
    several = pc.fill_null(pc.greater(requests["output_tokens"], 1), False)
    gap_ns, token_ns, ttft_ns = (
        requests.ms_ns(pc.if_else(begun, requests[name], None), name)
        for name in ("inter_token_latency_ms", "time_per_output_token_ms", "time_to_first_token_ms")
    )
    latency_s = pc.if_else(begun, requests["request_latency"], None)
    return [
        Reported.of("ttft", TTFT, ttft_ns),
        Reported.of("tpot", MEAN_GAP, pc.if_else(several, gap_ns, None)),
        Reported.of("tpot", MEAN_TIME, pc.if_else(several, token_ns, None)),
        Reported.of("e2e", LATENCY, requests.seconds_ns(latency_s, "request_latency")),
    ]


def _first_of_workers(requests: Columns, sent_ns: pa.Array, workers: pa.Array) -> pa.Array:
    """Where a request is the first that its worker started."""
    good = np.flatnonzero(requests.sieve.good)
    starts_ns = pc.fill_null(sent_ns, TIME_LIMIT_NS).to_numpy()[good]
    of = workers.to_numpy()[good]
    order = np.lexsort((starts_ns, of))
    _, first = np.unique(of[order], return_index=True)
    found = np.zeros(len(requests), bool)
    found[good[order[first]]] = True
    return pa.array(found)
