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
from tokengap.handoff.inverse import Answer, Inverse, invert
from tokengap.handoff.links import (
    FixedOverlap,
    LayerOverlap,
    Link,
    busiest_share,
    fair_share_ns,
)
from tokengap.handoff.sizing import Replicas, replicas

__all__ = [
    "COLOCATED_WARNING",
    "Answer",
    "FixedOverlap",
    "Handoff",
    "Inverse",
    "LayerOverlap",
    "Limits",
    "Link",
    "Promise",
    "Replicas",
    "assumptions",
    "busiest_share",
    "colocated_gap_ns",
    "fair_share_ns",
    "invert",
    "judge",
    "replicas",
]
