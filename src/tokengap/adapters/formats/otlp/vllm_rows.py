"""Rows of vLLM's request spans, in columns.

The prefill server answers with one token in one body, so that its token is out when its span ends,
a little after the API server had it: that end is where the handoff begins.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.formats.otlp.values import UNSET
from tokengap.adapters.formats.otlp.vllm_spans import LATENCIES, Found
from tokengap.adapters.shared.nested import Reported, Stage
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.seconds import seconds_column
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED
from tokengap.adapters.shared.vllm_ids import engine_id_columns

_WALL: Final = ("time_to_first_token", "e2e")
"""Durations that are 0 where they were never set."""


def rows_of(found: Found) -> Rows:
    """One row per span; those that were exported before are passed over."""
    sieve = Sieve(len(found))
    sieve.pass_over(found.places.extra)
    lasted_ns, notes = _durations(found)
    kept = ("model", "prompt_tokens", "output_tokens", "requested_output_tokens")
    facts = {
        "vantage": "engine",
        "clock_kind": "wall",
        "status": "completed",
        **{name: found[name] for name in kept},
        **_names(found),
        **_times(found, lasted_ns),
        **_halves(found),
    }
    notes |= {
        "failures_not_kept": pa.repeat(True, len(found)),
        "order_assumed": pa.array(found.places.choices > 1),
        "duplicate_dropped": pa.array(found.places.repeated),
    }
    return Rows(
        found["place"].to_numpy(),
        sieve,
        facts,
        _ids(found),
        {"service": found.of_process(lambda process: process.service or None)},
        stages=_stages(found, lasted_ns),
        reported=_reported(found, lasted_ns),
        notes=notes,
    )


def _durations(found: Found) -> tuple[dict[str, pa.Array], dict[str, pa.Array]]:
    """Durations in ns, NULL where none was measured, and notes on what they were written as."""
    lasted_ns = {}
    dropped = contradicts = np.zeros(len(found), bool)
    for name in LATENCIES:
        there = pc.is_valid(found[name]).to_numpy(zero_copy_only=False)
        seconds = pc.fill_null(found[name], np.nan).to_numpy()
        unset = np.isnan(seconds) | (seconds == UNSET) | ((seconds == 0) & (name in _WALL))
        lasted_ns[name], _ = seconds_column(pa.array(seconds, mask=unset))
        dropped = dropped | (there & unset)
        contradicts = contradicts | (~unset & (seconds < 0))
    notes = {SENTINEL_DROPPED: pa.array(dropped), CLOCK_CONTRADICTION: pa.array(contradicts)}
    return lasted_ns, notes


def _names(found: Found) -> dict[str, pa.Array]:
    run, files = pa.array(found.places.run), found.of_file(attrgetter("id"))
    traces = found.of_file(attrgetter("trace"))
    later = pc.binary_join_element_wise(traces, pc.cast(pc.add(run, 1), pa.string()), ".")
    clocks = found.of_process(lambda p: f"vllm:{p.instance}" if p.instance else None)
    return {
        "trace": pc.if_else(pc.greater(run, 0), later, traces),
        "request_id": _request_ids(found),
        "choice": pa.array(found.places.choice, pa.int32()),
        "clock": pc.coalesce(clocks, files),
        "source": pc.binary_join_element_wise(files, pc.cast(found["place"], pa.string()), ":"),
    }


def _request_ids(found: Found) -> pa.Array:
    """Both halves of a request may have been sent under one id, and both are rows."""
    logged, roles = found["request_id"], found.of_process(attrgetter("role"))
    both = pc.and_(pc.is_valid(roles), pc.equal(logged, found["shared_id"]))
    return pc.if_else(both, pc.binary_join_element_wise(logged, roles, "."), logged)


def _ids(found: Found) -> dict[str, pa.Array]:
    """Ids that other logs know the request by; the client sees the decode server's answer."""
    own = engine_id_columns(found["shared_id"])
    sent_id = engine_id_columns(found["request_id"])["x_request_id"]
    return {
        "sse_id": _where(~found.prefill, own["sse_id"]),
        "x_request_id": own["x_request_id"],
        "x_request_id.prefill": _where(found.prefill, sent_id),
        "x_request_id.decode": _where(found.decode, sent_id),
        "trace_id": found["trace_id"],
    }


def _times(found: Found, lasted_ns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    start_ns, end_ns = found["start_ns"], found["end_ns"]
    prefill = pa.array(found.prefill)
    first_ns, last_ns = (
        pc.if_else(prefill, end_ns, pc.add(start_ns, lasted_ns[name])) for name in _WALL
    )
    return {
        "arrival_ns": start_ns,
        "first_token_ns": first_ns,
        "last_token_ns": last_ns,
        "stream_close_ns": end_ns,
    }


def _halves(found: Found) -> dict[str, pa.Array]:
    """Say which half of a request a row is."""
    split = found.prefill | found.decode
    workers = found.of_process(attrgetter("worker"))
    return {
        "last_prefill_token": pa.array(found.prefill.astype(np.int32), mask=~split),
        "handoff_source": _where(split, pa.repeat("log", len(split))),
        "prefill_worker": _where(found.prefill, workers),
        "decode_worker": _where(found.decode, workers),
    }


def _stages(found: Found, lasted_ns: Mapping[str, pa.Array]) -> list[Stage]:
    """Time in queue and in prefill; a decode server prefills nothing but fetches the KV cache."""
    workers = found.of_process(attrgetter("worker"))
    queued_ns, prefilled_ns = lasted_ns["time_in_queue"], lasted_ns["time_in_model_prefill"]
    return [
        Stage(name, lasted_ns=_where(rows, lasted), worker=workers)
        for name, rows, lasted in (
            ("queue", ~found.decode, queued_ns),
            ("decode_queue", found.decode, queued_ns),
            ("prefill", ~found.decode, prefilled_ns),
            ("decode_first_step", found.decode, prefilled_ns),
        )
    ]


def _reported(found: Found, lasted_ns: Mapping[str, pa.Array]) -> list[Reported]:
    """The tool's averages, and the first token of a prefill server, which is placed elsewhere."""
    tokens = found["output_tokens"]
    gaps = pc.subtract(pc.if_else(pc.greater(tokens, 1), tokens, None), 1)
    mean_ns = pc.divide(pc.cast(lasted_ns["time_in_model_decode"], pa.float64(), safe=False), gaps)
    tpot_ns = pc.cast(pc.round(mean_ns, round_mode="half_to_even"), pa.int64())
    ttft_ns = _where(found.prefill, lasted_ns["time_to_first_token"])
    return [
        Reported.of("tpot", "vllm: time_in_model_decode / (n - 1)", tpot_ns),
        Reported.of("ttft", "vllm: arrival to first output at the API server", ttft_ns),
    ]


def _where(rows: Bools, column: pa.Array) -> pa.Array:
    """The column in these rows, NULL in others."""
    return pc.if_else(pa.array(rows), column, None)
