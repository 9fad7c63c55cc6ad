"""Rows of one request on the engine: of the worker or the two workers that served it.

Ids, status and source are the caller's to add; `request_id` holds what a half is called by.
"""

from tokengap.adapters.formats.trtllm_perf_metrics.worker import Worker
from tokengap.adapters.rows import Stream, stage


def both_workers(ctx: Worker, gen: Worker) -> Stream:
    """The request on both workers, whose stamps share a clock."""
    row = _engine_row(ctx)
    row.kv_bytes = gen.kv_bytes or ctx.kv_bytes
    row.prefill_worker, row.decode_worker = ctx.name, gen.name
    _hand_off(row, last_prefill_token=1)  # the first worker makes one token
    row.stages = [*ctx.prefill_stages(), *_relay(ctx, gen), *gen.decode_stages()]
    if ctx.first_token_ns is not None and gen.steps_ns:
        _deliver(row, [ctx.first_token_ns, *gen.steps_ns], lost=gen.steps_lost)
    else:
        row.last_token_ns = gen.last_token_ns
    if not gen.steps_ns and gen.first_token_ns is not None:
        row.marks.append(("decode_first_token", gen.first_token_ns))
    return row


def prefill_half(ctx: Worker) -> Stream:
    """What the first worker alone tells: it makes one token."""
    row = _engine_row(ctx)
    row.request_id = "-ctx"
    row.prefill_worker = ctx.name
    _hand_off(row, last_prefill_token=1)
    row.stages = ctx.prefill_stages()
    if ctx.first_token_ns is not None:
        row.times_ns, row.counts, row.step = [ctx.first_token_ns], [1], True
    return row


def decode_half(gen: Worker) -> Stream:
    """What the second worker alone tells."""
    row = _engine_row(gen)
    row.request_id = "-gen"
    row.decode_worker = gen.name
    row.kv_bytes = gen.kv_bytes
    _hand_off(row, last_prefill_token=0)
    row.stages = gen.decode_stages()
    if gen.steps_ns:
        _deliver(row, list(gen.steps_ns), lost=gen.steps_lost)
    return row


def one_worker(worker: Worker) -> Stream:
    """A request that no other worker is known to have a part in."""
    row = _engine_row(worker)
    row.stages = worker.prefill_stages()
    first_ns = worker.first_token_ns
    if first_ns is not None and worker.steps_ns is not None:
        later = [ns for ns in worker.steps_ns if ns > first_ns]
        _deliver(row, [first_ns, *later], lost=worker.steps_lost)
    return row


def _engine_row(worker: Worker) -> Stream:
    return Stream(
        request_id="",
        source="",
        status="",
        clock=worker.clock,
        clock_kind="monotonic",
        vantage="engine",
        arrival_ns=worker.arrival_ns or worker.queued_ns,
        first_ns=worker.first_token_ns,
        last_token_ns=worker.last_token_ns,
    )


def _hand_off(row: Stream, *, last_prefill_token: int) -> None:
    row.last_prefill_token, row.handoff_source = last_prefill_token, "log"


def _deliver(row: Stream, times_ns: list[int], *, lost: bool) -> None:
    row.times_ns, row.step, row.last_token_ns = times_ns, True, None
    if lost:
        row.quality.append("events_lost")


def _relay(ctx: Worker, gen: Worker) -> list[dict[str, object]]:
    if ctx.answer_ns is None or gen.arrival_ns is None:
        return []
    return [stage("relay", ctx.answer_ns, gen.arrival_ns, clock=ctx.clock)]
