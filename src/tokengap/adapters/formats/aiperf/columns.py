"""Records of `profile_export.jsonl` as columns: all of a piece of the file at once."""

from typing import Final

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.formats.aiperf.record import COUNTS, DURATIONS, GAPS, NS_PER_MS, UNIT
from tokengap.adapters.shared.aiperf_metadata import FAILURE, METADATA, sound_metadata
from tokengap.adapters.shared.json_columns import are_times, column, is_text, there, values
from tokengap.adapters.shared.lines import COUNT_LIMIT
from tokengap.adapters.shared.list_cells import in_rows, lists
from tokengap.schema import TIME_LIMIT_NS


def _metric(value: pa.DataType) -> pa.DataType:
    return pa.struct({"value": value, "unit": pa.string()})


SCHEMA: Final = pa.schema({
    "metadata": METADATA,
    "metrics": pa.struct(
        dict.fromkeys(DURATIONS, _metric(pa.float64()))
        | dict.fromkeys(COUNTS, _metric(pa.int64()))
        | {GAPS: _metric(pa.list_(pa.float64()))}
    ),
    "trace_data": pa.struct({"request_send_start_ns": pa.int64()}),
    "error": FAILURE,
})  # fmt: skip
"""`Record` in columns."""


def sound(rows: pa.RecordBatch) -> Bools:
    """Rows that `Record` would take and that pass its `check`; False where that is not sure."""
    good = sound_metadata(rows) & there(column(rows, "metrics"))
    good &= are_times(values(column(rows, "trace_data", "request_send_start_ns")))
    for tag in COUNTS:
        tokens = values(column(rows, "metrics", tag, "value"))
        good &= (tokens >= 0) & (tokens <= COUNT_LIMIT) & _has_unit(rows, tag)
    for tag in DURATIONS:
        ms = values(column(rows, "metrics", tag, "value"))
        good &= (ms >= 0) & (ms * NS_PER_MS <= TIME_LIMIT_NS) & _has_unit(rows, tag, UNIT)
    good &= _sound_gaps(rows)
    return good


def _sound_gaps(rows: pa.RecordBatch) -> Bools:
    gaps, offsets, _ = lists(column(rows, "metrics", GAPS, "value"))
    ms = values(gaps)
    longest_ms = ms.max(initial=0) * np.diff(offsets)
    fit: Bools = longest_ms * NS_PER_MS <= TIME_LIMIT_NS
    return ~in_rows(~(there(gaps) & (ms >= 0)), offsets) & fit & _has_unit(rows, GAPS, UNIT)


def _has_unit(rows: pa.RecordBatch, tag: str, unit: str | None = None) -> Bools:
    """Rows whose metric of this name, if they have it, has that unit, or any."""
    units = column(rows, "metrics", tag, "unit")
    has_unit = there(units) if unit is None else is_text(units, unit)
    good: Bools = has_unit | ~there(column(rows, "metrics", tag))
    return good
