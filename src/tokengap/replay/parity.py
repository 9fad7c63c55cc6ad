"""DistServe's own simulator, rule for rule: to be compared with, never to size by.

Its rules, as its published runs show them: a prefill takes whole prompts in order up to a cap of
tokens; a decode step takes the queue in order while contexts and one token each stay within 50,000
tokens, whatever memory there is; the others wait for a later step; requests handed over during a
step come before those the step returns. The handover takes no time. With several workers a request
goes to the one with the shortest queue, prefills under way included, running decodes not. An answer
of n tokens is a prefill's token and n steps: n + 1 tokens.

Coefficients are of OPT-13B on A100-80G (LLMServe/DistServe at 82831f16, Apache-2.0).
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tokengap.replay.batch import Batch
from tokengap.replay.config import Pool, Pools
from tokengap.replay.outcome import Outcome
from tokengap.replay.record import Record
from tokengap.replay.request import Request
from tokengap.replay.run import replay
from tokengap.replay.scheduler import PrefillFirst
from tokengap.replay.service import DecodeFit, PrefillFit, ServiceModel
from tokengap.replay.worker import Worker
from tokengap.replay.workload import MS_PER_S, Workload

STEP_TOKENS: Final = 50_000
STEP_MS: Final = 2.0
"""What every step pays, and for each token of context `STEP_TOKEN_MS`: the first stage only."""
STEP_TOKEN_MS: Final = 1e-4
STAGE_MS: Final = 1.0
"""What every stage of a prefill pays, for each stage there is."""

PREFILLS: Final = {
    "distserve-tp1": (18.10254647486372, 0.1019122572698738, 7.122264314252114e-06),
    "distserve-tp2": (14.742973695171262, 0.06857720739764, 2.4495727400243586e-06),
    "vllm-tp2": (27.440806247810684, 0.0905453268062731, 8.452054313246025e-06),
}
DECODES: Final = {
    "distserve-tp1": (
        (19.934702624895458, 0.0006269356524350583, 0.03850697740828398),
        (7.1661889468253595, 0.0005798000403396046, 0.15831096191764046),
    ),
    "vllm-tp2": (
        (24.54058424191086, 0.00022440145424035404, 0.08715787269447899),
        (17.947769467112806, 0.0004570851465217072, 0.11179075830699213),
    ),
}
"""The fit of less than 95 requests, and that of more; a, b and c of `service`."""
MOST_PREFILL_TOKENS: Final = {"tp1": 66_144, "tp2": 163_008, "tp4": 356_736}


def prefill_stages(fit: str, stages: int = 1) -> tuple[PrefillFit, ...]:
    """A prefill's stages: each its part of the time, the first one with the overhead of a step."""
    a, b, c = (value / stages for value in PREFILLS[fit])
    later = PrefillFit(a + stages * STAGE_MS, b, c)
    first = PrefillFit(later.fixed_ms + STEP_MS, b + STEP_TOKEN_MS, c)
    return (first, *[later] * (stages - 1))


def decode_fits(fit: str) -> tuple[DecodeFit, DecodeFit]:
    """Steps of less than 95 requests, and of more.

    The overhead is of the contexts before the step, which are one token each less than attended to.
    """
    small, large = (
        DecodeFit(a + STEP_MS, b + STEP_TOKEN_MS, c - STEP_TOKEN_MS) for a, b, c in DECODES[fit]
    )
    return small, large


def model(prefill: str, decode: str, stages: int = 1) -> ServiceModel:
    """Workers by the names of `PREFILLS` and `DECODES`; the stages are those of the prefill."""
    first, *later = prefill_stages(prefill, stages)
    small, large = decode_fits(decode)
    return ServiceModel(first, small, large, later_stages=tuple(later))


class ShortestQueue:
    """The first worker of the shortest queue; prefills under way count, running decodes do not."""

    def choose(self, workers: Sequence[Worker], now_ms: float) -> Worker:
        """Advances every worker to see its queue."""
        for worker in workers:
            worker.advance(now_ms)
        return min(workers, key=_queued)


