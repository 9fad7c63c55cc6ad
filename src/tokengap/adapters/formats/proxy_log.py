"""Log of a proxy before a prefill and a decode server: JSONL, one line per request.

The proxy asks the prefill server for one token and the decode server for the rest. In mode
`forward` it sends the first server's token on at once, so the handoff is the first gap (k = 1); in
mode `discard` it throws that token away, so the handoff is inside the first wait (k = 0). Times are
ns of the proxy's monotonic clock. Chunks of the decode server are counted, not stamped: only its
first and last one has a time, and the number of tokens is not logged.

`outcome` is `done` also where the decode server broke off. A decode server that sent nothing
failed; one that was cut later looks like one that ended, so the end of a request is never seen.
`kv_params` counts the blocks that were handed over. Their size depends on the model and is not in
the log, so `kv_bytes` stays unknown and the number is kept as label `kv_blocks`.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.clocks import beside_wall
from tokengap.adapters.shared.column_reader import read_columns
from tokengap.adapters.shared.columns import Columns
from tokengap.adapters.shared.lines import COUNT_LIMIT, Int64
from tokengap.adapters.shared.nested import Stage, suffixed
from tokengap.adapters.shared.outcomes import kinds_of_http, statuses_of_http
from tokengap.adapters.shared.record_files import pieces_of_lines
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.source import Source
from tokengap.schema import TIME_LIMIT_NS

_AGAIN: Final = -1

DISCARD, FORWARD = MODES = ("discard", "forward")
DONE, PREFILL_ERROR = OUTCOMES = ("done", "prefill_error")

Ns = Annotated[int, Meta(ge=-TIME_LIMIT_NS, le=TIME_LIMIT_NS)]
Count = Annotated[int, Meta(ge=0, le=COUNT_LIMIT)]


class KvParams(msgspec.Struct, gc=False):
    """What of the KV cache was handed over."""

    remote_block_ids: Count | None = None


class Entry(msgspec.Struct, gc=False):
    """One line."""

    request_id: str
    mode: str
    recv_ns: Ns
    outcome: str
    connector: str | None = None
    recv_unix_ns: Ns | None = None
    prefill_send_ns: Ns | None = None
    prefill_done_ns: Ns | None = None
    prefill_status: Int64 | None = None
    prompt_tokens: Count | None = None
    kv_params: KvParams | None = None
    first_token_sent_ns: Ns | None = None
    decode_send_ns: Ns | None = None
    decode_status: Int64 | None = None
    decode_headers_ns: Ns | None = None
    decode_first_chunk_ns: Ns | None = None
    decode_last_chunk_ns: Ns | None = None
    end_ns: Ns | None = None


class ProxyLog:
    """Reads the log of a proxy that splits requests over two servers."""

    name = "proxy-log"
    version = 1
    about = About(
        reads="log of the two-server proxy behind our vLLM samples, JSONL",
        vantage="gateway",
        granularity="aggregate",
        clock="monotonic ns",
        ttft="yes",
        worst_gap="bounds",
        handoff="gateway, relay, ttft",
        checked="vLLM 0.32.0 behind our proxy",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys that every line has, also of a request that never reached the decode server."""
        return wants(head, "request_id", "mode", "recv_ns", "prefill_send_ns")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request; the clock's wall offset goes to `intake`."""
        for source in sources:
            log = _Log(intake.source_id(source))
            pieces = pieces_of_lines(source)
            yield from read_columns(source, intake, pieces, BulkRecords(Entry, Entry), log.rows)
            offset = beside_wall(log.clock, log.clock, log.wall_ahead_ns, "recv_unix_ns - recv_ns")
            if offset is not None:
                intake.clocks.append(offset)


