"""`vllm bench serve --save-result --save-detailed`: one JSON document per run, parallel arrays.

Floats are seconds on the client's monotonic clock. Each is rounded to ns by itself, so the gaps
are stored as the file has them. In chat runs the first chunk is the role event: `ttfts` is its
time, and the first token comes `itls[0]` later. Failed requests are rows of zeros. An answer that
was cut in the middle is not told from a whole one: a completed row's end was not seen.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools, Events, count_source_code
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.lines import LineError, time_ns
from tokengap.adapters.shared.lone_requests import Run, batch
from tokengap.adapters.shared.outcomes import error_kind, status_of_exception
from tokengap.adapters.shared.outer_values import outer_values, read
from tokengap.adapters.shared.parallel_arrays import Entry, Requests, requests, rounded_ns
from tokengap.adapters.shared.seconds import seconds_ns
from tokengap.adapters.source import Source
from tokengap.errors import InputError

START: Final = "start_times"
QUEUE: Final = "queue_times"
CHAT: Final = "openai-chat"
REFUSED: Final = frozenset({"Too Many Requests", "Service Unavailable"})

_ADVICE: Final = "save the run with --save-detailed, by a vLLM that writes `start_times`"


class Row(Entry, kw_only=True):
    """One request; seconds."""

    start_times: float
    queue_times: float = 0.0

    def check(self) -> None:
        """LineError also if the request was sent, or planned, at no time."""
        super().check()
        sent_ns = seconds_ns(self.start_times, START)
        time_ns(sent_ns - seconds_ns(self.queue_times, QUEUE), f"{START} - {QUEUE}")


class VllmBench:
    """Reads result files of vLLM's benchmark client."""

    name = "vllm-bench"
    version = 1
    about = About(
        reads="vLLM `vllm bench serve --save-result --save-detailed` JSON",
        vantage="client",
        granularity="chunk; token where counts prove it",
        clock="monotonic s",
        ttft="yes",
        worst_gap="yes",
        handoff="stream, if declared",
        checked="vLLM 0.32.0",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a result; SGLang's looks alike but counts no failures."""
        return wants(head, "duration", "completed", "failed", "endpoint_type|start_times")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request; InputError if the file lacks the per-request arrays."""
        for source in sources:
            yield from _read(source, intake)


def _read(source: Source, intake: Intake) -> Iterator[pa.RecordBatch]:
    runs = _runs(source)
    first = 0
    for number, values in enumerate(runs, 1):
        suffix = f".{number}" if len(runs) > 1 else ""
        refuse = partial(_refuse, source, intake, first)
        try:
            found = requests(values, _ADVICE, refuse, Row)
        except LineError as error:
            raise InputError(f"{source.name}: {error.reason}") from error
        source_id = intake.source_id(source)
        run = Run(source_id, f"{intake.trace}{suffix}", first, _labels(values))
        yield _rows(found, run, values, clock=f"{source_id}{suffix}")
        first += found.entries


def _refuse(source: Source, intake: Intake, first: int, row: int, error: LineError) -> None:
    intake.reject(source, first + row, error.reason, error.field, error.value)


def _runs(source: Source) -> list[dict[str, msgspec.Raw]]:
    """Decode the run in the file, or the runs that `--append-result` wrote, one a line."""
    data = source.read()
    try:
        return [outer_values(data)]
    except LineError as error:
        lines = [line for line in data.splitlines() if line.strip()]
        with suppress(LineError):
            if len(lines) > 1:
                return [outer_values(line) for line in lines]
        raise InputError(
            f"{source.name}: {error.reason}; expected one JSON object per run, as "
            "`vllm bench serve --save-result --save-detailed` writes it"
        ) from error


def _labels(values: Mapping[str, msgspec.Raw]) -> dict[str, str]:
    named = {name: read(values, name, str) for name in ("backend", "label")}
    return {name: value for name, value in named.items() if value is not None}


def _rows(
    found: Requests, run: Run, values: Mapping[str, msgspec.Raw], clock: str
) -> pa.RecordBatch:
    sent_ns = rounded_ns(found.others_s[START])
    times_ns = found.event_times_ns() + np.repeat(sent_ns, np.diff(found.offsets))
    has_role = found.begun & (read(values, "endpoint_type", str) == CHAT)
    statuses, kinds = _outcomes(found)
    completed = np.array([status == "completed" for status in statuses], bool)
    facts = {
        "clock": clock,
        "status": statuses,
        "error_kind": kinds,
        "model": read(values, "model_id", str),
        "prompt_tokens": found.input_lens,
        "sent_ns": pa.array(sent_ns),
        "planned_ns": _planned_ns(found),
        "marks": _role_marks(found, has_role, times_ns),
    }
    notes = {"end_not_seen": completed, "sentinel_dropped": ~completed}
    events = _events(found, has_role, times_ns, completed)
    return batch(run, found.rows, events, facts, notes)


def _planned_ns(found: Requests) -> pa.Array | None:
    if QUEUE not in found.others_s:
        return None
    return pa.array(rounded_ns(found.others_s[START]) - rounded_ns(found.others_s[QUEUE]))


def _outcomes(found: Requests) -> tuple[list[str], list[str | None]]:
    known = {error: _outcome(error) for error in set(found.errors)}
    outcomes = [
        known[error] if error or begun else ("failed", "no_first_token")
        for error, begun in zip(found.errors, found.begun.tolist(), strict=True)
    ]
    return [status for status, _ in outcomes], [kind for _, kind in outcomes]


def _outcome(error: str) -> tuple[str, str | None]:
    if not error:
        return "completed", None
    kind = error_kind(error)
    return "rejected" if kind in REFUSED else status_of_exception(kind), kind


def _role_marks(found: Requests, has_role: Bools, times_ns: Any) -> list[list[dict[str, Any]]]:
    marks: list[list[dict[str, Any]]] = [[] for _ in found.rows]
    first_ns = times_ns[found.offsets[:-1][has_role]]
    for row, t_ns in zip(np.flatnonzero(has_role).tolist(), first_ns.tolist(), strict=True):
        marks[row] = [{"kind": "role", "t_ns": t_ns}]
    return marks


def _events(found: Requests, has_role: Bools, times_ns: Any, completed: Bools) -> Events:
    """Return the events that carry tokens, and how many tokens each request had.

    `output_lens` is server usage or a recount, and the file does not say which. Usage cannot be
    less than one token per chunk. A 0 beside a failure is a default value.
    """
    carries = np.ones(len(times_ns), bool)
    carries[found.offsets[:-1][has_role]] = False
    sizes = np.diff(found.offsets) - has_role
    usage = completed & (found.output_lens >= sizes)
    known = completed | (found.output_lens > 0)
    sources = np.where(usage, *map(count_source_code, ("usage", "retokenised")))
    return Events(
        offsets=np.concatenate(([0], np.cumsum(sizes))),
        times_ns=times_ns[carries],
        counts=np.zeros(int(sizes.sum()), np.int64),
        counts_source=np.full(len(sizes), count_source_code("events")),
        totals=np.where(known, found.output_lens, -1),
        totals_source=np.where(known, sources, -1),
        observed=np.ones(len(sizes), bool),
        streamed=np.ones(len(sizes), bool),
    )
