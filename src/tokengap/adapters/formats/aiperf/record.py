"""One record of `profile_export.jsonl`, and whether it can be used."""

from typing import Any, Final

import msgspec

from tokengap.adapters.shared.aiperf_metadata import Failure, Metadata
from tokengap.adapters.shared.lines import LineError, optional_time_ns, tokens
from tokengap.adapters.shared.records import Records
from tokengap.schema import TIME_LIMIT_NS

NS_PER_MS: Final = 1_000_000
UNIT: Final = "ms"

DURATIONS: Final = ("time_to_first_token", "time_to_first_output_token", "request_latency")
GAPS: Final = "inter_chunk_latency"
COUNTS: Final = (
    "usage_prompt_tokens",
    "input_sequence_length",
    "error_isl",
    "usage_completion_tokens",
    "output_sequence_length",
)


class Metric(msgspec.Struct, gc=False):
    """One number of a request."""

    unit: str
    value: int | float | None = None


class Gaps(msgspec.Struct, gc=False):
    """The durations between the events of a request."""

    unit: str
    value: list[float] | None = None


class Metrics(msgspec.Struct, gc=False):
    """Those that are read, under the tool's names."""

    time_to_first_token: Metric | None = None
    time_to_first_output_token: Metric | None = None
    inter_chunk_latency: Gaps | None = None
    request_latency: Metric | None = None
    usage_prompt_tokens: Metric | None = None
    input_sequence_length: Metric | None = None
    error_isl: Metric | None = None
    usage_completion_tokens: Metric | None = None
    output_sequence_length: Metric | None = None

    def check(self) -> None:
        """LineError if one is not what its name says."""
        for tag in DURATIONS:
            metric: Metric | None = getattr(self, tag)
            if metric is not None and metric.value is not None:
                _check_ms(metric.value, metric.unit, f"metrics.{tag}")
        for tag in COUNTS:
            metric = getattr(self, tag)
            if metric is not None and metric.value is not None:
                tokens(metric.value, f"metrics.{tag}.value")
        gaps = self.inter_chunk_latency
        if gaps is not None and gaps.value:
            for ms in (min(gaps.value), max(gaps.value), sum(gaps.value)):
                _check_ms(ms, gaps.unit, f"metrics.{GAPS}")


class Trace(msgspec.Struct, gc=False):
    """Part of `trace_data`; wall ns."""

    request_send_start_ns: Any = None


class Record(msgspec.Struct, gc=False):
    """One request."""

    metadata: Metadata
    metrics: Metrics
    trace_data: Trace | None = None
    error: Failure | None = None

    def fields(self) -> dict[str, Any]:
        """Return its fields; LineError if it is no part of the measurement, or a number is none."""
        self.metadata.check()
        self.metrics.check()
        if self.trace_data is not None:
            sent_ns = self.trace_data.request_send_start_ns
            optional_time_ns(sent_ns, "trace_data.request_send_start_ns")
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields


RECORDS: Final = Records(Record, non_finite=True)


def _check_ms(value: float, unit: str, field: str) -> None:
    if unit != UNIT:
        raise LineError(f"{field}: unit ms expected", f"{field}.unit", unit)
    if not 0 <= value * NS_PER_MS <= TIME_LIMIT_NS:  # NaN is not either
        raise LineError(f"{field}: durations expected", f"{field}.value", value)
