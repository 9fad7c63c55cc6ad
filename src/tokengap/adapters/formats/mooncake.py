"""Mooncake's request traces: arrival in ms from the start, lengths, and hashes of prompt blocks.

The hashes are not kept: their number follows from the length (one per 512 tokens, the last block
included), and which prompts share a beginning takes the ids themselves, thousands of times the
rest. Traces made in this layout for load generators may name a session.
"""

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.workload import DataSet, Requests, arrivals, read_jsonl, tokens
from tokengap.adapters.source import Source


class Record(msgspec.Struct, gc=False):
    """One request."""

    timestamp: int | float
    input_length: Count
    output_length: Count
    session_id: str | None = None


class Mooncake:
    """Reads the JSONL files of Mooncake's release."""

    name = "mooncake"
    version = 1
    about = About(
        reads="Mooncake *_trace.jsonl: arrivals and lengths only",
        vantage="engine",
        granularity="workload",
        clock="ms from the start",
        ttft="no",
        worst_gap="no",
        handoff="no",
        checked="Mooncake FAST'25 release @3b5a5941",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Its keys; Qwen's, in seconds, have chats beside them."""
        wanted = wants(head, "timestamp", "input_length", "output_length", "hash_ids")
        chats = ("lines without chat_id",) if "chat_id" in head.keys else ()
        return Sniff(wanted.wanted, wanted.missing + chats)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            data_set = DataSet(source, intake, clock_kind="monotonic")
            yield from read_jsonl(data_set, Record, intake, _requests)


def _requests(records: Sequence[Record], sieve: Sieve) -> Requests:
    arrival, prompt, output = (
        pa.array([getattr(record, name) for record in records])
        for name in ("timestamp", "input_length", "output_length")
    )
    return Requests(
        arrival_ns=arrivals(arrival, "ms", "timestamp", sieve),
        prompt_tokens=tokens(prompt, "input_length", sieve),
        output_tokens=tokens(output, "output_length", sieve),
        labels={"session": pa.array([record.session_id for record in records], pa.string())},
    )
