"""OTLP/JSON spans of serving engines, proxies and client libraries.

Spans are told apart by the library that wrote them. What else a trace holds (HTTP servers,
databases, agents) is counted and left out.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from operator import attrgetter

import pyarrow as pa

from tokengap.adapters.formats.otlp import llmd, sglang, vllm
from tokengap.adapters.formats.otlp.client import Client, is_call
from tokengap.adapters.formats.otlp.document import Group, Printed, SpanFile
from tokengap.adapters.formats.otlp.drawers import Drawers
from tokengap.adapters.formats.otlp.shelf import Shelf
from tokengap.adapters.formats.otlp.spans import Span
from tokengap.adapters.formats.otlp.vllm_spans import SPANS
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import record_batches
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.source import Line, Source


class Otlp:
    """Reads spans. Files of a call are one set: a request's spans may be spread over them."""

    name = "otlp"
    version = 1
    about = About(
        reads="OTLP/JSON spans of vLLM, SGLang, llm-d, OpenLLMetry and GenAI SDKs",
        vantage="engine, gateway or client",
        granularity="aggregate; step (SGLang), chunk (OpenLLMetry)",
        clock="wall ns",
        ttft="yes, but for llm-d",
        worst_gap="bounds; yes for SGLang at trace level 3",
        handoff="engine, decode_wait, transfer, relay",
        checked="vLLM 0.32.0, OpenLLMetry 0.62.4; SGLang, llm-d, SDKs from documentation",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = True

    def sniff(self, head: Head) -> Sniff:
        """An export request, or spans as OpenTelemetry's Python SDK prints them."""
        if "context" in head.keys:
            return wants(head, "context", "parent_id", "start_time", "end_time")
        return wants(head, "resourceSpans")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request, and two where a prefill and a decode server write one each."""
        # Ids of one run come again in the next: unless the user names the run, each file is one.
        named = intake.trace != sources[0].stem
        files = [
            SpanFile(source, number, intake.trace if named else source.stem, intake)
            for number, source in enumerate(sources)
        ]
        with ExitStack() as stack:
            dialects = _Dialects(files, stack)
            for file in files:
                dialects.read(file)
            yield from dialects.batches(intake.trace)


class _Dialects:
    """Gives each span to what reads its library's."""

    def __init__(self, files: Sequence[SpanFile], stack: ExitStack) -> None:
        shelves = [stack.enter_context(Shelf()) for _ in range(3)]
        self._vllm = vllm.Vllm(files, stack.enter_context(Drawers(SPANS, "shared_id")))
        self._sglang = sglang.Sglang(files, shelves[0])
        self._llmd = llmd.LlmD(files, shelves[1])
        self._client = Client(files, shelves[2])

    def read(self, file: SpanFile) -> None:
        """Put the spans of a file aside; say of which libraries some were left out."""
        left_out: dict[str, tuple[Line | int, int]] = {}
        begun = len(file.intake.rejects)
        for group in file.groups():
            if isinstance(group, Group) and group.scope.startswith(vllm.SCOPES):
                self._vllm.take_all(group)
            else:
                self._take_singly(group, left_out)
        self._vllm.finish()
        _count(left_out, file)
        file.intake.rejects[begun:] = sorted(file.intake.rejects[begun:], key=attrgetter("line"))

    def _take_singly(
        self, group: Group | Printed, left_out: dict[str, tuple[Line | int, int]]
    ) -> None:
        for place, span in group.spans():
            try:
                dialect = self._dialect(span)
                if dialect is not None:
                    dialect.take(span)
                else:
                    first, number = left_out.get(span.scope, (place, 0))
                    left_out[span.scope] = first, number + 1
            except LineError as error:
                group.file.reject(place, error)

    def _dialect(self, span: Span) -> vllm.Vllm | sglang.Sglang | llmd.LlmD | Client | None:
        """Return what reads the span, if anything does."""
        if span.scope == sglang.SCOPE:
            return self._sglang
        if span.name == vllm.REQUEST:
            return self._vllm
        if span.name in llmd.NAMES:
            return self._llmd
        return self._client if is_call(span) else None

    def batches(self, trace: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all that was put aside."""
        yield from self._vllm.batches()
        others = (dialect.rows() for dialect in (self._sglang, self._llmd, self._client))
        yield from record_batches(chain.from_iterable(others), trace)


def _count(left_out: dict[str, tuple[Line | int, int]], file: SpanFile) -> None:
    """Say once for each library that spans of it were left out, where the first of them is."""
    for scope, (first, number) in left_out.items():
        reason = f"{number} spans of this library, from here on, are no requests that can be read"
        file.reject(first, LineError(reason, "scope.name", scope or None))