def _queued(worker: Worker) -> int:
    held_back = len(worker.batch.order) if isinstance(worker.batch, CappedBatch) else 0
    return worker.requests - len(worker.batch.running) + held_back


class CappedBatch(Batch):
    """A step takes only as many of the queue as 50,000 tokens hold."""

    def __init__(self, service: ServiceModel, record: Record) -> None:
        super().__init__(service, record)
        self.order: list[Request] = []  # the queue
        self._taken: list[Request] = []  # by the step under way, or the last one
        self._is_over = True
        self._steps: dict[Request, int] = {}  # that each has had

    def enter(self, request: Request, now_ms: float) -> None:
        """To the tail of the queue."""
        super().enter(request, now_ms)
        self._steps[request] = 0
        self.order.append(request)

    def run(self, clock_ms: float, until_ms: float, pace: float, most_steps: int) -> float:  # noqa: ARG002 (one step at a time)
        """Take the first of the queue that a step has room for."""
        self._return()
        tokens = self._take()
        line = self.service.line(len(self._taken), tokens)
        clock_ms += (line.fixed_ms + line.token_ms * tokens) * pace
        self.ends.append(clock_ms)
        place = len(self.ends) - 1
        for request in self._taken:
            self._steps[request] += 1
            self.record.tokens(request, self.track, place, place)
        self.contexts += len(self._taken)
        self._is_over = False
        return clock_ms

    def _take(self) -> int:
        """How many tokens those hold that are taken."""
        tokens = room = taken = 0
        for request in self.order:
            context = request.context + self._steps[request]
            room += context + 1
            if room > STEP_TOKENS:
                break
            tokens, taken = tokens + context, taken + 1
        self._taken, self.order = self.order[:taken], self.order[taken:]
        return tokens

    def _return(self) -> None:
        """Whoever was handed over during a step sits before those it returns."""
        self.order += self._taken
        self._taken = []

    def take_finished(self) -> list[Request]:
        """Those with all their tokens after the last step; a prefill after it returns the rest."""
        if self._is_over:
            self._return()
        self._is_over = True
        finished = [request for request in self._taken if self._steps[request] == request.left]
        for request in finished:
            del self.running[request]
            self.contexts -= request.context + self._steps.pop(request)
            request.left = 0
        self._taken = [request for request in self._taken if request in self.running]
        return finished


class Capped(Worker):
    """A worker of DistServe's simulator."""

    make_batch = CappedBatch


def simulated(
    workload: Workload, pools: Pools, models: ServiceModel | dict[str, ServiceModel]
) -> Outcome:
    """What DistServe's simulator makes of a workload; its answers get one token more."""
    longer = Workload(workload.arrival_ms, workload.prompt_tokens, workload.output_tokens + 1)
    return replay(longer, pools, models, to_the_end=True, make_worker=Capped)


def split(prefill: int = 1, decode: int = 1) -> tuple[Pools, dict[str, ServiceModel]]:
    """DistServe's engine: prefill workers of two GPUs, decode workers of one."""
    fit = model("distserve-tp2", "distserve-tp1")
    first = Pool(prefill, 2, scheduler=_whole_prompts("tp2"), router=ShortestQueue)
    return Pools.split(first, Pool(decode, 1, router=ShortestQueue)), {"": fit}


def colocated(workers: int = 1) -> tuple[Pools, dict[str, ServiceModel]]:
    """VLLM's engine: workers of two GPUs, prefill first."""
    pool = Pool(workers, 2, scheduler=_whole_prompts("tp2"), router=ShortestQueue)
    return Pools(pool), {"": model("vllm-tp2", "vllm-tp2")}


def _whole_prompts(tp: str) -> PrefillFirst:
    return PrefillFirst(max_tokens=MOST_PREFILL_TOKENS[tp])


def arrivals_ms(start_s: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Arrivals as the simulator adds them up from its workload's start times.

    >>> arrivals_ms([5.0, 5.5, 5.75])
    array([  0., 500., 750.])
    """
    between = np.diff(np.asarray(start_s, np.float64)) * MS_PER_S
    return np.concatenate(([0.0], np.cumsum(between)))
