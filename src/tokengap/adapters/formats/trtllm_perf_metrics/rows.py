"""Rows of requests on the engine: of the worker or the two workers that served them."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Events
from tokengap.adapters.formats.trtllm_perf_metrics.requests import Requests
from tokengap.adapters.formats.trtllm_perf_metrics.steps import deliveries, no_steps
from tokengap.adapters.formats.trtllm_perf_metrics.worker import Worker
from tokengap.adapters.shared.columns import is_true, unless
from tokengap.adapters.shared.nested import Stage
from tokengap.adapters.shared.row_batches import Rows


def both_workers(requests: Requests, ctx: Worker, gen: Worker, where: Bools) -> Rows:
    """Requests on two workers whose stamps share a clock."""
    first_ns = ctx.times.first_token_ns
    delivered = deliveries(
        first_ns, gen.steps, is_true(pc.is_valid(first_ns)) & (gen.steps.sizes > 0)
    )
    has_steps = pa.array(gen.steps.sizes > 0)
    relay = Stage("relay", ctx.times.answer_ns, gen.times.arrival_ns, clock=ctx.clock)
    facts = {
        **_of_engine(ctx),
        **_handed_over(1),  # the first worker makes one token
        **_by_step(delivered, gen),
        "kv_bytes": pc.coalesce(gen.kv_bytes, ctx.kv_bytes),
        "prefill_worker": ctx.name,
        "decode_worker": gen.name,
    }
    return requests.rows(
        where,
        facts,
        stages=[*ctx.prefill_stages(), relay, *gen.decode_stages()],
        marks={"decode_first_token": unless(has_steps, gen.times.first_token_ns)},
        lost=gen.steps.lost,
        delivered=delivered,
    )


def prefill_halves(requests: Requests, ctx: Worker, where: Bools) -> Rows:
    """What the first worker alone tells: it makes one token."""
    first_ns = ctx.times.first_token_ns
    delivered = deliveries(first_ns, no_steps(len(where)), is_true(pc.is_valid(first_ns)), tokens=1)
    facts = {
        **_of_engine(ctx),
        **_handed_over(1),
        "granularity": _granularity(delivered),
        "last_token_ns": ctx.times.last_token_ns,
        "prefill_worker": ctx.name,
    }
    return requests.rows(
        where, facts, suffix="-ctx", stages=ctx.prefill_stages(), delivered=delivered
    )


def decode_halves(requests: Requests, gen: Worker, where: Bools) -> Rows:
    """What the second worker alone tells."""
    delivered = deliveries(None, gen.steps, gen.steps.sizes > 0)
    facts = {
        **_of_engine(gen),
        **_handed_over(0),
        **_by_step(delivered, gen),
        "kv_bytes": gen.kv_bytes,
        "decode_worker": gen.name,
    }
    return requests.rows(
        where,
        facts,
        suffix="-gen",
        stages=gen.decode_stages(),
        lost=gen.steps.lost,
        delivered=delivered,
    )


def single_workers(requests: Requests, worker: Worker, where: Bools) -> Rows:
    """Requests that no other worker is known to have a part in."""
    first_ns = worker.times.first_token_ns
    later = worker.steps.after(first_ns)
    delivered = deliveries(first_ns, later, is_true(pc.is_valid(first_ns)) & later.known)
    facts = {**_of_engine(worker), **_by_step(delivered, worker)}
    stages = worker.prefill_stages()
    return requests.rows(where, facts, stages=stages, lost=later.lost, delivered=delivered)


def _of_engine(worker: Worker) -> dict[str, Any]:
    return {
        "clock": worker.clock,
        "vantage": "engine",
        "arrival_ns": pc.coalesce(worker.times.arrival_ns, worker.times.queued_ns),
        "first_token_ns": worker.times.first_token_ns,
    }


def _handed_over(last_prefill_token: int) -> dict[str, Any]:
    return {"last_prefill_token": last_prefill_token, "handoff_source": "log"}


def _by_step(delivered: Events, worker: Worker) -> dict[str, Any]:
    """What a delivery is, and when the last token was there where none is known."""
    observed = pa.array(delivered.observed)
    return {
        "granularity": _granularity(delivered),
        "last_token_ns": unless(observed, worker.times.last_token_ns),
    }


def _granularity(delivered: Events) -> pa.Array:
    return pc.if_else(pa.array(delivered.observed), "step", None)
