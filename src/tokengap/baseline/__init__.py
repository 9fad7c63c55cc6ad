"""What a colocated trace shows: what prefills do to the gaps beside them, and what work costs.

Arithmetic alone: arrays in, values out.
"""

from tokengap.baseline.chance import Estimate
from tokengap.baseline.response import Blocks, Dose, Effect, blocks_of, respond
from tokengap.baseline.service import (
    Decodes,
    Jitter,
    PrefillCost,
    Prefills,
    Seen,
    ServiceFit,
    StepCost,
    fit_service,
)
from tokengap.baseline.verdict import STALL_STEPS, Evidence, Misses, Verdict, judge

__all__ = [
    "STALL_STEPS",
    "Blocks",
    "Decodes",
    "Dose",
    "Effect",
    "Estimate",
    "Evidence",
    "Jitter",
    "Misses",
    "PrefillCost",
    "Prefills",
    "Seen",
    "ServiceFit",
    "StepCost",
    "Verdict",
    "blocks_of",
    "fit_service",
    "judge",
    "respond",
]
