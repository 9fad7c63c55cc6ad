"""SGLang's request spans: stages of a request and, at trace level 3, each of its decode steps.

Under the root span, which the API server writes, lies one span per thread with its host, process
and rank, and under these the stages. The trace ids of a prefill and a decode server differ, so each
half is a row; what joins them is `bootstrap_room`.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

from tokengap.adapters.formats.otlp.document import SpanFile
from tokengap.adapters.formats.otlp.sglang_row import request_id_of, row_of
from tokengap.adapters.formats.otlp.sglang_work import Work, is_root, works
from tokengap.adapters.formats.otlp.shelf import Piece, Shelf, without_repeats
from tokengap.adapters.formats.otlp.spans import Span
from tokengap.adapters.formats.otlp.values import Attributes
from tokengap.adapters.interface import Clock
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.lines import LineError

SCOPE: Final = "sglang server"

_HASH_DIGITS: Final = 12


class Sglang:
    """Puts spans aside, and makes a row of every root span with what lies under it."""

    def __init__(self, files: Sequence[SpanFile], shelf: Shelf) -> None:
        self._files = files
        self._shelf = shelf
        self._begun: dict[tuple[str, str], set[tuple[int, str]]] = defaultdict(set)
        self._attempts: dict[tuple[str, str], dict[tuple[int, str], int]] = {}
        self._clocks: set[str] = set()

    def take(self, span: Span) -> None:
        """Put a span aside; LineError if it cannot be used."""
        marks = [(event.name, event.t_ns) for event in span.events]
        piece = Piece.of(span, span.trace_id, _facts(span), marks)
        if is_root(piece):
            self._begun[self._name(piece)].add((span.start_ns, span.span_id))
        self._shelf.add(piece)

    def rows(self) -> Iterator[Stream]:
        """One row per root span; spans without one are rejected, once a trace."""
        for group in self._shelf.groups():
            pieces, repeated = without_repeats(group)
            if not any(map(is_root, pieces)):
                self._refuse(pieces)
            for work in works(pieces):
                row = self._row(work)
                if repeated:
                    row.quality.append("duplicate_dropped")
                yield row

    def _refuse(self, pieces: Sequence[Piece]) -> None:
        first = pieces[0]
        reason = f"the root span of this request is not in the log, {len(pieces)} others of it are"
        self._files[first.file].reject(first.place, LineError(reason))

    def _row(self, work: Work) -> Stream:
        root = work.root
        file, name = self._files[root.file], self._name(root)
        row = row_of(work, self._clock(work.thread, file) if work.thread else file.id)
        row.source = f"{file.id}:{root.place}"
        row.trace, row.request_id = name
        row.attempt = self._attempt(name, root)
        return row

    def _attempt(self, name: tuple[str, str], root: Piece) -> int:
        """Number of the requests of this name that began before."""
        if name not in self._attempts:
            begun = sorted(self._begun.pop(name))
            self._attempts[name] = {each: number for number, each in enumerate(begun)}
        return self._attempts[name][root.start_ns, root.span_id]

    def _name(self, root: Piece) -> tuple[str, str]:
        """Trace and request id."""
        return self._files[root.file].trace, request_id_of(root)

    def _clock(self, thread: Piece, file: SpanFile) -> str:
        """Name the clock of a process, and relate it once to that of its host."""
        host = f"sglang:{thread.facts['host']}"
        clock = f"{host}:{thread.facts['pid']}"
        if clock not in self._clocks:
            self._clocks.add(clock)
            how = "wall time of the host, which each of its processes derives for itself"
            file.intake.clocks.append(Clock(clock, host, 0, None, how, file.id))
        return clock


def _facts(span: Span) -> dict[str, Any]:
    """What is kept of a root span, of a thread's, or of a stage's."""
    found = span.attributes
    if span.name == "decode_loop":
        return {"decode_ct": found.integer("decode_ct")}
    if (rid := found.text("rid")) is not None:
        return {"rid": rid, **_root_facts(found)}
    if (host_id := found.text("host_id")) is not None:
        return {
            "host": sha256(host_id.encode()).hexdigest()[:_HASH_DIGITS],  # it names the machine
            "pid": found.integer("pid"),
            "label": found.text("thread_label"),
            "rank": [found.integer("pp_rank") or 0, found.integer("tp_rank") or 0],
            "http_status": found.integer("status_code") if span.failed else None,
            "error": found.text("err_type", "type") if span.failed else None,
        }
    return {}


def _root_facts(found: Attributes) -> dict[str, Any]:
    quality: list[str] = []
    first_ns, e2e_ns = (
        found.s_ns(f"gen_ai.latency.{name}", quality, zero_is_unset=True)
        for name in ("time_to_first_token", "e2e")
    )
    return {
        "bootstrap_room": _room(found.text("bootstrap_room")),
        "first_ns": first_ns,
        "e2e_ns": e2e_ns,
        "prompt_tokens": found.count("gen_ai.usage.prompt_tokens"),
        "cached_tokens": found.count("gen_ai.usage.cached_tokens"),
        "tokens": found.count("gen_ai.usage.completion_tokens"),
        "model": found.text("gen_ai.response.model"),
        "finish_reason": found.first_text("gen_ai.response.finish_reasons"),
        "quality": quality,
    }


def _room(text: str | None) -> int | None:
    """Read the number, which is written as in Python: 0x and hex digits."""
    try:
        return None if text is None else int(text, 16)
    except ValueError:
        raise LineError("bootstrap_room: a hex number expected", "bootstrap_room") from None
