"""Streams of one worker that stall, prefills in their way, and the causes found."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from tests.queries.given import MS, Library, Row, limits, stream
from tokengap.store.connect import Declared

LIMIT: Final = 100 * MS
PARTS: Final = (
    "steady_ns", "handoff_ns", "preemption_ns", "prefill_interference_ns", "delivery_pause_ns",
    "shared_pause_ns", "unexplained_ns",
)  # fmt: skip
STALL_MS: Final = (*(10,) * 10, 310, *(10,) * 10)
"""Tokens at 0, 10 .. 100, 410, 420 .. 510 ms: one gap of 310, from 100 to 410 ms."""


def running(name: str = "a", gaps_ms: Sequence[int] = STALL_MS, start_ms: int = 0, /,
            **facts: Any) -> Row:  # fmt: skip
    """An engine's stream of worker w0 with these gaps; it arrived 5 ms before its first token."""
    times = [t * MS for t in accumulate(gaps_ms, initial=start_ms)]
    engine = {"vantage": "engine", "sent_ns": None, "arrival_ns": (start_ms - 5) * MS,
              "decode_worker": "w0"}  # fmt: skip
    return stream(name, times, **(engine | facts))


def prefill(start_ms: int, end_ms: int, worker: str | None = "w0", clock_id: str = "c") -> Row:
    return {
        "name": "prefill", "start_ns": start_ms * MS, "end_ns": end_ms * MS,
        "duration_ns": (end_ms - start_ms) * MS, "worker": worker, "clock": clock_id,
    }  # fmt: skip


def prefilled(name: str, start_ms: int, end_ms: int, **facts: Any) -> Row:
    """Another request of 3,000 prompt tokens, whose prefill is measured; its one token follows."""
    given_facts = {"prompt_tokens": 3000, "stages": [prefill(start_ms, end_ms)]} | facts
    return running(name, [], end_ms, **given_facts)


def causes(
    library: Library, *rows: Row, declared: Declared | None = None, **asked: int
) -> list[Row]:
    library.bind(rows, declared or Declared())
    return caused(library, **(asked or {"worst_gap": LIMIT}))


def caused(library: Library, **asked: int) -> list[Row]:
    """Every gap over these limits."""
    return library.rows(f"gap_causes({limits(**asked)})", "end_ns")
