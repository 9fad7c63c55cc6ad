"""NVIDIA Dynamo's request trace, JSONL, and answers that hold the same timing in `nvext`.

All is measured by the frontend: it stamps a request's arrival in wall time and counts durations
from there on its monotonic clock. A trace holds the timing of requests with agent or session
headers; of any other only arrival and lengths, and it becomes a workload row. Records may stand
bare, or as `event` of an object that its writer stamped.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from tokengap.adapters.formats.dynamo_trace import answer, request
from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_columns
from tokengap.adapters.shared.names import Attempts, Names
from tokengap.adapters.shared.record_files import read_pieces
from tokengap.adapters.shared.unfinished import Unfinished
from tokengap.adapters.source import Source

EXPECTED: Final = "records of Dynamo's request trace, or answers with `nvext.timing`"

_SCHEMA: Final = re.compile(rb'"schema"\s*:\s*"dynamo\.(?:request|agent)\.trace\.v')


class Record(request.Event, gc=False):
    """A record of a trace, bare or wrapped."""

    event: request.Event | None = None


class DynamoTrace:
    """Reads what Dynamo's frontend measured."""

    name = "dynamo-trace"
    version = 1
    about = About(
        reads="NVIDIA Dynamo request trace JSONL; answers with nvext.timing",
        vantage="gateway",
        granularity="aggregate; workload without timing",
        clock="wall ms, and ms since then",
        ttft="yes, of either worker's first token by version",
        worst_gap="bounds",
        handoff="gateway",
        checked=f"{FROM_DOCUMENTATION} (Dynamo @08036c33)",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """The schema that a trace names in its first record, or the extension of an answer."""
        if _is_trace(head.data):
            return Sniff(("schema dynamo.request.trace.v1",))
        wanted = wants(head, "nvext|timing", "nvext|worker_id|timing")
        missing = () if b'"request_received_ms"' in head.data else ("request_received_ms",)
        return Sniff((*wanted.wanted, "request_received_ms"), (*wanted.missing, *missing))

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            read = _traced if _is_trace(source.head) else _answered
            yield from read(source, intake)


def _is_trace(head: bytes) -> bool:
    return _SCHEMA.search(head) is not None


def _traced(source: Source, intake: Intake) -> Iterator[pa.RecordBatch]:
    make = partial(request.rows, clock=intake.source_id(source), attempts=Attempts())
    records = BulkRecords(request.Event, Record, _event)
    yield from read_columns(source, intake, read_pieces(source, EXPECTED), records, make)


def _event(record: Record) -> request.Event:
    return record.event or record


def _answered(source: Source, intake: Intake) -> Iterator[pa.RecordBatch]:
    unfinished = Unfinished()
    make = partial(
        answer.rows, clock=intake.source_id(source), names=Names(), unfinished=unfinished
    )
    records = BulkRecords(answer.Answer, answer.Answer, answer.extended)
    yield from read_columns(source, intake, read_pieces(source, EXPECTED), records, make)
    unfinished.report(source, intake, answer.UNFINISHED)
