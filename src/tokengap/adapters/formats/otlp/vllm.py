"""vLLM's `llm_request`: one span per finished sequence, from the API server.

Its start is the arrival and wall time; so are `time_to_first_token` and `e2e`, up to the first and
the last output that the API server handled. The times in queue and in the model are the engine's
own: durations on another clock, which do not add up to the others. What is left is front-end and
inter-process time. No token in between is timed, and no request that did not finish has a span.

A deployment with separate prefill and decode servers names them so (`service.name`).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from tokengap.adapters.formats.otlp.document import Group, SpanFile
from tokengap.adapters.formats.otlp.drawers import Drawers
from tokengap.adapters.formats.otlp.spans import Span
from tokengap.adapters.formats.otlp.vllm_facts import columns_of, facts_of
from tokengap.adapters.formats.otlp.vllm_rows import rows_of
from tokengap.adapters.formats.otlp.vllm_spans import Found, Process
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.places import number_of
from tokengap.adapters.shared.row_batches import RowBatches

SCOPES: Final = "vllm."
REQUEST: Final = "llm_request"

_TOGETHER_BYTES: Final = 1 << 16
"""Spans on lines of so much are looked at together."""


class Vllm:
    """Puts request spans aside, and makes rows of them. Spans of a start-up are none."""

    def __init__(self, files: Sequence[SpanFile], drawers: Drawers) -> None:
        self._files = files
        self._drawers = drawers
        self._processes: dict[Process, int] = {}
        self._held: defaultdict[Process, list[Group]] = defaultdict(list)
        self._held_bytes = 0

    def take(self, span: Span) -> None:
        """Put a span aside; LineError if it cannot be used."""
        if span.name == REQUEST:
            process = Process.of(span.process)
            facts = facts_of(span, process.role)
            self._put(span.file, process, [span.place], [[fact] for fact in facts])

    def take_all(self, group: Group) -> None:
        """Put spans aside, at the latest with `finish`; those that cannot be used are rejected."""
        try:
            process = Process.of(group.process)
        except LineError:
            process = None
        requests = [raw.name for raw in group.raws].count(REQUEST)
        if process is None or requests < len(group.raws):
            self._take_singly(group)
            return
        self._held[process].append(group)
        self._held_bytes += group.size_bytes
        if self._held_bytes >= _TOGETHER_BYTES:
            self.finish()

    def finish(self) -> None:
        """Put aside those that wait for others: to be called at the end of each file."""
        for process, groups in self._held.items():
            columns = columns_of([raw for group in groups for raw in group.raws], process.role)
            if columns is None:
                for group in groups:
                    self._take_singly(group)
            else:
                places = [number_of(place) for group in groups for place in group.places]
                self._put(groups[0].file.number, process, places, columns)
        self._held.clear()
        self._held_bytes = 0

    def _take_singly(self, group: Group) -> None:
        for place, span in group.spans():
            try:
                self.take(span)
            except LineError as error:
                group.file.reject(place, error)

    def _put(
        self,
        file: int,
        process: Process,
        places: Sequence[int],
        columns: Sequence[Sequence[Any]],
    ) -> None:
        number = self._processes.setdefault(process, len(self._processes))
        rows = len(places)
        self._drawers.add([[file] * rows, [number] * rows, places, *columns])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """One row per span."""
        batches = RowBatches("", "")
        for spans in self._drawers.batches():
            yield batches.batch(rows_of(Found(spans, self._files, list(self._processes))))
