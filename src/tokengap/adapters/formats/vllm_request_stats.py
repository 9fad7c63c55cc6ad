"""vLLM `RequestStateStats`, as scripts dump `RequestOutput.metrics`: JSON, a record per request.

One record holds two clocks: `arrival_time` is wall time of the API process, the other stamps are
the engine core's monotonic clock. They are never subtracted from each other (in one run of 300
requests the two drift apart by 0.1 to 0.4 s), so the wait before the queue, and with it TTFT, is
not known. 0.0 is a stamp that was never set. No end is logged: a request that got a token counts
as completed.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_columns
from tokengap.adapters.shared.columns import Columns, unless_0
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.nested import Reported, Stage, reported_lists
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.record_files import read_pieces
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.stamps import (
    CLOCK_CONTRADICTION,
    SENTINEL_DROPPED,
    any_unset,
    out_of_order,
)
from tokengap.adapters.shared.vllm_ids import engine_id_columns
from tokengap.adapters.source import Source

EXPECTED: Final = "records with vLLM's queued_ts, scheduled_ts, first_token_ts and last_token_ts"
STAMPS: Final = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
TTFT_FORMULA: Final = "vllm: first output at the API process - arrival_time, on its wall clock"


class Record(msgspec.Struct, gc=False):
    """One request; seconds. The counts go by vLLM's own names and by those of bench scripts."""

    request_id: str | None = None
    arrival_time: float | None = None
    queued_ts: float | None = None
    scheduled_ts: float | None = None
    first_token_ts: float | None = None
    last_token_ts: float | None = None
    first_token_latency: float | None = None
    input_toks: Count | None = None
    output_toks: Count | None = None
    num_generation_tokens: Count | None = None


class VllmRequestStats:
    """Reads dumps of vLLM's own stamps of each request."""

    name = "vllm-request-stats"
    version = 1
    about = About(
        reads="vLLM RequestStateStats dumped as JSON or JSONL",
        vantage="engine",
        granularity="aggregate",
        clock="monotonic s; arrival on another clock",
        ttft="no",
        worst_gap="bounds",
        handoff="no",
        checked="vLLM 0.19.0",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """The engine core's stamps."""
        return wants(head, "queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            make = partial(_rows, clock=intake.source_id(source), names=Names())
            pieces = read_pieces(source, EXPECTED)
            yield from read_columns(source, intake, pieces, BulkRecords(Record, Record), make)


def _rows(records: Columns, clock: str, names: Names) -> Rows:
    stamps_ns = [records.seconds_ns(unless_0(records[name]), name) for name in STAMPS]
    queued_ns, scheduled_ns, first_ns, last_ns = stamps_ns
    latency_s = unless_0(records["first_token_latency"])
    latency_ns = records.seconds_ns(latency_s, "first_token_latency")
    began = pc.is_valid(first_ns)
    facts = {
        "request_id": records.named(names, records["request_id"]),
        "status": pc.if_else(began, "completed", "failed"),
        "error_kind": pc.if_else(began, None, "no_first_token"),
        "clock": clock,
        "clock_kind": "monotonic",
        "vantage": "engine",
        "first_token_ns": first_ns,
        "last_token_ns": last_ns,
        "output_tokens": records.any_of("output_toks", "num_generation_tokens"),
        "prompt_tokens": records["input_toks"],
        "reported": reported_lists([Reported.of("ttft", TTFT_FORMULA, latency_ns)], len(records)),
    }
    return Rows(
        records.numbers,
        records.sieve,
        facts,
        ids=engine_id_columns(records["request_id"]),
        labels={"arrival_wall_s": records.numerals("arrival_time")},
        stages=[
            Stage("queue", queued_ns, scheduled_ns, clock=clock),
            Stage("prefill", scheduled_ns, first_ns, clock=clock),
        ],
        notes={
            SENTINEL_DROPPED: any_unset([records[name] for name in STAMPS]),
            CLOCK_CONTRADICTION: out_of_order(stamps_ns),
            "end_not_seen": began,
        },
    )
