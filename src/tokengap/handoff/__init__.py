"""Does the KV cache fit through the link inside the promise? Exact, in both directions.

Nothing here reads a file or a store: values in, values out.
"""

from tokengap.handoff.budget import (
    COLOCATED_WARNING,
    Handoff,
    Limits,
    Promise,
    assumptions,
    colocated_gap_ns,
    judge,
)
from tokengap.handoff.config import cache_of
from tokengap.handoff.inverse import Answer, Inverse, invert
from tokengap.handoff.kv import Cache, Layers, StateLayers, gqa, mla
from tokengap.handoff.links import (
    FixedOverlap,
    LayerOverlap,
    Link,
    busiest_share,
    fair_share_ns,
)
from tokengap.handoff.models import MODELS, Model, model
from tokengap.handoff.sizing import Replicas, replicas

__all__ = [
    "COLOCATED_WARNING",
    "MODELS",
    "Answer",
    "Cache",
    "FixedOverlap",
    "Handoff",
    "Inverse",
    "LayerOverlap",
    "Layers",
    "Limits",
    "Link",
    "Model",
    "Promise",
    "Replicas",
    "StateLayers",
    "assumptions",
    "busiest_share",
    "cache_of",
    "colocated_gap_ns",
    "fair_share_ns",
    "gqa",
    "invert",
    "judge",
    "mla",
    "model",
    "replicas",
]
