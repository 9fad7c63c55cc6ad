"""One record of `profile_export_raw.jsonl`, alone and in columns, and whether it can be used."""

from typing import Any, Final

import msgspec
import pyarrow as pa

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.shared.aiperf_metadata import (
    FAILURE,
    METADATA,
    Failure,
    Metadata,
    sound_metadata,
)
from tokengap.adapters.shared.json_columns import JsonColumns, are_times, column, there, values
from tokengap.adapters.shared.lines import Int64, time_ns
from tokengap.adapters.shared.list_cells import in_rows, lists
from tokengap.adapters.shared.records import Records
from tokengap.adapters.shared.requests import body_in

_NOTHING: Final = msgspec.Raw(b"null")


class Packet(msgspec.Struct, gc=False):
    """One field of an SSE event."""

    name: str
    value: str | None = None


class Response(msgspec.Struct, gc=False):
    """One SSE event, or one whole body (`text`) of an answer that was not streamed."""

    perf_ns: Any
    packets: list[Packet] | None = None
    text: str | None = None


class Record(msgspec.Struct, gc=False):
    """One request."""

    metadata: Metadata
    start_perf_ns: Any
    responses: list[Response]
    status: Int64 | None = None
    error: Failure | None = None
    payload: msgspec.Raw = _NOTHING

    def fields(self) -> dict[str, Any]:
        """Return its fields; LineError if it is no part of the measurement, or a time is none.

        Of the payload, in which clients send anything, only the model and the limit are kept.
        """
        self.metadata.check()
        time_ns(self.start_perf_ns, "start_perf_ns")
        for response in self.responses:
            time_ns(response.perf_ns, "responses.perf_ns")
        ahead_ns = self.metadata.request_start_ns - self.start_perf_ns
        time_ns(ahead_ns, "metadata.request_start_ns - start_perf_ns")
        asked = body_in(self.payload)
        return {
            "metadata": msgspec.to_builtins(self.metadata),
            "start_perf_ns": self.start_perf_ns,
            "responses": msgspec.to_builtins(self.responses),
            "status": self.status,
            "error": msgspec.to_builtins(self.error),
            "payload": {"model": asked.model_name, "max_tokens": asked.tokens},
        }


_SCHEMA: Final = pa.schema({
    "metadata": METADATA,
    "start_perf_ns": pa.int64(),
    "responses": pa.list_(pa.struct({
        "perf_ns": pa.int64(),
        "packets": pa.list_(pa.struct({"name": pa.string(), "value": pa.string()})),
        "text": pa.string(),
    })),
    "status": pa.int64(),
    "error": FAILURE,
    "payload": pa.struct({
        "model": pa.string(), "max_completion_tokens": pa.int64(), "max_tokens": pa.int64(),
    }),
})  # fmt: skip


def _sound(rows: pa.RecordBatch) -> Bools:
    """Rows that `Record` would take, with all its fields; False where that is not sure."""
    start_ns = column(rows, "start_perf_ns")
    wall_ns = values(column(rows, "metadata", "request_start_ns"))
    good = sound_metadata(rows) & there(start_ns) & there(column(rows, "responses"))
    good &= are_times(values(start_ns)) & are_times(wall_ns - values(start_ns))
    responses, offsets, _ = lists(column(rows, "responses"))
    return good & ~in_rows(~_sound_responses(responses), offsets)


def _sound_responses(responses: pa.Array) -> Bools:
    perf_ns = responses.field("perf_ns")
    packets, offsets, _ = lists(responses.field("packets"))
    nameless = ~(there(packets) & there(packets.field("name")))
    good = there(responses) & there(perf_ns) & are_times(values(perf_ns))
    return good & ~in_rows(nameless, offsets)


RECORDS: Final = JsonColumns(_SCHEMA, _sound, Records(Record, non_finite=True), Record.fields)
