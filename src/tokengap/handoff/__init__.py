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
from tokengap.handoff.fitting import Estimate, Fit, fit
from tokengap.handoff.inverse import Answer, Inverse, invert
from tokengap.handoff.kv import Cache, Layers, StateLayers, gqa, mla
from tokengap.handoff.lengths import AtLength, at_length, hidden_from_tokens
from tokengap.handoff.links import (
    FixedOverlap,
    LayerOverlap,
    Link,
    busiest_share,
    fair_share_ns,
)
from tokengap.handoff.models import MODELS, Model, model
from tokengap.handoff.parameters import PARAMETERS, Case, Parameter, prompt_parameter
from tokengap.handoff.region import BANDWIDTHS, SIZES, Axis, Edge, Swept, edges, sweep
from tokengap.handoff.sizing import Replicas, replicas

__all__ = [
    "BANDWIDTHS",
    "COLOCATED_WARNING",
    "MODELS",
    "PARAMETERS",
    "SIZES",
    "Answer",
    "AtLength",
    "Axis",
    "Cache",
    "Case",
    "Edge",
    "Estimate",
    "Fit",
    "FixedOverlap",
    "Handoff",
    "Inverse",
    "LayerOverlap",
    "Layers",
    "Limits",
    "Link",
    "Model",
    "Parameter",
    "Promise",
    "Replicas",
    "StateLayers",
    "Swept",
    "assumptions",
    "at_length",
    "busiest_share",
    "cache_of",
    "colocated_gap_ns",
    "edges",
    "fair_share_ns",
    "fit",
    "gqa",
    "hidden_from_tokens",
    "invert",
    "judge",
    "mla",
    "model",
    "prompt_parameter",
    "replicas",
    "sweep",
]
