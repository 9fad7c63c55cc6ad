"""From the columns of AIPerf's records to rows of `streams`."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Events, Ints, count_source_code, running_times
from tokengap.adapters.formats.aiperf.record import GAPS, NS_PER_MS
from tokengap.adapters.rows import assemble
from tokengap.adapters.shared.aiperf_metadata import Failure, outcome
from tokengap.adapters.shared.json_columns import column, there, values
from tokengap.adapters.shared.list_cells import lists
from tokengap.adapters.shared.nested import prefixed, text_maps

ROUNDING_NS: Final = 1_000
"""Sums of rounded milliseconds may differ by this much; anything more is a missing event."""

_PROMPT_TOKENS: Final = ("usage_prompt_tokens", "input_sequence_length", "error_isl")
_USAGE, _EVENTS, _RECOUNT = map(count_source_code, ("usage", "events", "retokenised"))


@dataclass(frozen=True)
class _Ends:
    """How requests ended by the tool's own record, in words and in three parts.

    answered: it reports no failure. refused: an HTTP error, so there was no stream.
    """

    statuses: list[str]
    kinds: list[str | None]
    answered: Bools
    cancelled: Bools
    refused: Bools


@dataclass(frozen=True)
class _Answers:
    """The events of requests: `sizes[r]` of request r, in `times_ns` end to end.

    streamed: False where the answer came as one body. lost: not all events are known.
    """

    sizes: Ints
    times_ns: Ints
    streamed: Bools
    lost: Bools


def batch(rows: pa.RecordBatch, lines: Ints, source_id: str, trace: str) -> pa.RecordBatch:
    """One row per request; `lines` are the numbers of their lines."""
    ends = _ends(rows)
    answers = _answers(rows, ends.answered)
    facts: dict[str, Any] = {
        "trace": trace, "attempt": 0, "choice": 0, "vantage": "client", "clock": source_id,
        "clock_kind": "wall", "marks": [],
    }  # fmt: skip
    facts |= _names(rows, pc.cast(pa.array(lines), pa.string()), source_id)
    facts |= _times(rows, ends)
    facts["status"] = pa.array(ends.statuses, pa.string())
    facts["error_kind"] = pa.array(ends.kinds, pa.string())
    prompts = pc.coalesce(*(column(rows, "metrics", tag, "value") for tag in _PROMPT_TOKENS))
    facts["prompt_tokens"] = pc.cast(prompts, pa.int32())
    lost = answers.lost | ~(ends.answered | ends.refused)
    notes = {"end_not_seen": ends.answered, "events_lost": lost}
    return assemble(facts, _events(rows, ends, answers), notes)


def _names(rows: pa.RecordBatch, lines: pa.Array, source_id: str) -> dict[str, pa.Array]:
    metadata = {name: column(rows, "metadata", name) for name in (
        "x_request_id", "x_correlation_id", "conversation_id", "turn_index",
    )}  # fmt: skip
    request_id = metadata["x_request_id"]
    ids = {"x_request_id": request_id, "x_correlation_id": metadata["x_correlation_id"]}
    turn = pc.cast(metadata["turn_index"], pa.string())
    labels = {"session": metadata["conversation_id"], "turn": turn}
    return {
        "request_id": pc.coalesce(request_id, lines),
        "ids": text_maps("ids", ids, rows.num_rows),
        "labels": text_maps("labels", labels, rows.num_rows),
        "source": prefixed(f"{source_id}:", lines),
    }


def _times(rows: pa.RecordBatch, ends: _Ends) -> dict[str, pa.Array]:
    """When requests began and ended.

    On a cancelled request the tool stamps the start too late and the end not at all; on one that
    was refused, it repeats the start as the end.
    """
    start_ns = column(rows, "metadata", "request_start_ns")
    first_ns, has_first = _duration(rows, "time_to_first_token")
    answer_ns, _ = _duration(rows, "time_to_first_output_token")
    reasoned = ends.answered & has_first & (answer_ns > first_ns)
    return {
        "planned_ns": column(rows, "metadata", "credit_issued_ns"),
        "sent_ns": pc.if_else(
            pa.array(ends.cancelled), column(rows, "trace_data", "request_send_start_ns"), start_ns
        ),
        "stream_close_ns": pc.if_else(
            pa.array(ends.cancelled | ends.refused),
            pa.scalar(None, pa.int64()),
            column(rows, "metadata", "request_end_ns"),
        ),
        "first_answer_ns": pa.array(values(start_ns) + answer_ns, mask=~reasoned),
    }


def _ends(rows: pa.RecordBatch) -> _Ends:
    was_cancelled = values(column(rows, "metadata", "was_cancelled"))
    has_error = there(column(rows, "error"))
    statuses: list[str] = ["completed"] * rows.num_rows
    kinds: list[str | None] = [None] * rows.num_rows
    unanswered = np.flatnonzero(was_cancelled | has_error)
    errors = column(rows, "error").take(pa.array(unanswered)).to_pylist()
    for row, error in zip(unanswered.tolist(), errors, strict=True):
        failure = None if error is None else Failure(**error)
        status, kinds[row] = outcome(was_cancelled=bool(was_cancelled[row]), error=failure)
        statuses[row] = status or statuses[row]
    cancelled = np.array([status == "cancelled" for status in statuses], bool)
    has_code = there(column(rows, "error", "code"))
    return _Ends(statuses, kinds, ~(was_cancelled | has_error), cancelled, has_code & ~cancelled)


def _answers(rows: pa.RecordBatch, answered: Bools) -> _Answers:
    first_ns, has_first = _duration(rows, "time_to_first_token")
    latency_ns, has_latency = _duration(rows, "request_latency")
    gaps, offsets, _ = lists(column(rows, "metrics", GAPS, "value"))
    begun = answered & has_first
    some = answered & (has_first | has_latency)
    gap_counts = np.where(begun, np.diff(offsets), 0)
    start_ns = values(column(rows, "metadata", "request_start_ns"))
    # An answer that was not streamed came when the request ended.
    head_ns = start_ns + np.where(begun, first_ns, latency_ns)
    gaps_ns = _rounded_ns(values(gaps))[np.repeat(begun, np.diff(offsets))]
    times_ns = running_times(head_ns[some], gaps_ns, gap_counts[some])
    sizes = np.where(some, gap_counts + 1, 0)
    last_ns = np.zeros(len(sizes), np.int64)
    last_ns[some] = times_ns[np.cumsum(sizes)[some] - 1]
    early = has_latency & (np.abs(last_ns - start_ns - latency_ns) > ROUNDING_NS)
    return _Answers(sizes, times_ns, ~some | has_first, answered & (~some | early))


def _events(rows: pa.RecordBatch, ends: _Ends, answers: _Answers) -> Events:
    usage = values(column(rows, "metrics", "usage_completion_tokens", "value"))
    recount = column(rows, "metrics", "output_sequence_length", "value")
    by_usage = ends.answered & (usage > 0)  # a server that does not count says 0
    by_recount = ends.answered & there(recount) & ~by_usage
    return Events(
        offsets=np.concatenate(([0], np.cumsum(answers.sizes))),
        times_ns=answers.times_ns,
        counts=np.zeros(len(answers.times_ns), np.int64),
        counts_source=np.full(rows.num_rows, _EVENTS),
        totals=np.where(by_usage, usage, np.where(by_recount, values(recount), -1)),
        totals_source=np.where(by_usage, _USAGE, np.where(by_recount, _RECOUNT, -1)),
        observed=(answers.sizes > 0) | ends.refused,
        streamed=answers.streamed,
    )


def _duration(rows: pa.RecordBatch, tag: str) -> tuple[Ints, Bools]:
    """A metric in ns, 0 where it is not there, and where it is."""
    ms = column(rows, "metrics", tag, "value")
    return _rounded_ns(values(ms)), there(ms)


def _rounded_ns(ms: npt.NDArray[Any]) -> Ints:
    rounded: Ints = np.rint(ms * NS_PER_MS).astype(np.int64)
    return rounded
