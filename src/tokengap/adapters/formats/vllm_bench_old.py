"""vLLM `benchmark_serving.py --save-result`, before results had start times.

Some versions time only events with text, and yet count a gap from the last event of any kind: a gap
after an event without text is then too short, and the file does not show it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.serving_results import read_result
from tokengap.adapters.source import Source

_OF_OTHERS: Final = ("failed", "start_times", "user_throughput", "sharegpt_output_len")
"""Keys of like results: later vLLM's, TensorRT-LLM's, SGLang's."""


class VllmBenchOld:
    """Reads result files of vLLM's former benchmark client."""

    name = "vllm-bench-old"
    version = 1
    about = About(
        reads="vLLM `benchmark_serving.py --save-result` JSON, without start times",
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
        """Keys of a result, and none that only others write."""
        ours = wants(head, "duration", "completed", "total_input_tokens", "request_throughput")
        others = [f"no {name}" for name in _OF_OTHERS if name in head.keys]
        return Sniff((*ours.wanted, *(f"no {n}" for n in _OF_OTHERS)), (*ours.missing, *others))

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request; InputError if the file lacks the per-request arrays."""
        for source in sources:
            yield from read_result(source, intake)
