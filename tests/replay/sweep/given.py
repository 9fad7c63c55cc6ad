"""Machines, loads and trials whose outcome can be worked out by hand."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tokengap.replay import DecodeFit, PrefillFit, ServiceModel, Workload
from tokengap.replay.record import Wasted
from tokengap.replay.sweep import Arm, Machine, Score, Swept, Trial, colocated
from tokengap.replay.sweep.score import Judged
from tokengap.slo import Objective

MS = 10**6
PREFILL_MS, STEP_MS = 100.0, 10.0
PROMPT_TOKENS = 100
MODEL = ServiceModel(PrefillFit(0, PREFILL_MS / PROMPT_TOKENS), DecodeFit(STEP_MS, 0, 0))
"""A prompt of 100 tokens takes 100 ms, and a step 10 ms, whoever is in it."""
MACHINE = Machine("m", MODEL)


def limit(statistic: str, ms: float) -> Objective:
    return Objective(statistic, round(ms * MS), "--limit")


def evenly(requests: int, every_ms: float, output_tokens: int = 1) -> Workload:
    """Requests at equal intervals, the first after one of them."""
    ones = np.ones(requests, np.int64)
    return Workload(
        every_ms * np.arange(1.0, requests + 1), ones * PROMPT_TOKENS, ones * output_tokens
    )


def trial(good: int, offered: int = 100, **changed: object) -> Trial:
    """A trial in which so many requests were good."""
    judged = {"worst_gap": Judged(good, offered - good, 0)}
    made = Trial(
        score=Score(offered, good, 0, judged),
        goodput_per_s=float(good),
        percentiles_ns={"worst_gap": {50: 1.0, 90: 1.0, 99: 1.0}},
        queue_growth_per_s={"prefill": 0.0, "decode": 0.0},
        wasted=Wasted().as_dict(),
        transfer_bytes=0.0,
        spare_share=0.5,
        within={},
        is_stable=True,
        queues={"at_s": [], "prefill": [], "decode": []},
        grows=None,
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def swept(arm: Arm, goods: Sequence[int]) -> Swept:
    """An arm with so many good requests of 100 in each drawing."""
    return Swept(arm, [trial(good) for good in goods])


def arm(kind: str) -> Arm:
    """Some arm of a kind."""
    return replace(colocated(1, MACHINE), name=kind, kind=kind)  # type: ignore[arg-type]
