"""AIPerf `profile_export_raw.jsonl`: every SSE event of every request, with its receipt time.

Times are on the client host's monotonic clock. The wall times in `metadata` are not mixed with
them: they give the clock's offset to wall time, over the run, and a label.
"""

from array import array
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from tokengap.adapters.formats.aiperf_raw.record import RECORDS
from tokengap.adapters.formats.aiperf_raw.requests import requests
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.clocks import beside_wall
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.threads import read_in_order
from tokengap.adapters.source import Source


class AiperfRaw:
    """Reads AIPerf's raw export."""

    name = "aiperf-raw"
    version = 1
    about = About(
        reads="AIPerf profile_export_raw.jsonl (--export-level raw)",
        vantage="client",
        granularity="chunk; token where counts prove it",
        clock="monotonic ns",
        ttft="yes",
        worst_gap="yes",
        handoff="stream, if declared",
        checked="AIPerf 0.13.0",
    )
    supersedes: tuple[str, ...] = ("aiperf",)
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a raw record."""
        return wants(head, "metadata", "start_perf_ns", "responses")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request and choice; the clock's wall offset goes to `intake`."""
        for source in sources:
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    clock = intake.source_id(source)
    wall_ahead_ns = array("q")
    for found in read_in_order(partial(RECORDS.read, source), source.blocks(), intake):
        refused: dict[int, LineError] = {}
        for row, (number, request) in enumerate(
            zip(found.numbers.tolist(), requests(found.rows), strict=True)
        ):
            try:
                streams = list(request.streams(str(number), clock, f"{clock}:{number}"))
            except LineError as error:
                refused[row] = error
                continue
            yield from streams
            if not request.metadata.was_cancelled:  # then the two were not read together
                wall_ahead_ns.append(request.metadata.request_start_ns - request.start_ns)
        for line, why in zip(found.lines(list(refused)), refused.values(), strict=True):
            intake.reject(source, line, why.reason, why.field, why.value)
    offset = beside_wall(clock, clock, wall_ahead_ns, "request_start_ns - start_perf_ns")
    if offset is not None:
        intake.clocks.append(offset)
