"""TensorRT-LLM `benchmark_serving --save-result --save-detailed`: one JSON document per run."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.serving_results import read_result
from tokengap.adapters.source import Source


class TrtllmBench:
    """Reads result files of TensorRT-LLM's benchmark client."""

    name = "trtllm-bench"
    version = 1
    about = About(
        reads="TensorRT-LLM `benchmark_serving --save-result --save-detailed` JSON",
        vantage="client",
        granularity="chunk; token where counts prove it",
        clock="durations, s",
        ttft="yes, unless a role event may stand first",
        worst_gap="yes; bounds where there are more events than tokens",
        handoff="stream, if declared",
        checked=FROM_DOCUMENTATION,
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a result; the last is TensorRT-LLM's own."""
        return wants(head, "duration", "completed", "request_throughput", "user_throughput")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request; InputError if the file lacks the per-request arrays."""
        for source in sources:
            yield from read_result(source, intake)
