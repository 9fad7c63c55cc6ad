"""The canonical tables: every column's type, unit, meaning, and when it is NULL.

Times are integer nanoseconds on the clock the row names. `NULL` means not known or not
measurable, `0` means measured and zero. A column keeps its Parquet field id for ever;
columns are only added.
"""

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 1

VANTAGES: Final = ("client", "gateway", "engine")  # outermost first
ORIGINS: Final = ("planned", "sent", "received", "arrival")
STATUSES: Final = (
    "completed",
    "failed",
    "timed_out",
    "rejected",
    "truncated",
    "cancelled",
    "in_flight",
)
GRANULARITIES: Final = ("token", "chunk", "step", "aggregate", "workload")
COUNT_SOURCES: Final = ("usage", "token_ids", "events", "retokenised", "requested")

STAGES: Final = (
    "queue",
    "prefill",
    "kv_bootstrap",
    "kv_transfer",
    "relay",
    "decode_queue",
    "decode_first_step",
    "postprocess",
)

NOTES: Final = {
    "clock_contradiction": "stamps break an order that must hold: a clock stepped or drifted",
    "coalesced_reads": "several deliveries came in one read: bursts are artefacts of transport",
    "count_mismatch": "events and token count differ: the average may be an interval",
    "cut_by_other_log": "complete in its own log, and proved cut by another one",
    "delivery_pause": "the worst gap ends in a burst that catches up: made on the way, not at the server",
    "drawn_from_distribution": "the file gives distributions, from which requests were drawn",
    "duplicate_dropped": "repeated records were counted once",
    "empty_text_left_out": "events with empty text were not counted as tokens",
    "end_not_seen": "the log keeps no end marks: a cut stream looks complete",
    "events_lost": "deliveries are missing",
    "fact_conflict": "the log states a fact twice with different values; the first counts",
    "failures_not_kept": "the tool logs no failed request: attainment is not over all offered",
    "first_events_lost": "the oldest deliveries are missing, so TTFT is not known",
    "ids_ambiguous": "its ids stand for several requests, and times do not tell which: not joined",
    "in_band_error": "the stream carried an error object: it counts as failed",
    "negative_span": "a handoff is negative: the clocks are skewed; it is kept",
    "negative_stage": "a stage ends before it starts: its clock stepped; it is kept",
    "non_monotonic": "a gap is negative: the clock stepped back",
    "not_streamed": "the answer came as one body",
    "order_assumed": "no index in the log: file order was taken",
    "rejected_records": "records were quarantined",
    "sentinel_dropped": "values that stand for no measurement were dropped",
    "smeared": "the tool divided gaps over the tokens of an event",
    "start_before_client": "the logged start lies before the client was set up: the origin is dropped",
    "tokens_are_events": "only events could be counted: TPOT is per event",
}
"""What limits the trust in a stream (`streams.quality`), or shows when all logs are read."""

TIME_LIMIT_NS: Final = 2**62 - 1
"""A stamp outside +-TIME_LIMIT_NS is refused: the difference of any two then fits int64."""


@dataclass(frozen=True)
class Column:
    """One column of a canonical table."""

    name: str
    type: pa.DataType
    field_id: int
    unit: str
    doc: str

    @property
    def field(self) -> pa.Field:
        """The Arrow field, carrying its Parquet field id."""
        return pa.field(self.name, self.type, metadata={"PARQUET:field_id": str(self.field_id)})


def _item(name: str, type_: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, type_, metadata={"PARQUET:field_id": str(field_id)})


def _list(field_id: int, type_: pa.DataType) -> pa.DataType:
    return pa.list_(_item("element", type_, field_id))


def _text_map(field_id: int) -> pa.DataType:
    key = pa.field("key", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(field_id)})
    return pa.map_(key, _item("value", pa.string(), field_id + 1))


_TEXT, _INT, _BIG = pa.string(), pa.int32(), pa.int64()

_REPORTED = pa.struct(
    [
        _item("metric", _TEXT, 1301),
        _item("value_ns", _BIG, 1302),
        _item("formula", _TEXT, 1303),
    ]
)
_STAGE = pa.struct(
    [
        _item("name", _TEXT, 1401),
        _item("start_ns", _BIG, 1402),
        _item("end_ns", _BIG, 1403),
        _item("duration_ns", _BIG, 1404),
        _item("worker", _TEXT, 1405),
        _item("clock", _TEXT, 1406),
    ]
)
_MARK = pa.struct([_item("kind", _TEXT, 1501), _item("t_ns", _BIG, 1502)])

