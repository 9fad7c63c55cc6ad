"""Envoy AI Gateway: access log lines in JSON, whose keys are the operator's choice.

Read are the keys of the gateway's documentation (`start_time`, `duration`, `response_code`,
`response_flags`, `x-request-id`, `gen_ai.*`, and the `genai_*` of earlier releases) and any key
that ends in `token_latency_ttft` or `token_latency_itl`. The gateway counts its time to first token
from the start of the upstream attempt, after routing, and in whole milliseconds: it is reported
under that formula, and no token gets a time. `token_latency_itl` is a mean. Lines without a model
are other traffic, and are passed over.

The OpenInference spans of the gateway's own tests have no times: they are recognised and rejected.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_columns
from tokengap.adapters.shared.columns import Columns, unless_0
from tokengap.adapters.shared.lines import Int64, LineError, shaped
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.nested import Reported, by_value, prefixed
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.outcomes import HTTP_ERROR, kinds_of_http, statuses_of_http
from tokengap.adapters.shared.record_files import read_pieces
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.source import Source

EXPECTED: Final = "JSON access log lines of Envoy AI Gateway"
TTFT: Final = "token_latency_ttft"
ITL: Final = "token_latency_itl"
TTFT_FORMULA: Final = "envoy-ai-gateway: first chunk - start of the upstream attempt, whole ms"
TPOT_FORMULA: Final = "envoy-ai-gateway: (end - first chunk) / (n - 1), a mean"
SPAN_EVENT: Final = b'"First Token Stream Event"'
NO_TIMES: Final = (
    "an OpenInference span without times: its authors took them out. Export spans with "
    "startTimeUnixNano and the time of each event"
)

NAMES: Final = {
    "model": ("gen_ai.response.model", "gen_ai.request.model", "genai_model_name"),
    "provider": ("gen_ai.provider.name", "genai_backend_name"),
    "prompt_tokens": ("gen_ai.usage.input_tokens", "genai_tokens_input"),
    "output_tokens": ("gen_ai.usage.output_tokens", "genai_tokens_output"),
    "request_id": ("x-request-id",),
    "start_time": ("start_time",),
    "duration": ("duration",),
    "response_code": ("response_code",),
    "response_flags": ("response_flags",),
}
"""Our names, and the keys that may hold them, the first that is there counts."""

CANCELLED: Final = ("DC", "DR")
"""Response flags: the client closed the connection, or reset the stream."""
CUT: Final = ("DT", "LR", "SI", "UC", "UF", "UPE", "UR", "UT", "URX", "NR", "UH", "UO", "DPE")
"""Response flags: the gateway or the server ended it before it was whole."""


class Entry(msgspec.Struct, gc=False):
    """One request under our names; ms."""

    start_time: str
    model: str | None = None
    provider: str | None = None
    prompt_tokens: Count | None = None
    output_tokens: Count | None = None
    request_id: str | None = None
    duration: float | None = None
    response_code: Int64 | None = None
    response_flags: str | None = None
    token_latency_ttft: float | None = None
    token_latency_itl: float | None = None


class EnvoyAiGateway:
    """Reads access logs of Envoy AI Gateway."""

    name = "envoy-ai-gateway"
    version = 1
    about = About(
        reads="Envoy AI Gateway access log, JSON lines",
        vantage="gateway",
        granularity="aggregate",
        clock="wall ms",
        ttft="no (its own, from the upstream attempt on)",
        worst_gap="no",
        handoff="no",
        checked=f"{FROM_DOCUMENTATION} (Envoy AI Gateway @c217da8a)",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Envoy's words beside the gateway's; or a span of its tests."""
        if SPAN_EVENT in head.data and {"name", "kind", "events"} <= head.keys:
            return Sniff(("start_time",))
        models = "|".join((*NAMES["model"], *NAMES["output_tokens"]))
        return wants(head, "start_time", "response_code", "response_flags", models)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request to a model."""
        for source in sources:
            make = partial(_rows, clock=intake.source_id(source), names=Names())
            pieces, records = (
                read_pieces(source, EXPECTED),
                BulkRecords(Entry, dict[str, Any], _entry),
            )
            yield from read_columns(source, intake, pieces, records, make)


def _entry(logged: dict[str, Any]) -> Entry:
    """Return the values under our names. Envoy writes - where it has none."""
    if "events" in logged and "start_time" not in logged:
        raise LineError(NO_TIMES)
    pairs = _pairs(tuple(logged))
    found = {ours: logged[key] for ours, key in pairs if logged[key] not in (None, "-", "")}
    return shaped(found, Entry)


@lru_cache(maxsize=64)  # the keys of a log are the same in every line
def _pairs(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return our name beside each key that is read: of several, the one that counts comes last."""
    found = [(ours, key) for ours, theirs in NAMES.items() for key in reversed(theirs)]
    found += [(name, key) for name in (TTFT, ITL) for key in keys if key.endswith(name)]
    return tuple((ours, key) for ours, key in found if key in keys)


def _rows(entries: Columns, clock: str, names: Names) -> Rows:
    entries.pass_over(pc.is_null(entries["model"]))
    received_ns = entries.wall_ns("start_time")
    close_ns = entries.after_ns(received_ns, entries.ms_ns("duration"), "duration")
    status, error_kind = _outcomes(entries)
    ttft_ns, tpot_ns = (entries.ms_ns(unless_0(entries[name]), name) for name in (TTFT, ITL))
    facts = {
        "request_id": entries.named(names, entries["request_id"]),
        "status": status,
        "error_kind": error_kind,
        "clock": clock,
        "clock_kind": "wall",
        "vantage": "gateway",
        "model": entries["model"],
        "prompt_tokens": entries["prompt_tokens"],
        "output_tokens": entries["output_tokens"],
        "received_ns": received_ns,
        "stream_close_ns": close_ns,
    }
    return Rows(
        entries.numbers,
        entries.sieve,
        facts,
        ids={"x_request_id": entries["request_id"]},
        labels={"provider": entries["provider"]},
        reported=[
            Reported.of("ttft_from_upstream", TTFT_FORMULA, ttft_ns),
            Reported.of("tpot", TPOT_FORMULA, tpot_ns),
        ],
        notes={"end_not_seen": pc.equal(status, "completed")},
    )


def _outcomes(entries: Columns) -> tuple[pa.Array, pa.Array]:
    """Status and error kind. Of a stream that began well only the flags tell how it ended."""
    codes = pc.fill_null(entries["response_code"], 0)
    flags = by_value(entries["response_flags"], _flagged)
    cancelled = pc.fill_null(pc.is_in(flags, pa.array(CANCELLED)), False)
    refused = pc.greater_equal(codes, HTTP_ERROR)
    unanswered = pc.if_else(pc.equal(codes, 0), "no_response", None)
    cut = pc.coalesce(prefixed("envoy_", flags), unanswered)
    status = pc.if_else(pc.is_valid(cut), "failed", "completed")
    status = pc.if_else(refused, statuses_of_http(codes), status)
    kind = kinds_of_http(codes, cut)
    return pc.if_else(cancelled, "cancelled", status), pc.if_else(cancelled, None, kind)


def _flagged(flags: str) -> str | None:
    """The flag that tells how it ended: that the client left, else the first that cut it."""
    found = flags.split(",")
    return next((flag for kind in (CANCELLED, CUT) for flag in found if flag in kind), None)