class _Log:
    """The requests of one file, and how far wall time is ahead of its clock in each."""

    def __init__(self, clock: str) -> None:
        self.clock = clock
        self.wall_ahead_ns = array("q")  # grows with the file, as do the ids
        self._attempts = _Attempts()

    def rows(self, entries: Columns) -> Rows:
        """Return the rows of some requests."""
        forwards = pc.equal(_one_of(MODES, "mode", entries), FORWARD)
        status, error_kind = _outcomes(entries)
        chunk_ns = entries["decode_first_chunk_ns"]
        first_ns = pc.if_else(forwards, entries["first_token_sent_ns"], chunk_ns)
        facts = {
            "request_id": entries["request_id"],
            "attempt": self._attempts.column(entries),
            "status": status,
            "error_kind": error_kind,
            "clock": self.clock,
            "clock_kind": "monotonic",
            "vantage": "gateway",
            "prompt_tokens": entries["prompt_tokens"],
            "received_ns": entries["recv_ns"],
            "stream_close_ns": entries["end_ns"],
            "first_token_ns": first_ns,
            "last_token_ns": pc.if_else(
                pc.is_null(chunk_ns), first_ns, entries["decode_last_chunk_ns"]
            ),
            "last_prefill_token": pc.cast(forwards, pa.int32()),
            "handoff_source": "log",
        }
        ahead_ns = pc.subtract(entries["recv_unix_ns"], entries["recv_ns"])
        good_ns = ahead_ns.filter(pa.array(entries.sieve.good)).drop_null()
        self.wall_ahead_ns.frombytes(good_ns.to_numpy().tobytes())
        return Rows(
            entries.numbers,
            entries.sieve,
            facts,
            ids=_ids(entries["request_id"]),
            labels=_labels(entries),
            stages=_stages(entries, self.clock),
            marks={
                "headers": entries["decode_headers_ns"],
                "decode_first_token": pc.if_else(forwards, chunk_ns, None),
            },
            notes={"end_not_seen": pc.equal(status, "completed")},
        )


class _Attempts:
    """Numbers requests whose id was there before."""

    def __init__(self) -> None:
        self._latest_ns: dict[str, int] = {}
        self._again: Counter[str] = Counter()

    def column(self, entries: Columns) -> pa.Array:
        """Return the numbers; refuses a request that is the same one again."""
        good = entries.sieve.good
        rows = np.flatnonzero(good).tolist()
        ids, received_ns = (
            entries[name].filter(pa.array(good)).to_pylist() for name in ("request_id", "recv_ns")
        )
        fresh = dict(zip(ids, received_ns, strict=True))
        attempts = np.zeros(len(entries), np.int32)
        if len(fresh) == len(ids) and self._latest_ns.keys().isdisjoint(fresh):
            self._latest_ns |= fresh
        else:
            attempts[rows] = [*map(self._attempt, ids, received_ns)]
            again = "the same request, by id and time, is on an earlier line"
            entries.refuse(pa.array(attempts == _AGAIN), again, "request_id")
        return pa.array(attempts)

    def _attempt(self, request_id: str, received_ns: int) -> int:
        """Return its number; `_AGAIN` if it is the same request again."""
        latest_ns = self._latest_ns.get(request_id)
        if latest_ns == received_ns:
            return _AGAIN
        self._latest_ns[request_id] = received_ns
        self._again[request_id] += latest_ns is not None
        return self._again[request_id]


def _one_of(expected: tuple[str, str], name: str, entries: Columns) -> pa.Array:
    known = pc.is_in(entries[name], pa.array(expected))
    reason = f"{name}: {' or '.join(expected)} expected"
    entries.refuse(pc.invert(known), reason, name, entries[name])
    return entries[name]


def _outcomes(entries: Columns) -> tuple[pa.Array, pa.Array]:
    """Status and error kind. The decode server's answer tells what `done` may hide."""
    refused = pc.equal(_one_of(OUTCOMES, "outcome", entries), PREFILL_ERROR)
    completed = pc.and_(pc.invert(refused), pc.is_valid(entries["decode_first_chunk_ns"]))
    codes = pc.if_else(refused, entries["prefill_status"], entries["decode_status"])
    failures = pc.if_else(refused, statuses_of_http(codes), "failed")
    kinds = kinds_of_http(codes, pc.if_else(refused, "prefill_error", "no_decode_token"))
    return pc.if_else(completed, "completed", failures), pc.if_else(completed, None, kinds)


def _ids(request_ids: pa.Array) -> dict[str, pa.Array]:
    """The id as it came, and as the proxy sent it to either server."""
    return {
        "x_request_id": request_ids,
        "x_request_id.prefill": suffixed(request_ids, "-p"),
        "x_request_id.decode": suffixed(request_ids, "-d"),
    }


def _labels(entries: Columns) -> dict[str, pa.Array]:
    blocks = entries.part("kv_params")["remote_block_ids"]
    return {"connector": entries["connector"], "kv_blocks": pc.cast(blocks, pa.string())}


def _stages(entries: Columns, clock: str) -> list[Stage]:
    """The prefill server's part as the proxy saw it, HTTP included, and the proxy's own."""
    done_ns = entries["prefill_done_ns"]
    return [
        Stage("prefill", entries["prefill_send_ns"], done_ns, clock=clock),
        Stage("relay", done_ns, entries["decode_send_ns"], clock=clock),
    ]
