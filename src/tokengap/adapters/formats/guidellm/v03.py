"""A request in the older schema, with its `scheduler_info`; wall seconds.

A worker takes the start of its first request before it sets up its HTTP client, which takes longer
than most first tokens. When that request was sent is not known.
"""

from collections.abc import Iterable
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
from tokengap.adapters.shared.seconds import optional_ms_ns, optional_seconds_ns, seconds_ns
from tokengap.schema import TIME_LIMIT_NS

TTFT: Final = "guidellm 0.3: first token - start"
MEAN_TIME: Final = "guidellm 0.3: (last token - first token) / output_tokens"
LATENCY: Final = "guidellm 0.3: end of the stream - start"

CLIENT_SET_UP: Final = "start_before_client"
"""Quality note: the logged start comes before the client was set up; `sent_ns` is not known."""

_PROCESS: Final = "client_process"
_NO_SCHEDULE: Final = ("synchronous", "concurrent")
"""Strategies whose `targeted_start_time` is when a worker got free to ask, long before its turn."""


class SchedulerInfo(msgspec.Struct, gc=False):
    """How the load generator ran a request."""

    process_id: int
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

    def ns(self, name: str) -> int | None:
        """Return one of the times."""
        value: float | None = getattr(self, name)
        return None if value is None or value < 0 else seconds_ns(value, name)


def stream(row: Row, strategy: Strategy, place: Place) -> Stream:
    """Make the row's stream. GuideLLM's success is all that is known of how a stream ended."""
    info = row.scheduler_info
    status, kind = ending(row.error) if info.errored else ("completed", None)
    first_ns, last_ns = row.ns("first_token_time"), row.ns("last_token_time")
    targeted_s = None if strategy.type_ in _NO_SCHEDULE else info.targeted_start_time
    made = Stream(
        request_id=row.request_id or str(place.number),
        source=place.text,
        status="cancelled" if info.canceled else status,
        error_kind=None if info.canceled else kind,
        clock=place.source_id,
        clock_kind="wall",
        labels=strategy.labels | {_PROCESS: str(info.process_id)},
        prompt_tokens=row.prompt_tokens,
        planned_ns=optional_seconds_ns(targeted_s, "scheduler_info.targeted_start_time"),
        sent_ns=row.ns("start_time"),
        stream_close_ns=row.ns("end_time"),
    )
    fill_times(made, first_ns, last_ns, None)
    if first_ns is not None:
        made.total_tokens = row.output_tokens
        made.total_source = "usage" if status == "completed" else "events"
        fill_reported(made, _reported(row))
    made.quality = _notes(row, made.status)
    return made


def _notes(row: Row, status: str) -> list[str]:
    times = (row.start_time, row.end_time, row.first_token_time, row.last_token_time)
    unset = any(t is not None and t < 0 for t in times)
    found = {"sentinel_dropped": unset, "end_not_seen": status == "completed"}
    return [note for note, holds in found.items() if holds]


def _reported(row: Row) -> list[tuple[str, int | None, str]]:
    """The tool's own numbers of an answer with tokens; its means are 0 where there is no gap."""
    several = (row.output_tokens or 0) > 1
    mean_gap = optional_ms_ns(row.inter_token_latency_ms, "inter_token_latency_ms")
    per_token = optional_ms_ns(row.time_per_output_token_ms, "time_per_output_token_ms")
    return [
        ("ttft", optional_ms_ns(row.time_to_first_token_ms, "time_to_first_token_ms"), TTFT),
        ("tpot", mean_gap if several else None, MEAN_GAP),
        ("tpot", per_token if several else None, MEAN_TIME),
        ("e2e", optional_seconds_ns(row.request_latency, "request_latency"), LATENCY),
    ]


def without_first_starts(streams: Iterable[Stream]) -> list[Stream]:
    """Return the streams of a benchmark; the first that each worker started lacks its start."""
    found = list(streams)
    first: dict[str, Stream] = {}
    for each in found:
        worker = (each.labels or {})[_PROCESS]
        if _start_ns(each) < _start_ns(first.setdefault(worker, each)):
            first[worker] = each
    for each in first.values():
        each.sent_ns = None
        each.quality.append(CLIENT_SET_UP)
    return found


def _start_ns(stream: Stream) -> int:
    return TIME_LIMIT_NS if stream.sent_ns is None else stream.sent_ns