# fmt: off
STREAM_COLUMNS: Final = (
    Column("trace", _TEXT, 1, "", "Run the stream belongs to: `--trace`, else the file's stem."),
    Column("request_id", _TEXT, 2, "", "The log's id, else the index in the file."),
    Column("attempt", _INT, 3, "", "From 0; a retry is a new attempt."),
    Column("choice", _INT, 4, "", "From 0; answers of an n > 1 request."),
    Column("vantage", _TEXT, 5, "", "Where times were stamped: client, gateway or engine; NULL if the log does not say."),
    Column("ids", _text_map(1001), 6, "", "Every id that can join vantages, by name."),
    Column("clock", _TEXT, 7, "", "Id of the clock the stamps are on."),
    Column("clock_kind", _TEXT, 8, "", "wall or monotonic."),
    Column("granularity", _TEXT, 9, "", "What one delivery is: token, chunk, step; aggregate if none is known; workload: only arrivals and lengths."),
    Column("status", _TEXT, 10, "", "completed, failed, timed_out, rejected, truncated, cancelled, in_flight."),
    Column("error_kind", _TEXT, 11, "", "Class of the failure; NULL unless something failed."),
    Column("finish_reason", _TEXT, 12, "", "As the server gave it; NULL if not logged."),
    Column("deployment", _TEXT, 13, "", "NULL if unknown."),
    Column("model", _TEXT, 14, "", "NULL if unknown."),
    Column("tenant", _TEXT, 15, "", "NULL if unknown."),
    Column("slo_class", _TEXT, 16, "", "NULL if unknown."),
    Column("labels", _text_map(1101), 17, "", "Anything else worth keeping, never prompt or answer text."),
    Column("prompt_tokens", _INT, 18, "tokens", "NULL if unknown."),
    Column("cached_prompt_tokens", _INT, 19, "tokens", "NULL if unknown."),
    Column("requested_output_tokens", _INT, 20, "tokens", "Upper limit the client asked for; NULL if unknown."),
    Column("output_tokens", _INT, 21, "tokens", "Tokens delivered; NULL if unknown."),
    Column("token_count_source", _TEXT, 22, "", "usage, token_ids, events, retokenised or requested, in falling trust."),
    Column("planned_ns", _BIG, 23, "ns", "When the load generator meant to send; NULL if not logged."),
    Column("sent_ns", _BIG, 24, "ns", "When the client sent; NULL if not logged."),
    Column("received_ns", _BIG, 25, "ns", "When the gateway received; NULL if not logged."),
    Column("arrival_ns", _BIG, 26, "ns", "When the engine received; NULL if not logged."),
    Column("stream_close_ns", _BIG, 27, "ns", "End of the stream, terminator included; NULL if not logged."),
    Column("first_token_ns", _BIG, 28, "ns", "Time of the first delivery; NULL without one."),
    Column("gaps_ns", _list(1201, _BIG), 29, "ns", "The gap before each later delivery, in index order; [] with fewer than two deliveries, NULL if deliveries are unknown."),
    Column("min_gap_ns", _BIG, 30, "ns", "Least of gaps_ns; NULL without gaps."),
    Column("token_counts", _list(1202, _INT), 31, "tokens", "Tokens per delivery; NULL is one each where deliveries equal output_tokens, else unknown."),
    Column("first_answer_ns", _BIG, 32, "ns", "First answer text, where reasoning comes before it; else NULL."),
    Column("last_token_ns", _BIG, 33, "ns", "Aggregate sources only."),
    Column("reported", pa.list_(_item("element", _REPORTED, 1300)), 34, "", "Numbers of the tool that cannot be recomputed, with their formula."),
    Column("last_prefill_token", _INT, 35, "", "k: token k is the last one the prefill side delivers; NULL if not known."),
    Column("handoff_source", _TEXT, 36, "", "log, or none (known to have no handoff); NULL if not known."),
    Column("prefill_worker", _TEXT, 37, "", "NULL if unknown."),
    Column("decode_worker", _TEXT, 38, "", "NULL if unknown."),
    Column("kv_bytes", _BIG, 39, "bytes", "KV cache handed over; NULL if unknown."),
    Column("stages", pa.list_(_item("element", _STAGE, 1400)), 40, "", "Named intervals inside the system; start and end NULL where only the duration is logged."),
    Column("marks", pa.list_(_item("element", _MARK, 1500)), 41, "", "Events that carry no token."),
    Column("quality", _list(1203, _TEXT), 42, "", "Notes on how far the row can be trusted."),
    Column("source", _TEXT, 43, "", "adapter:source digest:line or index the row came from."),
)

CLOCK_COLUMNS: Final = (
    Column("id", _TEXT, 1, "", "Clock named by `streams.clock` or a stage."),
    Column("reference", _TEXT, 2, "", "Clock the offset is against."),
    Column("offset_ns", _BIG, 3, "ns", "Clock time minus reference time; positive if this clock runs ahead."),
    Column("uncertainty_ns", _BIG, 4, "ns", "Half width of the offset's interval; NULL if unknown."),
    Column("how", _TEXT, 5, "", "How the offset was obtained."),
    Column("source", _TEXT, 6, "", "adapter:source digest it was read from."),
)

REJECT_COLUMNS: Final = (
    Column("source", _TEXT, 1, "", "adapter:source digest."),
    Column("source_name", _TEXT, 2, "", "File as the user named it."),
    Column("line", _BIG, 3, "", "Line (from 1) or index (from 0) of the record."),
    Column("offset", _BIG, 4, "bytes", "Where the record starts in the uncompressed file; NULL if not line based."),
    Column("length", _BIG, 5, "bytes", "Its length; NULL if not line based."),
    Column("sha256", _TEXT, 6, "", "Digest of the record's bytes; NULL if not line based."),
    Column("reason", _TEXT, 7, "", "What is wrong with it."),
    Column("field", _TEXT, 8, "", "The offending field, where one can be named."),
    Column("value", _TEXT, 9, "", "Its value, cut to 80 characters; NULL where it may hold text."),
)
# fmt: on


def arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of a canonical table."""
    return pa.schema([column.field for column in columns])


STREAMS: Final = arrow_schema(STREAM_COLUMNS)
CLOCKS: Final = arrow_schema(CLOCK_COLUMNS)
REJECTS: Final = arrow_schema(REJECT_COLUMNS)

STREAM_KEY: Final = ("trace", "request_id", "attempt", "choice", "vantage")
"""Unique per store."""
