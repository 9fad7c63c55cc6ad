"""LLMServingSim's table of requests: simulated, one row each, every token's time in ns.

`TTFT` is counted from the arrival, and `ITL` is the gap before each later token, as text. A row
says which instance finished the request, not whether another one had begun it, so of a handoff
nothing is known unless it is declared. Every row is labelled as simulated.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Meta

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches, stage
from tokengap.adapters.shared.csv_rows import Csv, Rows
from tokengap.adapters.shared.lines import LineError, time_ns, tokens
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED, after_ns
from tokengap.adapters.source import Source
from tokengap.schema import TIME_LIMIT_NS

TIMES: Final = ("arrival", "end_time", "latency", "queuing_delay", "TTFT")
COLUMNS: Final = ("instance id", "request id", "model", "input", "output", *TIMES, "ITL")
UNSET: Final = -1

_WHOLE: Final = re.compile(r"-?\d{1,19}")
_GAPS: Final = msgspec.json.Decoder(list[Annotated[int, Meta(ge=-TIME_LIMIT_NS, le=TIME_LIMIT_NS)]])

Cells = dict[str, str | None]


class LlmServingSim:
    """Reads the requests of a simulation."""

    name = "llmservingsim"
    version = 1
    about = About(
        reads="LLMServingSim per-request CSV (simulated)",
        vantage="engine",
        granularity="token",
        clock="simulated ns",
        ttft="yes",
        worst_gap="yes",
        handoff="stream, if declared",
        checked="LLMServingSim @5daddb21",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Its columns."""
        return wants(head, "instance id", "request id", "queuing_delay", "TTFT", "ITL")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request; InputError if a column is missing."""
        for source in sources:
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    names, table = Names(), Csv(source)
    for block in table.blocks():
        for rows in table.rows(block, COLUMNS, intake):
            yield from _rows(rows, source, intake, names)


def _rows(rows: Rows, source: Source, intake: Intake, names: Names) -> Iterator[Stream]:
    clock = intake.source_id(source)
    columns = (rows.columns[name].to_pylist() for name in COLUMNS)
    for row, values in enumerate(zip(*columns, strict=True)):
        cells = dict(zip(COLUMNS, values, strict=True))
        try:
            stream = _request(cells, clock)
        except LineError as error:
            intake.reject(source, rows.place(row), error.reason, error.field, error.value)
        else:
            number = int(rows.numbers[row])
            stream.request_id = names.name(cells["request id"], number)
            stream.source = f"{clock}:{number}"
            yield stream


def _request(cells: Cells, clock: str) -> Stream:
    """Make the row; request id and source are the caller's to add."""
    arrival_ns, end_ns, latency_ns, queued_ns, ttft_ns = (_time_ns(cells, n) for n in TIMES)
    if arrival_ns is None:
        raise LineError("arrival: missing", "arrival")
    gaps_ns = _gaps_ns(cells)
    stream = Stream(
        request_id="",
        source="",
        status="in_flight" if end_ns is None else "completed",
        clock=clock,
        clock_kind="monotonic",
        vantage="engine",
        labels={"simulated": "LLMServingSim", "instance": cells["instance id"] or ""},
        model=cells["model"],
        prompt_tokens=tokens(_whole(cells, "input"), "input"),
        total_tokens=tokens(_whole(cells, "output"), "output"),
        total_source="usage",
        arrival_ns=arrival_ns,
        stream_close_ns=end_ns,
    )
    scheduled_ns = after_ns(arrival_ns, queued_ns, "queuing_delay")
    if scheduled_ns is not None:
        stream.stages = [stage("queue", arrival_ns, scheduled_ns, clock=clock)]
    first_ns = after_ns(arrival_ns, ttft_ns, "TTFT")
    if first_ns is None:
        stream.quality.append(SENTINEL_DROPPED)
    else:
        last_ns = time_ns(first_ns + int(gaps_ns.sum()), "ITL")
        stream.times_ns = first_ns + np.concatenate(([0], np.cumsum(gaps_ns)))
        told_ns = (end_ns, after_ns(arrival_ns, latency_ns, "latency"))
        stream.quality += _sum_notes(last_ns, told_ns)
    return stream


def _sum_notes(last_ns: int, told_ns: Iterable[int | None]) -> list[str]:
    """The last token is the end of the request, by both ways the row tells it."""
    others_ns = [end_ns for end_ns in told_ns if end_ns is not None and end_ns != last_ns]
    if not others_ns:
        return []
    return ["events_lost" if min(others_ns) > last_ns else CLOCK_CONTRADICTION]


def _whole(cells: Cells, column: str) -> int:
    text = cells[column]
    if text is None or not _WHOLE.fullmatch(text):
        raise LineError(f"{column}: a whole number expected", column, text)
    return int(text)


def _time_ns(cells: Cells, column: str) -> int | None:
    """Return a time; None for the simulator's -1."""
    value = _whole(cells, column)
    return None if value == UNSET else time_ns(value, column)


def _gaps_ns(cells: Cells) -> Ints:
    try:
        gaps = _GAPS.decode(cells["ITL"] or "")
    except msgspec.MsgspecError as error:
        raise LineError(f"ITL: a list of whole nanoseconds expected ({error})", "ITL") from error
    gaps_ns = np.array(gaps, np.int64)
    if not float(np.abs(gaps_ns).max(initial=0)) * len(gaps_ns) <= TIME_LIMIT_NS:
        raise LineError("ITL: gaps add up to more than 2^62 ns", "ITL")
    return gaps_ns
