"""SGLang `bench_serving --output-file --output-details`: JSON lines, one run in each.

All times are durations, so each request has a clock of its own that begins when it was sent.

Backend `sglang` (`/generate`) divides the gap before an event by the event's tokens and lists the
result once per token. An event of several tokens therefore shows as consecutive values that are
equal to the last bit; where no two are, every event held one token and the gaps are real. Where
some are equal, the row is `smeared`: each value is less than or equal to a real gap, the sum is
right, and the first token's place is right. Equal values are not added up to the gap they may come
from: two events can take equally long, and a sum would then be longer than any wait there was.

The other backends list one gap per event with text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools, Events, count_source_code
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.lone_requests import Run, batch
from tokengap.adapters.shared.outcomes import (
    KIND_LIMIT,
    error_kind,
    status_of_exception,
    status_of_reason,
)
from tokengap.adapters.shared.outer_values import outer_values, read
from tokengap.adapters.shared.parallel_arrays import Requests, requests
from tokengap.adapters.source import Line, Source
from tokengap.errors import InputError

_ADVICE: Final = "run bench_serving with --output-details"
_GENERATE: Final = frozenset({"sglang", "sglang-native"})
_ONE_GAP_PER_EVENT: Final = frozenset(
    {
        "sglang-oai",
        "sglang-oai-chat",
        "vllm",
        "vllm-chat",
        "lmdeploy",
        "lmdeploy-chat",
        "trt",
        "truss",
    }
)
_EVENT_WITHOUT_CHOICES: Final = "KeyError: 'choices'"


@dataclass(frozen=True)
class Summary:
    """What a line says of its run. counted: a recount of all texts agrees with `output_lens`."""

    backend: str
    counted: bool


class SglangBench:
    """Reads result files of SGLang's benchmark client."""

    name = "sglang-bench"
    version = 1
    about = About(
        reads="SGLang `bench_serving --output-file --output-details` JSONL",
        vantage="client",
        granularity="chunk; token where counts prove it",
        clock="durations, s",
        ttft="yes",
        worst_gap="yes; bounds where backend sglang got several tokens at once",
        handoff="stream, if declared",
        checked="SGLang 0.5.23",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a run's summary, which is there without the details, too."""
        return wants(head, "backend", "dataset_name", "sharegpt_output_len", "request_throughput")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request; InputError if no run in the file has per-request arrays."""
        for source in sources:
            yield from _batches(source, intake)


def _batches(source: Source, intake: Intake) -> Iterator[pa.RecordBatch]:
    problem: LineError | None = None
    first, usable = 0, False
    for trace, line in _numbered(source, intake.trace):
        try:
            values = outer_values(line.data)
            found = requests(values, _ADVICE, partial(_refuse, source, intake, first))
        except LineError as error:
            intake.reject(source, line, error.reason, error.field, error.value)
            problem = problem or error
        else:
            usable = True
            run = Run(intake.source_id(source), trace, first, _labels(values))
            yield _rows(_summary(values), found, run)
            first += found.entries
    if problem is not None and not usable:
        raise InputError(f"{source.name}: {problem.reason}")


def _summary(values: Mapping[str, msgspec.Raw]) -> Summary:
    tokens = read(values, "total_output_tokens", int)
    recount = read(values, "total_output_tokens_retokenized", int)
    counted = tokens is not None and tokens == recount
    return Summary(read(values, "backend", str) or "", counted)


def _labels(values: Mapping[str, msgspec.Raw]) -> dict[str, str]:
    named = {name: read(values, name, str) for name in ("backend", "dataset_name", "tag")}
    return {name: value for name, value in named.items() if value is not None}


def _refuse(source: Source, intake: Intake, first: int, row: int, error: LineError) -> None:
    intake.reject(source, first + row, error.reason, error.field, error.value)


def _numbered(source: Source, trace: str) -> Iterator[tuple[str, Line]]:
    """Yield each line with its run's trace: numbered where there are several."""
    lines = source.lines()
    ahead = list(islice(lines, 2))
    for number, line in enumerate(chain(ahead, lines), 1):
        yield f"{trace}.{number}" if len(ahead) > 1 else trace, line


def _rows(said: Summary, found: Requests, run: Run) -> pa.RecordBatch:
    outcomes = {error: _outcome(error) for error in set(found.errors)}
    completed = np.array([not error for error in found.errors], bool)
    smeared = _smeared(said, found)
    facts = {
        "status": [outcomes[error][0] for error in found.errors],
        "error_kind": [outcomes[error][1] for error in found.errors],
        "prompt_tokens": found.input_lens,
        "granularity": ["chunk" if each else None for each in smeared.tolist()],
    }
    notes = {
        "end_not_seen": completed,
        "sentinel_dropped": ~completed | ~found.begun,
        "in_band_error": np.array([_is_in_band(error) for error in found.errors], bool),
        "smeared": smeared,
    }
    return batch(run, found.rows, _events(said, found, completed & found.begun), facts, notes)


def _outcome(error: str) -> tuple[str, str | None]:
    """Read no error, a traceback, or an HTTP reason and the answer's body, which is not kept."""
    if not error:
        return "completed", None
    if error.startswith("Traceback"):
        kind = error_kind(error)
        return status_of_exception(kind), kind
    reason = error.partition(":")[0][:KIND_LIMIT]
    return status_of_reason(reason), reason or None


def _is_in_band(error: str) -> bool:
    """Whether the tool stumbled over an event without `choices`: the server's error object."""
    return error.rstrip().endswith(_EVENT_WITHOUT_CHOICES)


def _smeared(said: Summary, found: Requests) -> Bools:
    """Requests with two consecutive gaps that are equal to the last bit."""
    request = np.repeat(np.arange(len(found.rows)), found.sizes)
    equal = (found.gaps_s[1:] == found.gaps_s[:-1]) & (request[1:] == request[:-1])
    repeats = np.bincount(request[1:][equal], minlength=len(found.rows))
    return (repeats > 0) & (said.backend not in _ONE_GAP_PER_EVENT)


def _events(said: Summary, found: Requests, counted: Bools) -> Events:
    """The events, and how many tokens the requests had that are `counted`.

    `output_lens` is server usage, or what was asked for. `/generate` always counts, and lists one
    gap for every token after the first event's.
    """
    counts = np.zeros(found.offsets[-1], np.int64)
    usage = np.full(len(found.rows), said.counted) | (found.output_lens == found.sizes + 1)
    if said.backend in _GENERATE:
        usage[:] = True
        exact = counted & (found.output_lens > found.sizes)
        counts[np.repeat(exact, np.diff(found.offsets))] = 1
        counts[found.offsets[:-1][exact]] = (found.output_lens - found.sizes)[exact]
    sources = [count_source_code("usage"), count_source_code("requested")]
    return Events(
        offsets=found.offsets,
        times_ns=found.event_times_ns(),
        counts=counts,
        counts_source=np.full(len(found.rows), count_source_code("usage")),
        totals=np.where(counted, found.output_lens, -1),
        totals_source=np.where(counted, np.where(usage, *sources), -1),
        observed=np.ones(len(found.rows), bool),
        streamed=np.ones(len(found.rows), bool),
    )
