"""One worker's part of a request, in ns, and the stages that its stamps enclose."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tokengap.adapters.formats.trtllm_perf_metrics.record import Breakdown, Part, Stamps, Step
from tokengap.adapters.rows import stage

Stages = list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Worker:
    """Stamps in ns; None is missing.

    queued, scheduled: by the executor. first_token, last_token: made by the executor. arrival and
    answer: the request and its first token at the worker's HTTP side. steps: when the tokens of
    each step were there, None without step metrics; steps_lost: some have no time.
    read_prompt: it tells of steps that read a prompt.
    """

    name: str | None
    clock: str
    arrival_ns: int | None = None
    queued_ns: int | None = None
    scheduled_ns: int | None = None
    first_token_ns: int | None = None
    last_token_ns: int | None = None
    answer_ns: int | None = None
    kv_start_ns: int | None = None
    kv_end_ns: int | None = None
    kv_bytes: int | None = None
    steps_ns: Sequence[int] | None = None
    steps_lost: bool = False
    read_prompt: bool = False

    @property
    def extent(self) -> list[int]:
        """Every stamp there is."""
        stamps = (
            self.arrival_ns, self.queued_ns, self.scheduled_ns, self.first_token_ns,
            self.last_token_ns, self.answer_ns, self.kv_start_ns, self.kv_end_ns,
        )  # fmt: skip
        return [ns for ns in stamps if ns is not None] + list(self.steps_ns or ())

    def prefill_stages(self) -> Stages:
        """What comes before the worker's first token."""
        return self._stages(
            ("queue", self.queued_ns, self.scheduled_ns),
            ("prefill", self.scheduled_ns, self.first_token_ns),
        )

    def decode_stages(self) -> Stages:
        """What comes before the first token that this worker makes of another's prompt.

        The queue holds the wait for the KV cache.
        """
        first_ns = self.steps_ns[0] if self.steps_ns else self.first_token_ns
        return self._stages(
            ("kv_transfer", self.kv_start_ns, self.kv_end_ns),
            ("decode_queue", self.queued_ns, self.scheduled_ns),
            ("decode_first_step", self.scheduled_ns, first_ns),
        )

    def _stages(self, *spans: tuple[str, int | None, int | None]) -> Stages:
        return [
            stage(name, start_ns, end_ns, worker=self.name, clock=self.clock)
            for name, start_ns, end_ns in spans
            if start_ns is not None and end_ns is not None
        ]


def worker_of(part: Part | None, name: str | None, clock: str, stamps: Stamps) -> Worker | None:
    """Read the stamps of one worker, None without any; LineError for a number that is no time."""
    if part is None or part.perf_metrics is None:
        return None
    timing = part.perf_metrics.timing_metrics
    breakdown = part.time_breakdown_metrics or Breakdown()
    steps = breakdown.step_metrics
    last_token_ns = stamps.ns(timing.last_token_time, "last_token_time")
    times = _step_times(steps, last_token_ns, stamps) if steps else []
    return Worker(
        name=name,
        clock=clock,
        arrival_ns=stamps.ns(timing.server_arrival_time, "server_arrival_time"),
        queued_ns=stamps.ns(timing.arrival_time, "arrival_time"),
        scheduled_ns=stamps.ns(timing.first_scheduled_time, "first_scheduled_time"),
        first_token_ns=stamps.ns(timing.first_token_time, "first_token_time"),
        last_token_ns=last_token_ns,
        answer_ns=stamps.ns(timing.server_first_token_time, "server_first_token_time"),
        kv_start_ns=stamps.ns(timing.kv_cache_transfer_start, "kv_cache_transfer_start"),
        kv_end_ns=stamps.ns(timing.kv_cache_transfer_end, "kv_cache_transfer_end"),
        kv_bytes=timing.kv_cache_size or None,
        steps_ns=[ns for ns in times if ns is not None] if steps else None,
        steps_lost=None in times or _has_hole(steps),
        read_prompt=bool(breakdown.ctx_chunk_metrics),
    )


def _step_times(
    steps: Sequence[Step], last_token_ns: int | None, stamps: Stamps
) -> list[int | None]:
    """When the tokens of each step were there; None where the record does not say.

    With the overlap scheduler, each step's time is written on the next one, and the last one's is
    that of the last token, unless that was there before: then it made none. The first step's
    `prev_batch_token_time` belongs to no step of this request.
    """
    own = [stamps.ns(step.token_time, "token_time") for step in steps]
    late = [stamps.ns(step.prev_batch_token_time, "prev_batch_token_time") for step in steps[1:]]
    times = [first or second for first, second in zip(own, [*late, last_token_ns], strict=True)]
    made_none = own[-1] is None and bool(late) and _is_not_after(times[-1], times[-2])
    return times[:-1] if made_none else times


def _is_not_after(ns: int | None, earlier_ns: int | None) -> bool:
    return ns is not None and earlier_ns is not None and ns <= earlier_ns


def _has_hole(steps: Sequence[Step]) -> bool:
    """Whether the steps' own numbers leave one out."""
    numbers = [step.iter for step in steps if step.iter is not None]
    return any(later - earlier != 1 for earlier, later in pairwise(numbers))
