"""vLLM's request spans in columns: what is kept of them, and which belong together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.formats.otlp.document import SpanFile
from tokengap.adapters.formats.otlp.reuse import DECODE, PREFILL
from tokengap.adapters.formats.otlp.values import Attributes
from tokengap.adapters.formats.otlp.vllm_places import Places, Spans, places

LATENCIES: Final = (
    "time_to_first_token",
    "e2e",
    "time_in_queue",
    "time_in_model_prefill",
    "time_in_model_decode",
)
"""Durations that vLLM gives, in seconds."""

SPANS: Final = pa.schema({
    "file": pa.int32(),
    "process": pa.int32(),
    "place": pa.int64(),
    "trace_id": pa.string(),
    "span_id": pa.string(),
    "start_ns": pa.int64(),
    "end_ns": pa.int64(),
    "request_id": pa.string(),
    "shared_id": pa.string(),
    "model": pa.string(),
    **dict.fromkeys(LATENCIES, pa.float64()),
    "prompt_tokens": pa.int32(),
    "output_tokens": pa.int32(),
    "requested_output_tokens": pa.int32(),
})  # fmt: skip
"""What is kept of each span.

file, process: their numbers. place: as in `Span`. request_id: as logged; shared_id: both halves of
a request have it.
"""


class Process(NamedTuple):
    """What wrote spans: its name and that of the running process, empty if it has none."""

    service: str
    instance: str

    @classmethod
    def of(cls, found: Attributes) -> "Process":
        """Read the attributes of a process; LineError if they name none as they should."""
        return cls(found.text("service.name") or "", found.text("service.instance.id") or "")

    @property
    def role(self) -> str | None:
        """The half of a request that it does, if its name says one."""
        found = [role for role in (PREFILL, DECODE) if role in self.service.lower()]
        return found[0] if len(found) == 1 else None

    @property
    def worker(self) -> str | None:
        """Name of the worker in rows."""
        return "/".join(filter(None, (self.service, self.instance[:8]))) or None


@dataclass(frozen=True)
class Found:
    """Spans in the columns of `SPANS`, and what the numbers of files and processes stand for."""

    spans: pa.RecordBatch
    files: Sequence[SpanFile]
    processes: Sequence[Process]

    def __len__(self) -> int:
        """Number of spans."""
        rows: int = self.spans.num_rows
        return rows

    def __getitem__(self, name: str) -> pa.Array:
        """A column of `SPANS`."""
        return self.spans.column(name)

    def of_file(self, fact: Callable[[SpanFile], str]) -> pa.Array:
        """What holds for a file, of each span."""
        return pa.array(map(fact, self.files), pa.string()).take(self["file"])

    def of_process(self, fact: Callable[[Process], str | None]) -> pa.Array:
        """What holds for a process, of each span."""
        return pa.array(map(fact, self.processes), pa.string()).take(self["process"])

    @cached_property
    def prefill(self) -> Bools:
        """Spans of prefill servers."""
        return self._done_by(PREFILL)

    @cached_property
    def decode(self) -> Bools:
        """Spans of decode servers."""
        return self._done_by(DECODE)

    def _done_by(self, role: str) -> Bools:
        does = np.array([process.role == role for process in self.processes], bool)
        by_span: Bools = does[self["process"].to_numpy()]
        return by_span

    @cached_property
    def places(self) -> Places:
        """Run and choice. Ids come again in each file, which is a run unless the user named it."""
        traces = [file.trace for file in self.files]
        ids = self["shared_id"].dictionary_encode().indices.to_numpy().astype(np.int64)
        file = self["file"].to_numpy()
        firsts = np.array([traces.index(trace) for trace in traces])
        return places(
            Spans(
                ids * len(traces) + firsts[file],
                file,
                self["place"].to_numpy(),
                self["span_id"],
                self.prefill,
                self.decode,
                self["process"].to_numpy(),
                self["start_ns"].to_numpy(),
                self["end_ns"].to_numpy(),
            )
        )
