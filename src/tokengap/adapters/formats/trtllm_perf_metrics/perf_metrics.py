"""TensorRT-LLM `/perf_metrics`: stamps of each request, of a worker or of two workers joined.

The server of a split deployment joins its own stamps, those of the worker that read the prompt and
made one token (`ctx`), and those of the worker that made the others (`gen`). All are seconds of
steady clocks, which each worker brings to the server's by an offset measured once, at its start.
A record becomes one engine row of both workers and a gateway row of the server. Where its stamps
contradict the order of things, no span across clocks can be true: then each worker gets a row and a
clock of its own, noted `clock_contradiction`. A row of a worker's own file is that worker's half.

With `step_metrics`, each step of the engine is a delivery; how many tokens it made is not logged.
Records may also be answers of Triton's backend, which hold the stamps of their own request.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from tokengap.adapters.formats.trtllm_perf_metrics import request, triton
from tokengap.adapters.formats.trtllm_perf_metrics.record import Record
from tokengap.adapters.formats.trtllm_perf_metrics.request import Request
from tokengap.adapters.formats.trtllm_perf_metrics.triton import Answer
from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.record_files import read_records
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Line, Source

EXPECTED: Final = "what TensorRT-LLM's /perf_metrics returns: an array of records, or one a line"
TRITON: Final = "first_scheduled_time_ns"

RECORDS: Final = Records(Record)
ANSWERS: Final = Records(Answer)


class TrtllmPerfMetrics:
    """Reads per-request metrics of TensorRT-LLM."""

    name = "trtllm-perf-metrics"
    version = 1
    about = About(
        reads="TensorRT-LLM /perf_metrics, JSON or JSONL; Triton answers with perf metrics",
        vantage="engine, gateway",
        granularity="step; aggregate without step_metrics",
        clock="monotonic s, shifted to the server's",
        ttft="yes",
        worst_gap="yes, with step_metrics",
        handoff="engine, relay, transfer, decode_wait, ttft",
        checked=f"{FROM_DOCUMENTATION} (TensorRT-LLM @21bcac53)",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a record, of one worker or of two, or of Triton's answer."""
        return wants(head, f"ctx_perf_metrics|gen_perf_metrics|perf_metrics|{TRITON}")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per worker, or pair of workers, and one of the server before them."""
        for source in sources:
            yield from record_batches(_File(source, intake).streams(), intake.trace)


class _File:
    """The records of one file, each request once."""

    def __init__(self, source: Source, intake: Intake) -> None:
        self._source = source
        self._intake = intake
        self._clock = intake.source_id(source)
        self._answers = TRITON.encode() in source.head
        self._names = Names()
        self._latest: dict[str, list[int]] = {}

    def streams(self) -> Iterator[Stream]:
        """Yield the rows of every record, in the order of the file."""
        for index, (place, data) in enumerate(read_records(self._source, EXPECTED)):
            try:
                found = self._request(data)
                self._refuse_copy(found)
            except LineError as error:
                self._intake.reject(self._source, place, error.reason, error.field, error.value)
            else:
                yield from self._named(found, place, index)

    def _request(self, data: bytes) -> Request:
        if self._answers:
            return triton.request_of(ANSWERS.decode(data), self._clock)
        return request.request_of(RECORDS.decode(data), self._clock)

    def _refuse_copy(self, found: Request) -> None:
        """Refuse a record of a request that is there: several ranks may each write one.

        Ids begin again when a server is started again; that request was at another time.
        """
        if found.name is None:
            return
        earlier = self._latest.get(found.name)
        if earlier and max(min(earlier), min(found.extent)) <= min(max(earlier), max(found.extent)):
            raise LineError("another record of the same request and time came before")
        self._latest[found.name] = [min(found.extent), max(found.extent)]

    def _named(self, found: Request, place: Line | int, index: int) -> Iterator[Stream]:
        name = self._names.name(found.name, index)
        ids = found.ids
        if not ids and len(found.rows) > 1:
            ids = {"trtllm_request_id": f"{self._clock}:{name}"}
        at = place.number if isinstance(place, Line) else place
        for row in found.rows:
            row.request_id = name + row.request_id
            row.ids = ids
            row.source = f"{self._clock}:{at}"
            yield row
