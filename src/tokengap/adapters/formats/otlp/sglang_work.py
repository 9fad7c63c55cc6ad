"""What one SGLang server did for one request, and when each of its tokens was there.

Every tensor- and pipeline-parallel rank writes the same stages: the lowest rank that worked on the
request is kept. A token is there when a step *ends*; the duration of a step leaves out what the
request waited before it.

The first token comes with the end of the prefill, on a decode server with that of `fake_output`,
which passes on the token of the prefill server. A request that was retracted is prefilled again
with all it had, and that brings a token, too.
"""

from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tokengap.adapters.formats.otlp.shelf import Piece
from tokengap.adapters.formats.otlp.tree import by_ancestor
from tokengap.adapters.shared.sglang import DECODE, PREFILL

STAGES: Final = {
    "prefill_waiting": "queue",
    "prefill_forward": "prefill",
    "prefill_bootstrap": "kv_bootstrap",
    "decode_bootstrap": "kv_bootstrap",
    "prefill_transfer_kv_cache": "kv_transfer",
    "decode_transferred": "kv_transfer",
    "decode_waiting": "decode_queue",
}
"""Stages that have a name in `streams.stages`."""

_BY_SCHEDULER: Final = {*STAGES, "decode_loop", "decode_forward", "fake_output"}
_TOKENIZER: Final = "Tokenizer"


@dataclass(frozen=True)
class Work:
    """A root span and the stages below it, of one rank.

    role: prefill or decode where the server does a half. threads: of that rank. copies: other ranks
    wrote the same. one_host: arrival and tokens are stamped on one host. loose: spans of the trace
    lie under none that is there.
    """

    root: Piece
    role: str | None
    threads: list[Piece]
    stages: list[Piece]
    copies: bool
    one_host: bool
    loose: bool

    @property
    def thread(self) -> Piece | None:
        """The thread whose clock the stages are on."""
        return self.threads[0] if self.threads else None

    def called(self, name: str) -> list[Piece]:
        """The stages of that name, as they began."""
        found = [piece for piece in self.stages if piece.name == name]
        return sorted(found, key=lambda piece: piece.start_ns)

    @cached_property
    def steps(self) -> list[Piece]:
        """The decode steps, by their number."""
        return sorted(self.called("decode_loop"), key=_number)

    @cached_property
    def produced_ns(self) -> list[int]:
        """When tokens came that are of no decode step: the first, and one after a retraction."""
        if self.role == DECODE:
            return [piece.end_ns for piece in self.called("fake_output")][:1]
        prefills = self.called("prefill_forward")
        if self.role == PREFILL:
            return [piece.end_ns for piece in prefills][-1:]
        own = {piece.span_id for piece in prefills}
        step_ends_ns = sorted(piece.end_ns for piece in self.steps)
        # Chunks outside of a prefill are those after a retraction: the last before a step counts.
        chunks_ns = [p.end_ns for p in self.called("chunked_prefill") if p.parent_id not in own]
        last_ns = {bisect(step_ends_ns, end_ns): end_ns for end_ns in sorted(chunks_ns)}
        return sorted([*(piece.end_ns for piece in prefills), *last_ns.values()])

    @property
    def has_hole(self) -> bool:
        """True if a span is missing without which deliveries would merge into a false stall."""
        if self.loose or [_number(step) for step in self.steps] != list(range(len(self.steps))):
            return True
        if not self.steps:
            return False
        return not self.produced_ns or (self.role is None and self._misses_a_prefill())

    def _misses_a_prefill(self) -> bool:
        """True if a step follows a retraction without a prefill between the two."""
        retracted_ns = [
            t_ns for piece in self.stages for name, t_ns in piece.marks if name == "retract"
        ]
        for t_ns in retracted_ns:
            next_step_ns = min((s.end_ns for s in self.steps if s.end_ns > t_ns), default=None)
            if next_step_ns is not None and not any(
                t_ns < produced_ns <= next_step_ns for produced_ns in self.produced_ns
            ):
                return True
        return False

    @property
    def times_ns(self) -> list[int]:
        """When each token was there, if no span is missing."""
        times_ns = [step.end_ns for step in self.steps]
        for t_ns in self.produced_ns[1:]:
            times_ns.insert(bisect(times_ns, t_ns), t_ns)
        return [*self.produced_ns[:1], *times_ns]


def _number(step: Piece) -> int:
    number = step.facts["decode_ct"]
    return -1 if number is None else int(number)


def is_root(piece: Piece) -> bool:
    """True for the span of a whole request."""
    return "rid" in piece.facts


def _is_thread(piece: Piece) -> bool:
    return "host" in piece.facts


def works(pieces: list[Piece]) -> Iterator[Work]:
    """Yield what lies below each root span of a trace."""
    roots = [piece for piece in pieces if is_root(piece)]
    threads = {root.span_id: list[Piece]() for root in roots}
    stages, orphans = by_ancestor(pieces, lambda piece: is_root(piece) or _is_thread(piece))
    for piece in filter(_is_thread, pieces):
        threads.get(piece.parent_id or "", orphans).append(piece)
    for root in roots:
        loose = bool(orphans) or root.span_id in stages
        yield _work(root, threads[root.span_id], stages, loose=loose)


def _work(
    root: Piece, threads: list[Piece], stages: Mapping[str, list[Piece]], *, loose: bool
) -> Work:
    """Choose the rank that is kept."""
    working = [
        thread
        for thread in threads
        if any(piece.name in _BY_SCHEDULER for piece in stages.get(thread.span_id, ()))
    ]
    lowest = min((thread.facts["rank"] for thread in working), default=None)
    kept = [thread for thread in working if thread.facts["rank"] == lowest]
    arrival = [thread for thread in threads if thread.facts["label"] == _TOKENIZER]
    return Work(
        root,
        role_of(root),
        threads=kept,
        stages=[piece for thread in kept for piece in stages[thread.span_id]],
        copies=len(working) > len(kept),
        one_host=len({thread.facts["host"] for thread in (*kept, *arrival)}) <= 1,
        loose=loose,
    )


def role_of(root: Piece) -> str | None:
    """Return the half that a root span's name says; None on a server that does both."""
    role = root.name.split(" Req")[0].strip()
    return role if role in {PREFILL, DECODE} else None
