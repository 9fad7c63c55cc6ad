"""Qwen-Bailian's usage traces: arrival in seconds from the start, lengths, and turns of chats.

A chat is one request; `parent_chat_id` is the turn before it. The label `session` is the first
chat of the conversation, as far back as the file goes, so one number per chat is remembered. The
hashes of 16-token blocks are not kept.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
import pyarrow as pa

from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.workload import DataSet, Requests, arrivals, read_jsonl, tokens
from tokengap.adapters.source import Source

NO_PARENT: Final = -1


class Record(msgspec.Struct, gc=False):
    """One request."""

    chat_id: int
    parent_chat_id: int
    timestamp: int | float
    input_length: Count
    output_length: Count
    turn: Count
    type: str | None = None


class QwenBailian:
    """Reads the JSONL files of the data set."""

    name = "qwen-bailian"
    version = 1
    about = About(
        reads="Qwen-Bailian qwen_trace*.jsonl: arrivals and lengths only",
        vantage="engine",
        granularity="workload",
        clock="s from the start",
        ttft="no",
        worst_gap="no",
        handoff="no",
        checked=FROM_DOCUMENTATION + " (usagetraces-anon @03a51e31)",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Its keys."""
        return wants(head, "chat_id", "parent_chat_id", "timestamp", "input_length")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            data_set = DataSet(source, intake, clock_kind="monotonic")
            requests = partial(_requests, {})
            yield from read_jsonl(data_set, Record, intake, requests)


def _requests(first_chats: dict[int, int], records: Sequence[Record], sieve: Sieve) -> Requests:
    """first_chats: of each chat, the first one of its conversation."""
    for record in records:
        parent = record.parent_chat_id
        known = record.chat_id if parent == NO_PARENT else first_chats.get(parent, parent)
        first_chats[record.chat_id] = known
    arrival, prompt, output = (
        pa.array([getattr(record, name) for record in records])
        for name in ("timestamp", "input_length", "output_length")
    )
    return Requests(
        arrival_ns=arrivals(arrival, "s", "timestamp", sieve),
        prompt_tokens=tokens(prompt, "input_length", sieve),
        output_tokens=tokens(output, "output_length", sieve),
        texts={"request_id": pa.array([str(record.chat_id) for record in records])},
        labels={
            "session": pa.array([str(first_chats[record.chat_id]) for record in records]),
            "turn": pa.array([str(record.turn) for record in records]),
            "type": pa.array([record.type for record in records], pa.string()),
        },
    )
