"""What both AIPerf exports say of a request in the same words: ids, phase, and how it ended."""

from typing import Any

import msgspec

from tokengap.adapters.shared.lines import LineError, optional_time_ns, time_ns
from tokengap.adapters.shared.outcomes import status_of_exception, status_of_http

CANCELLED_CODE = 499


class Failure(msgspec.Struct, gc=False):
    """The record's `error`: an HTTP answer has a code, an exception has none."""

    type: str | None = None
    code: int | None = None


class Metadata(msgspec.Struct):
    """The record's `metadata`; stamps are wall ns."""

    x_request_id: str | None = None
    x_correlation_id: str | None = None
    conversation_id: str | None = None
    turn_index: int | None = None
    credit_issued_ns: Any = None
    request_start_ns: Any = None
    request_end_ns: Any = None
    benchmark_phase: str | None = None
    was_cancelled: bool = False

    def refuse_warmup(self) -> None:
        """LineError for a warm-up request: it is no part of what was measured."""
        if self.benchmark_phase == "warmup":
            raise LineError(
                "warm-up request, not part of the measured phase",
                "metadata.benchmark_phase",
                self.benchmark_phase,
            )

    @property
    def start_ns(self) -> int:
        """Wall time just before the HTTP call; on a cancelled request, of the cancellation."""
        return time_ns(self.request_start_ns, "metadata.request_start_ns")

    @property
    def end_ns(self) -> int | None:
        """Wall time of the last event."""
        return optional_time_ns(self.request_end_ns, "metadata.request_end_ns")

    @property
    def credit_ns(self) -> int | None:
        """Wall time at which the load generator released the request."""
        return optional_time_ns(self.credit_issued_ns, "metadata.credit_issued_ns")

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


def outcome(metadata: Metadata, error: Failure | None) -> tuple[str | None, str | None]:
    """Status and error kind by the tool's own record; (None, None) if it reports no failure."""
    code = error.code if error else None
    kind = (error.type if error else None) or (f"http_{code}" if code else "error")
    if metadata.was_cancelled or code == CANCELLED_CODE:
        return "cancelled", kind if error else None
    if error is None:
        return None, None
    return (status_of_exception(kind) if code is None else status_of_http(code)), kind
