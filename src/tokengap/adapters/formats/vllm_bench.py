"""`vllm bench serve --save-result --save-detailed`: one JSON document per run, parallel arrays.

Floats are seconds on the client's monotonic clock. Each is rounded to ns by itself, so the gaps
are stored as the file has them. In chat runs the first chunk is the role event: `ttfts` is its
time, and the first token comes `itls[0]` later. Failed requests are rows of zeros. An answer that
was cut in the middle is not told from a whole one: a completed row's end was not seen.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.lines import LineError, decode, shaped, time_ns
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.outcomes import error_kind, status_of_exception
from tokengap.adapters.source import Source
from tokengap.errors import InputError
from tokengap.schema import TIME_LIMIT_NS

NS_PER_S: Final = 1_000_000_000
DETAIL: Final = ("start_times", "ttfts", "itls", "input_lens", "output_lens", "errors")
QUEUE: Final = "queue_times"
CHAT: Final = "openai-chat"
REFUSED: Final = frozenset({"Too Many Requests", "Service Unavailable"})


class Row(msgspec.Struct):
    """One request; seconds."""

    start_times: float
    ttfts: float
    itls: list[float]
    input_lens: Count
    output_lens: Count
    errors: str
    queue_times: float | None = None


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
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    runs = _runs(source)
    record = 0
    for number, run in enumerate(runs, 1):
        suffix = f".{number}" if len(runs) > 1 else ""
        columns = _columns(run, source.name)
        for index, values in enumerate(zip(*columns.values(), strict=True)):
            try:
                row = shaped(dict(zip(columns, values, strict=True)), Row)
                stream = _request(row, run)
            except LineError as error:
                intake.reject(source, record, error.reason, error.field, error.value)
            else:
                stream.request_id = str(index)
                stream.source = f"{intake.source_id(source)}:{record}"
                stream.clock = f"{intake.source_id(source)}{suffix}"
                stream.trace = f"{intake.trace}{suffix}"
                yield stream
            record += 1


def _runs(source: Source) -> list[dict[str, Any]]:
    """Decode the run in the file, or the runs that `--append-result` wrote, one a line."""
    data = source.read()
    try:
        return [decode(data, non_finite=True)]
    except LineError as error:
        lines = [line for line in data.splitlines() if line.strip()]
        with suppress(LineError):
            if len(lines) > 1:
                return [decode(line, non_finite=True) for line in lines]
        raise InputError(
            f"{source.name}: {error.reason}; expected one JSON object per run, as "
            "`vllm bench serve --save-result --save-detailed` writes it"
        ) from error


def _columns(run: dict[str, Any], name: str) -> dict[str, list[Any]]:
    """Return the arrays of the run, one entry per request in each."""
    if missing := [column for column in DETAIL if column not in run]:
        raise InputError(
            f"{name}: {', '.join(missing)} missing, so it holds no gap of any request; save the "
            "run with --save-detailed, by a vLLM that writes `start_times`"
        )
    columns: dict[str, Any] = {c: run[c] for c in (*DETAIL, QUEUE) if c in run}
    if wrong := [column for column, values in columns.items() if not isinstance(values, list)]:
        raise InputError(
            f"{name}: {', '.join(wrong)}: an array with one entry per request expected"
        )
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{column} {len(values)}" for column, values in columns.items())
        raise InputError(f"{name}: arrays of unequal length ({lengths}): the file is damaged")
    return columns


def _request(row: Row, run: dict[str, Any]) -> Stream:
    """Make the row's stream; request id, source and clock are the caller's to add."""
    sent_ns = _ns(row.start_times, "start_times")
    chunks_ns = _chunks_ns(row, sent_ns)
    status, kind = _status(row, seen=len(chunks_ns) > 0)
    stream = Stream(
        request_id="",
        source="",
        status=status,
        error_kind=kind,
        clock_kind="monotonic",
        times_ns=chunks_ns,
        model=_text(run.get("model_id")),
        labels={k: v for k in ("backend", "label") if (v := _text(run.get(k))) is not None},
        prompt_tokens=row.input_lens,
        sent_ns=sent_ns,
    )
    if row.queue_times is not None:
        planned_ns = sent_ns - _ns(row.queue_times, QUEUE)
        stream.planned_ns = time_ns(planned_ns, f"start_times - {QUEUE}")
    if run.get("endpoint_type") == CHAT and len(chunks_ns):
        stream.marks = [("role", int(chunks_ns[0]))]
        stream.times_ns = chunks_ns[1:]
    _fill_total(stream, row)
    return stream


def _ns(seconds: float, field: str) -> int:
    if not abs(seconds * NS_PER_S) <= TIME_LIMIT_NS:  # NaN is not either
        raise LineError(f"{field}: seconds expected", field, seconds)
    return round(seconds * NS_PER_S)


def _chunks_ns(row: Row, sent_ns: int) -> Ints:
    """Return the times of all chunks; [] where the zeros of a failed row stand for none."""
    ttft_ns = _ns(row.ttfts, "ttfts")
    if ttft_ns < 0 or (ttft_ns == 0 and row.itls):
        raise LineError("ttfts: a time above 0 expected", "ttfts", row.ttfts)
    if ttft_ns == 0:
        return np.zeros(0, np.int64)
    gaps_s = np.array(row.itls, np.float64)
    longest_ns = float(np.abs(gaps_s).max(initial=0)) * NS_PER_S
    if not abs(sent_ns) + ttft_ns + longest_ns * len(gaps_s) <= TIME_LIMIT_NS:
        raise LineError("itls: seconds expected", "itls")
    gaps_ns = np.rint(gaps_s * NS_PER_S).astype(np.int64)
    return sent_ns + ttft_ns + np.concatenate(([0], np.cumsum(gaps_ns)))


def _status(row: Row, *, seen: bool) -> tuple[str, str | None]:
    if not row.errors:
        return ("completed", None) if seen else ("failed", "no_first_token")
    kind = error_kind(row.errors)
    return "rejected" if kind in REFUSED else status_of_exception(kind), kind


def _fill_total(stream: Stream, row: Row) -> None:
    """`output_lens` is server usage or a recount, and the file does not say which.

    Usage cannot be less than one token per chunk. A 0 beside a failure is a default value.
    """
    events = 0 if stream.times_ns is None else len(stream.times_ns)
    completed = stream.status == "completed"
    if completed or row.output_lens:
        usage = completed and row.output_lens >= events
        stream.total_tokens = row.output_lens
        stream.total_source = "usage" if usage else "retokenised"
    stream.quality.append("end_not_seen" if completed else "sentinel_dropped")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
