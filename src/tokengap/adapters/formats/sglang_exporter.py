"""SGLang's record of each request: its metrics files, and `meta_info` of native answers.

`--export-metrics-to-file` writes one flat JSON line per request into `sglang-request-metrics-*.log`
with the request itself as JSON text; `/generate` returns the same keys under `meta_info`. Without
`--enable-metrics` they hold no times.

The times are the API process's: it receives the request and gets the tokens from the worker, so
the vantage is `gateway`. The scheduler's stamps are converted to that process's wall clock by
SGLang, and stand on it here as well. A prefill server's record (its answer has length 0) is that
worker's half of the request, and no view of the answer. Up to 0.5.9 the first token is called
`prefill_finished_ts` and the last `decode_finished_ts`. The clock is wall time that SGLang works
out from its monotonic clock: floats, so 0.24 us apart.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_columns
from tokengap.adapters.shared.columns import Columns, unless, unless_0
from tokengap.adapters.shared.lines import Int64
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.nested import Reported, Stage, prefixed
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.outcomes import statuses_of_http
from tokengap.adapters.shared.record_files import read_pieces
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.sglang import PREFILL, sglang_id_columns
from tokengap.adapters.shared.stamps import (
    CLOCK_CONTRADICTION,
    SENTINEL_DROPPED,
    any_unset,
    out_of_order,
)
from tokengap.adapters.shared.unfinished import Unfinished
from tokengap.adapters.source import Source

EXPECTED: Final = "SGLang's request metrics, or answers of /generate with `meta_info`"
STAMPS: Final = (
    "request_received_ts",
    "forward_entry_time",
    "prefill_finished_time",
    "request_finished_ts",
)
UNFINISHED: Final = "only chunks of an answer that had not ended"
E2E_FORMULA: Final = "sglang: e2e_latency = finished - received"
BODY_TTFT_FORMULA: Final = "sglang: prefill finished - received, of an answer sent as one body"


class FinishReason(msgspec.Struct, gc=False):
    """How the answer ended; an abort may say with which HTTP status."""

    type: str | None = None
    length: Count | None = None
    status_code: Int64 | None = None


class MetaInfo(msgspec.Struct, gc=False):
    """One request; seconds. `finish_reason` is null in a chunk before the last."""

    id: str | None = None
    finish_reason: FinishReason | msgspec.UnsetType | None = msgspec.UNSET
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    num_retractions: Count | None = None
    queue_time: float | None = None
    forward_entry_time: float | None = None
    prefill_finished_time: float | None = None
    request_received_ts: float | None = None
    first_token_latency: float | None = None
    prefill_finished_ts: float | None = None
    response_sent_to_client_ts: float | None = None
    request_finished_ts: float | None = None
    decode_finished_ts: float | None = None
    e2e_latency: float | None = None


class Record(MetaInfo, gc=False):
    """One line."""

    request_parameters: str | None = None
    meta_info: MetaInfo | None = None


class Sampling(msgspec.Struct, gc=False):
    """Part of the request."""

    max_new_tokens: Count | None = None


class Asked(msgspec.Struct, gc=False):
    """What the request, a JSON text, says; its prompt is not looked at."""

    stream: bool | None = None
    bootstrap_room: Int64 | None = None
    sampling_params: Sampling | None = None


class Request(msgspec.Struct, gc=False):
    """One request. goes_on: the record is of a chunk before its last."""

    info: MetaInfo
    asked: Asked
    goes_on: bool


_ASKED: Final = msgspec.json.Decoder(Asked)


class SglangExporter:
    """Reads SGLang's per-request metrics."""

    name = "sglang-exporter"
    version = 1
    about = About(
        reads="SGLang --export-metrics-to-file JSONL, and meta_info of /generate answers",
        vantage="gateway (the server's API process)",
        granularity="aggregate",
        clock="wall s",
        ttft="yes",
        worst_gap="bounds",
        handoff="no",
        checked=f"{FROM_DOCUMENTATION} (SGLang 0.5.23)",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """The exporter's keys, flat or under `meta_info`."""
        flat = wants(
            head,
            "request_parameters|request_received_ts|forward_entry_time",
            "e2e_latency|queue_time|request_finished_ts|decode_finished_ts",
        )
        if "meta_info" not in head.keys:
            return flat
        inner = ("id", "finish_reason", "prompt_tokens")
        missing = tuple(name for name in inner if f'"{name}"'.encode() not in head.data)
        return Sniff(("meta_info", *inner), missing)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            records = BulkRecords(Request, Record, _request)
            pieces, unfinished = read_pieces(source, EXPECTED), Unfinished()
            make = partial(
                _rows, clock=intake.source_id(source), names=Names(), unfinished=unfinished
            )
            yield from read_columns(source, intake, pieces, records, make)
            unfinished.report(source, intake, UNFINISHED)


def _request(record: Record) -> Request:
    info = record.meta_info or record
    goes_on = info.finish_reason is None
    if info.finish_reason is msgspec.UNSET:
        info.finish_reason = None
    return Request(info, _asked(record.request_parameters), goes_on)


def _asked(text: str | None) -> Asked:
    """Read the request; one that cannot be read asks for nothing known."""
    try:
        return Asked() if text is None else _ASKED.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return Asked()


def _rows(requests: Columns, clock: str, names: Names, unfinished: Unfinished) -> Rows:
    info, asked = requests.part("info", ""), requests.part("asked", "")
    reason = info.part("finish_reason")
    if not unfinished.is_empty or pc.any(requests["goes_on"]).as_py():
        ends = pc.invert(requests["goes_on"])
        unfinished.note(info["id"], requests["goes_on"], ends, requests.place)
        requests.pass_over(requests["goes_on"])
    stages, times = _stages(info, clock), _times(info, asked)
    is_half = _are_prefill_halves(reason, asked)
    is_body = pc.fill_null(pc.equal(asked["stream"], False), False)
    facts = {
        "request_id": requests.named(names, info["id"]),
        "finish_reason": reason["type"],
        "clock": clock,
        "clock_kind": "wall",
        "output_tokens": info["completion_tokens"],
        "prompt_tokens": info["prompt_tokens"],
        "cached_prompt_tokens": info["cached_tokens"],
        "requested_output_tokens": asked.part("sampling_params")["max_new_tokens"],
        "stream_close_ns": times.finished_ns,
        **_outcomes(reason),
        **_of_either_kind(times, is_half, is_body, clock),
    }
    return Rows(
        requests.numbers,
        requests.sieve,
        facts,
        ids=sglang_id_columns(
            info["id"], asked["bootstrap_room"], pc.if_else(is_half, PREFILL, None)
        ),
        labels={"num_retractions": pc.cast(info["num_retractions"], pa.string())},
        stages=stages,
        reported=[
            Reported.of("e2e", E2E_FORMULA, unless(pc.is_valid(times.received_ns), times.e2e_ns)),
            Reported.of("ttft", BODY_TTFT_FORMULA, unless(pc.invert(is_body), times.latency_ns)),
        ],
        notes={
            "end_not_seen": pc.invert(pc.fill_null(pc.not_equal(reason["type"], ""), False)),
            SENTINEL_DROPPED: any_unset([info[name] for name in STAMPS]),
            CLOCK_CONTRADICTION: out_of_order(times[:3]),
        },
        bodies=pc.and_not(is_body, is_half),
        body_ns=unless(pc.or_(pc.invert(is_body), is_half), times.finished_ns),
    )


class _Times(NamedTuple):
    """Stamps in their order, and durations; ns."""

    received_ns: pa.Array
    first_ns: pa.Array
    finished_ns: pa.Array
    prefilled_ns: pa.Array
    latency_ns: pa.Array
    e2e_ns: pa.Array


def _times(info: Columns, asked: Columns) -> _Times:
    received_ns = _set_ns(info, "request_received_ts")
    latency_ns, e2e_ns = _set_ns(info, "first_token_latency"), _set_ns(info, "e2e_latency")
    finished_s = pc.coalesce(
        *(unless_0(info[n]) for n in ("request_finished_ts", "decode_finished_ts"))
    )
    finished_ns = info.seconds_ns(finished_s, "request_finished_ts")
    ended_ns = info.after_ns(received_ns, unless(pc.is_valid(finished_ns), e2e_ns), "e2e_latency")
    return _Times(
        received_ns,
        _first_ns(info, received_ns, latency_ns, asked["stream"]),
        pc.coalesce(finished_ns, ended_ns),
        _set_ns(info, "prefill_finished_time"),
        latency_ns,
        e2e_ns,
    )


def _first_ns(
    info: Columns, received_ns: pa.Array, latency_ns: pa.Array, streamed: pa.Array
) -> pa.Array:
    """Return when the API process had the first token, by the newest name that is there."""
    first_ns = info.after_ns(received_ns, latency_ns, "first_token_latency")
    older_s = unless(pc.is_valid(first_ns), info["prefill_finished_ts"])
    first_ns = pc.coalesce(first_ns, info.seconds_ns(unless_0(older_s), "prefill_finished_ts"))
    is_sent = pc.and_(pc.fill_null(streamed, False), pc.is_null(first_ns))
    sent_s = unless(pc.invert(is_sent), info["response_sent_to_client_ts"])
    sent_ns = info.seconds_ns(unless_0(sent_s), "response_sent_to_client_ts")
    return pc.coalesce(first_ns, sent_ns)


def _set_ns(info: Columns, name: str) -> pa.Array:
    return info.seconds_ns(unless_0(info[name]), name)


def _stages(info: Columns, clock: str) -> list[Stage]:
    """Queue and prefill. After a retraction the queue time is a sum of several waits."""
    entry_ns, prefilled_ns = (
        _set_ns(info, "forward_entry_time"),
        _set_ns(info, "prefill_finished_time"),
    )
    waited_ns = info.seconds_ns("queue_time")
    summed = pc.fill_null(pc.greater(info["num_retractions"], 0), False)
    placed_ns = unless(summed, pc.negate(waited_ns))
    queued_ns = info.after_ns(entry_ns, placed_ns, "queue_time")
    until_ns = unless(pc.is_null(queued_ns), entry_ns)
    return [
        Stage("queue", queued_ns, until_ns, waited_ns, clock),
        Stage("prefill", entry_ns, prefilled_ns, clock=clock),
    ]


def _outcomes(reason: Columns) -> dict[str, pa.Array]:
    """Status and error kind. An abort without an HTTP status is a client that went away."""
    aborted = pc.fill_null(pc.equal(reason["type"], "abort"), False)
    codes = reason["status_code"]
    cut = pc.if_else(pc.is_null(codes), "cancelled", statuses_of_http(codes))
    kinds = prefixed("http_", pc.cast(codes, pa.string()))
    return {
        "status": pc.if_else(aborted, cut, "completed"),
        "error_kind": pc.if_else(aborted, kinds, None),
    }


def _are_prefill_halves(reason: Columns, asked: Columns) -> pa.Array:
    """Where a record is a prefill server's: a worker's part, whose token went to the other one."""
    stopped = pc.and_(pc.equal(reason["type"], "length"), pc.equal(reason["length"], 0))
    return pc.and_(pc.fill_null(stopped, False), pc.is_valid(asked["bootstrap_room"]))


def _of_either_kind(
    times: _Times, is_half: pa.Array, is_body: pa.Array, clock: str
) -> dict[str, pa.Array]:
    """Columns in which a prefill server's half differs from the view of an answer."""
    first_ns = unless(is_body, times.first_ns)
    last_ns = unless(pc.or_(pc.is_null(first_ns), is_half), times.finished_ns)
    return {
        "vantage": pc.if_else(is_half, "engine", "gateway"),
        "received_ns": unless(is_half, times.received_ns),
        "arrival_ns": pc.if_else(is_half, times.received_ns, None),
        "first_token_ns": pc.if_else(is_half, times.prefilled_ns, first_ns),
        "last_token_ns": last_ns,
        "prefill_worker": pc.if_else(is_half, clock, None),
        "handoff_source": pc.if_else(is_half, "log", None),
        "last_prefill_token": pc.if_else(is_half, pa.scalar(1, pa.int32()), None),
    }
