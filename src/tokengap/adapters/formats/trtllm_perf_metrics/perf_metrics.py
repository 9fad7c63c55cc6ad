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
from functools import partial
from typing import Any, Final

import pyarrow as pa

from tokengap.adapters.formats.trtllm_perf_metrics.record import Record, alone
from tokengap.adapters.formats.trtllm_perf_metrics.requests import Log
from tokengap.adapters.formats.trtllm_perf_metrics.split import split_rows
from tokengap.adapters.formats.trtllm_perf_metrics.triton import Answer, triton_rows
from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_kinds
from tokengap.adapters.shared.record_files import holds_lines, read_pieces
from tokengap.adapters.source import Source

EXPECTED: Final = "what TensorRT-LLM's /perf_metrics returns: an array of records, or one a line"
TRITON: Final = "first_scheduled_time_ns"


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
            log = Log(intake.source_id(source), first=int(holds_lines(source)))
            is_triton = TRITON.encode() in source.head
            records: BulkRecords[Any] = (
                BulkRecords(Answer, Answer) if is_triton else BulkRecords(Record, Record, alone)
            )
            make = partial(triton_rows if is_triton else split_rows, log=log)
            yield from read_kinds(source, intake, read_pieces(source, EXPECTED), records, make)
