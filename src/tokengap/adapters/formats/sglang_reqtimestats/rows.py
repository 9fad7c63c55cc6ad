"""Rows of `streams` from request time stats."""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.formats.sglang_reqtimestats.line import UNIFIED
from tokengap.adapters.formats.sglang_reqtimestats.steps import stages_of
from tokengap.adapters.shared.columns import Columns, unless, unless_0
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.nested import Reported, reported_lists, suffixed
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.seconds import NS_PER_S
from tokengap.adapters.shared.sglang import DECODE, PREFILL, sglang_id_columns
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED

EPOCH_NS: Final = 1_000_000_000 * NS_PER_S
"""A stamp from 2001 on is wall time; some versions log seconds since boot instead."""
BYTES_PER_MB: Final = 1 << 20
"""SGLang divides by 1024 twice and calls it MB."""
FORWARD_FORMULA: Final = "sglang: first step of the engine to the end of the request"


def stats_rows(stats: Columns, source_id: str, names: Names) -> Rows:
    """Return a row for each line."""
    halves = unless(pc.equal(stats["kind"], UNIFIED), stats["kind"])
    is_prefill, is_decode = pc.equal(stats["kind"], PREFILL), pc.equal(stats["kind"], DECODE)
    logged = pc.coalesce(pc.binary_join_element_wise(stats["rid"], halves, "."), stats["rid"])
    entry_ns = stats.seconds_ns("entry_time")
    is_wall = pc.greater_equal(entry_ns, EPOCH_NS)
    clocks = pc.if_else(is_wall, source_id, f"{source_id}:monotonic")
    stages, at_ns = stages_of(stats, entry_ns, clocks)
    forward_ns = stats.ms_ns("forward_duration")
    close_ns = stats.after_ns(at_ns, forward_ns, "forward_duration")
    kv_bytes = pc.multiply(stats["transfer_total"], BYTES_PER_MB)
    forward = Reported.of("forward", FORWARD_FORMULA, forward_ns)
    facts = {
        "request_id": stats.named(names, logged),
        "status": "completed",
        "clock": clocks,
        "clock_kind": pc.if_else(is_wall, "wall", "monotonic"),
        "vantage": "engine",
        "arrival_ns": entry_ns,
        "stream_close_ns": close_ns,
        "last_token_ns": unless(is_prefill, close_ns),
        "output_tokens": stats["output_len"],
        "prompt_tokens": stats["input_len"],
        "cached_prompt_tokens": stats["cached_len"],
        "handoff_source": pc.if_else(pc.is_valid(halves), "log", "none"),
        "last_prefill_token": pc.if_else(
            pc.is_valid(halves), pc.cast(is_prefill, pa.int32()), None
        ),
        "prefill_worker": pc.if_else(is_decode, None, source_id),
        "decode_worker": pc.if_else(is_prefill, None, source_id),
        "kv_bytes": unless_0(pc.cast(pc.round(kv_bytes, round_mode="half_to_even"), pa.int64())),
        "reported": reported_lists([forward], len(stats)),
    }
    return Rows(
        stats.numbers,
        stats.sieve,
        facts,
        ids=sglang_id_columns(stats["rid"], stats["room"], halves),
        labels={
            "transfer_speed": suffixed(stats.numerals("transfer_speed"), " GB/s"),
            "attempts": stats["attempts"],
        },
        stages=stages,
        notes={
            "end_not_seen": pc.is_valid(stats["kind"]),
            SENTINEL_DROPPED: stats["dropped"],
            CLOCK_CONTRADICTION: stats["negative"],
        },
    )
