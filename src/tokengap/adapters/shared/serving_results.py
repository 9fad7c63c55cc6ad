"""Result files of `benchmark_serving.py`: vLLM's before `vllm bench serve`, and TensorRT-LLM's.

One JSON document per run, durations only. `ttfts` and `itls` have one entry per event with
`choices`, whether it carries a token or not: the role event that begins a chat answer counts, and
so does an event that only ends one. More events than tokens show that there was one. Where it
cannot be told which of them it was, those that may be it are left out as lost: the gaps between the
others are real.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools, Events, Ints, count_source_code
from tokengap.adapters.interface import Intake
from tokengap.adapters.rows import reported
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.lone_requests import Run, batch
from tokengap.adapters.shared.outcomes import error_kind, status_of_exception, status_of_reason
from tokengap.adapters.shared.outer_values import outer_values, read
from tokengap.adapters.shared.parallel_arrays import (
    NOT_MEASURED,
    Requests,
    requests,
    rounded_ns,
)
from tokengap.adapters.source import Source
from tokengap.errors import InputError

ROLE_AND_FINISH: Final = 2

_ADVICE: Final = "run benchmark_serving with --save-result and --save-detailed"
_CHAT: Final = ("openai-chat", "openai-audio")
_TTFT: Final = "benchmark_serving: first event with choices, token or not"


@dataclass(frozen=True)
class Kept:
    """Which events are taken for tokens. doubt: requests where one that was left out may be one."""

    drop_first: Bools
    drop_last: Bools
    doubt: Bools
    mismatch: Bools

    def sizes(self, found: Requests) -> Ints:
        """Events of each request that are left."""
        left: Ints = np.diff(found.offsets) - self.drop_first - self.drop_last
        return np.maximum(left, 0)

    def events(self, found: Requests) -> Bools:
        """Which events are left."""
        left = np.ones(found.offsets[-1], bool)
        left[found.offsets[:-1][self.drop_first]] = False
        left[found.offsets[1:][self.drop_last] - 1] = False
        return left


def read_result(source: Source, intake: Intake) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a run; InputError if the file lacks the per-request arrays."""

    def refuse(row: int, error: LineError) -> None:
        intake.reject(source, row, error.reason, error.field, error.value)

    try:
        values = outer_values(source.read())
        found = requests(values, _ADVICE, refuse)
    except LineError as error:
        raise InputError(
            f"{source.name}: {error.reason}; expected one JSON object of one run"
        ) from error
    backend = read(values, "endpoint_type", str) or read(values, "backend", str)
    labels = {"backend": backend} if backend else {}
    run = Run(intake.source_id(source), intake.trace, labels=labels)
    yield _rows(found, run, read(values, "model_id", str), chat=backend in _CHAT)


def _rows(found: Requests, run: Run, model: str | None, *, chat: bool) -> pa.RecordBatch:
    silent = ~found.begun & (found.output_lens == 0)
    statuses, kinds = _outcomes(found.errors, silent)
    completed = np.array([status == "completed" for status in statuses], bool)
    kept = _kept(found, completed, chat=chat)
    times_ns = found.event_times_ns()
    facts: dict[str, Any] = {
        "status": statuses,
        "error_kind": kinds,
        "model": model,
        "prompt_tokens": found.input_lens,
        "stream_close_ns": _closes_ns(found, times_ns),
        **_left_out(found, kept, times_ns),
    }
    notes = {
        "end_not_seen": completed,
        "sentinel_dropped": ~completed | ~found.begun,
        "first_events_lost": kept.doubt & kept.drop_first,
        "events_lost": kept.doubt,
        "count_mismatch": kept.mismatch,
    }
    return batch(run, found.rows, _events(found, kept, times_ns, completed), facts, notes)


def _outcomes(errors: list[str], silent: Bools) -> tuple[list[str], list[str | None]]:
    """Read `errors`. A failure may leave no words, and then only lacks tokens."""
    outcomes = {error: _outcome(error) for error in set(errors)}
    outcomes[""] = ("completed", None)
    found = [
        ("failed", "no_first_token") if not error and idle else outcomes[error]
        for error, idle in zip(errors, silent.tolist(), strict=True)
    ]
    return [status for status, _ in found], [kind for _, kind in found]


def _outcome(error: str) -> tuple[str, str | None]:
    kind = error_kind(error)
    if error.startswith("Traceback"):
        return status_of_exception(kind), kind
    return status_of_reason(kind), kind


def _kept(found: Requests, completed: Bools, *, chat: bool) -> Kept:
    extra = np.where(completed, np.diff(found.offsets) - found.output_lens, 0)
    both = (extra == ROLE_AND_FINISH) & chat
    first = found.begun & chat & (~completed | (extra > 0))
    last = found.begun & (extra > 0)
    return Kept(first, last, doubt=(first | last) & ~both, mismatch=(extra > 0) & ~both)


def _closes_ns(found: Requests, times_ns: Ints) -> pa.Array:
    """When the stream ended; NULL if not logged, as of failed requests, where 0 is a default."""
    closes_ns = rounded_ns(found.e2els_s)
    last_ns = np.zeros(len(found.rows), np.int64)
    last_ns[found.begun] = times_ns[found.offsets[1:][found.begun] - 1]
    return pa.array(closes_ns, mask=(closes_ns <= 0) | (closes_ns < last_ns))


def _left_out(found: Requests, kept: Kept, times_ns: Ints) -> dict[str, Any]:
    """Marks of events that are known to hold no token, and the time of a first one in doubt."""
    marks: list[list[dict[str, object]]] = [[] for _ in found.rows]
    tools: list[list[dict[str, object]] | None] = [None] * len(marks)
    for row in np.flatnonzero(kept.drop_first).tolist():
        first, last = found.offsets[row], found.offsets[row + 1] - 1
        first_ns, last_ns = int(times_ns[first]), int(times_ns[last])
        if kept.doubt[row]:
            tools[row] = [reported("ttft", first_ns, _TTFT)]
        else:
            marks[row] = [{"kind": "role", "t_ns": first_ns}, {"kind": "finish", "t_ns": last_ns}]
    return {"marks": marks, "reported": tools}


def _events(found: Requests, kept: Kept, times_ns: Ints, completed: Bools) -> Events:
    """Return the events with tokens; a body that came at once is one.

    A failed request's number of tokens is a default value, and one that is less than the events is
    a recount.
    """
    bodies = completed & (found.ttfts_s == NOT_MEASURED) & (found.e2els_s > 0)
    left = kept.events(found)
    sizes = kept.sizes(found) + bodies
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    times = np.zeros(offsets[-1], np.int64)
    body = np.zeros(len(times), bool)
    body[offsets[:-1][bodies]] = True
    times[~body] = times_ns[left]
    times[body] = rounded_ns(found.e2els_s[bodies])
    usage = np.where(found.output_lens >= sizes, *map(count_source_code, ("usage", "retokenised")))
    return Events(
        offsets=offsets,
        times_ns=times,
        counts=np.zeros(len(times), np.int64),
        counts_source=np.full(len(sizes), count_source_code("events")),
        totals=np.where(completed, found.output_lens, -1),
        totals_source=np.where(completed, usage, -1),
        observed=found.begun | bodies | ~completed,
        streamed=~bodies,
    )
