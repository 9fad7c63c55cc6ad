"""What both AIPerf exports say of a request in the same words: ids, phase, and how it ended."""

from typing import Any, Final

import msgspec
import pyarrow as pa

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.shared.json_columns import are_times, column, is_text, there, values
from tokengap.adapters.shared.lines import Int64, LineError, optional_time_ns, time_ns
from tokengap.adapters.shared.outcomes import status_of_exception, status_of_http

CANCELLED_CODE: Final = 499
WARMUP: Final = "warmup"

METADATA: Final = pa.struct({
    "x_request_id": pa.string(), "x_correlation_id": pa.string(), "conversation_id": pa.string(),
    "turn_index": pa.int64(), "credit_issued_ns": pa.int64(), "request_start_ns": pa.int64(),
    "request_end_ns": pa.int64(), "benchmark_phase": pa.string(), "was_cancelled": pa.bool_(),
})  # fmt: skip
"""`Metadata` as a column."""
FAILURE: Final = pa.struct({"type": pa.string(), "code": pa.int64()})
"""`Failure` as a column."""


class Failure(msgspec.Struct, gc=False):
    """The record's `error`: an HTTP answer has a code, an exception has none."""

    type: str | None = None
    code: Int64 | None = None


class Metadata(msgspec.Struct, gc=False):
    """The record's `metadata`; stamps are wall ns."""

    x_request_id: str | None = None
    x_correlation_id: str | None = None
    conversation_id: str | None = None
    turn_index: Int64 | None = None
    credit_issued_ns: Any = None
    request_start_ns: Any = None
    request_end_ns: Any = None
    benchmark_phase: str | None = None
    was_cancelled: bool = False

    def check(self) -> None:
        """LineError for a warm-up request, which is no part of what was measured, or a bad time."""
        if self.benchmark_phase == WARMUP:
            raise LineError(
                "warm-up request, not part of the measured phase",
                "metadata.benchmark_phase",
                self.benchmark_phase,
            )
        time_ns(self.request_start_ns, "metadata.request_start_ns")
        for name in ("request_end_ns", "credit_issued_ns"):
            optional_time_ns(getattr(self, name), f"metadata.{name}")

    @property
    def ids(self) -> dict[str, str]:
        """Ids that were also sent as HTTP headers."""
        found = {"x_request_id": self.x_request_id, "x_correlation_id": self.x_correlation_id}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def labels(self) -> dict[str, str]:
        """Session and turn."""
        found = {"session": self.conversation_id, "turn": self.turn_index}
        return {name: str(value) for name, value in found.items() if value is not None}


def sound_metadata(rows: pa.RecordBatch) -> Bools:
    """Rows whose `metadata` passes its `check`; False where that is not sure."""
    good = there(column(rows, "metadata", "request_start_ns"))
    good &= there(column(rows, "metadata", "was_cancelled"))
    good &= ~is_text(column(rows, "metadata", "benchmark_phase"), WARMUP)
    for name in ("request_start_ns", "request_end_ns", "credit_issued_ns"):
        good &= are_times(values(column(rows, "metadata", name)))
    return good


def outcome(*, was_cancelled: bool, error: Failure | None) -> tuple[str | None, str | None]:
    """Status and error kind by the tool's own record; (None, None) if it reports no failure."""
    code = error.code if error else None
    kind = (error.type if error else None) or (f"http_{code}" if code else "error")
    if was_cancelled or code == CANCELLED_CODE:
        return "cancelled", kind if error else None
    if error is None:
        return None, None
    return (status_of_exception(kind) if code is None else status_of_http(code)), kind
