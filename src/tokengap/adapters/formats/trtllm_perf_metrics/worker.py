"""One worker's part of many requests, in ns, and the stages that its stamps enclose."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.formats.trtllm_perf_metrics.record import Step
from tokengap.adapters.formats.trtllm_perf_metrics.stamps import Stamps
from tokengap.adapters.formats.trtllm_perf_metrics.steps import Steps, steps_of
from tokengap.adapters.shared.columns import Columns, is_true, unless_0
from tokengap.adapters.shared.nested import Stage


class Times(NamedTuple):
    """Stamps in ns; NULL is missing.

    queued, scheduled: by the executor. first_token, last_token: made by the executor. arrival and
    answer: the request and its first token at the worker's HTTP side.
    """

    arrival_ns: pa.Array
    queued_ns: pa.Array
    scheduled_ns: pa.Array
    first_token_ns: pa.Array
    last_token_ns: pa.Array
    answer_ns: pa.Array
    kv_start_ns: pa.Array
    kv_end_ns: pa.Array


@dataclass(frozen=True)
class Worker:
    """One worker, or the workers that each did the same part of a request.

    there: which records have its stamps. name, clock: the same for all of them, or of each.
    read_prompt: where it tells of steps that read a prompt.
    """

    there: Bools
    name: pa.Array | str | None
    clock: pa.Array | str
    times: Times
    steps: Steps
    kv_bytes: pa.Array
    read_prompt: Bools

    @property
    def extent(self) -> tuple[pa.Array, pa.Array]:
        """The earliest and the latest stamp there is in each record."""
        first, last = self.steps.extent
        earliest = reduce(pc.min_element_wise, (*self.times, first))
        return earliest, reduce(pc.max_element_wise, (*self.times, last))

    def prefill_stages(self) -> list[Stage]:
        """What comes before the worker's first token."""
        times = self.times
        return [
            self._stage("queue", times.queued_ns, times.scheduled_ns),
            self._stage("prefill", times.scheduled_ns, times.first_token_ns),
        ]

    def decode_stages(self) -> list[Stage]:
        """What comes before the first token that this worker makes of another's prompt.

        The queue holds the wait for the KV cache.
        """
        times = self.times
        first_ns = pc.coalesce(self.steps.first_ns, times.first_token_ns)
        return [
            self._stage("kv_transfer", times.kv_start_ns, times.kv_end_ns),
            self._stage("decode_queue", times.queued_ns, times.scheduled_ns),
            self._stage("decode_first_step", times.scheduled_ns, first_ns),
        ]

    def _stage(self, name: str, start_ns: pa.Array, end_ns: pa.Array) -> Stage:
        return Stage(name, start_ns, end_ns, clock=self.clock, worker=self.name)


def worker_of(part: Columns, name: pa.Array | str | None, clock: str, stamps: Stamps) -> Worker:
    """Read the stamps of one worker; refuses records with a number that is no time."""
    metrics, breakdown = part.part("perf_metrics"), part.part("time_breakdown_metrics")
    timing, there = metrics.part("timing_metrics"), is_true(metrics.there)
    last_token_ns = stamps.ns(timing, "last_token_time")
    steps = steps_of(_lists(breakdown, "step_metrics", there), last_token_ns, stamps)
    times = Times(
        arrival_ns=stamps.ns(timing, "server_arrival_time"),
        queued_ns=stamps.ns(timing, "arrival_time"),
        scheduled_ns=stamps.ns(timing, "first_scheduled_time"),
        first_token_ns=stamps.ns(timing, "first_token_time"),
        last_token_ns=last_token_ns,
        answer_ns=stamps.ns(timing, "server_first_token_time"),
        kv_start_ns=stamps.ns(timing, "kv_cache_transfer_start"),
        kv_end_ns=stamps.ns(timing, "kv_cache_transfer_end"),
    )
    return Worker(
        there=there,
        name=name,
        clock=clock,
        times=times,
        steps=steps,
        kv_bytes=unless_0(timing["kv_cache_size"]),
        read_prompt=np.fromiter(map(bool, _lists(breakdown, "ctx_chunk_metrics", there)), bool),
    )


def _lists(breakdown: Columns, name: str, there: Bools) -> Sequence[Sequence[Step]]:
    """Steps of each record; none where the worker has no stamps."""
    told = there & is_true(breakdown.there)
    if not told.any():
        return [()] * len(told)
    lists = breakdown.others(name)
    if told.all():
        return lists
    return [steps if at else () for steps, at in zip(lists, told.tolist(), strict=True)]
