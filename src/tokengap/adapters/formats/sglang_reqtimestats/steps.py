"""Steps of requests one after another, as far as their lengths are known."""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.formats.sglang_reqtimestats.line import PARTS, UNIFIED
from tokengap.adapters.shared.columns import Columns, unless
from tokengap.adapters.shared.nested import Stage
from tokengap.adapters.shared.sglang import DECODE, PREFILL

STEPS: Final = {
    UNIFIED: (("queue", "queue_duration"),),
    PREFILL: (("kv_bootstrap", "bootstrap_queue_duration"), ("queue", "queue_duration")),
    DECODE: (
        ("kv_bootstrap", "prealloc_queue_duration"),
        ("kv_transfer", "transfer_duration"),
        ("decode_queue", "queue_duration"),
    ),
}
"""Stages of each kind of server in their order, and what SGLang calls their length."""


def stages_of(stats: Columns, entry_ns: pa.Array, clocks: pa.Array) -> tuple[list[Stage], pa.Array]:
    """Return the steps, and when the last of them ended; NULL if that is not known."""
    ends_ns = unless(pc.is_valid(stats["attempts"]), entry_ns)
    stages = []
    for kind, steps in STEPS.items():
        # A step from an entry that was never stamped has no length, whatever the line says.
        where = pc.and_(pc.equal(stats["kind"], kind), pc.is_valid(entry_ns))
        at_ns = pc.if_else(where, ends_ns, None)
        for name, lasted in steps:
            lasted_ns, whole = _lasted(stats, lasted, in_parts=name == "kv_bootstrap")
            end_ns = stats.after_ns(at_ns, lasted_ns, lasted)
            start_ns = unless(pc.is_null(end_ns), at_ns)
            lasted_ns = pc.if_else(where, lasted_ns, None)
            stages.append(Stage(name, start_ns, end_ns, lasted_ns, clocks))
            at_ns = pc.if_else(whole, end_ns, None)
        ends_ns = pc.if_else(where, at_ns, ends_ns)
    return stages, ends_ns


def _lasted(stats: Columns, name: str, *, in_parts: bool) -> tuple[pa.Array, pa.Array]:
    """Length of a step, or of those of its parts that the line tells; and where it is all told."""
    whole_ns = stats.ms_ns(name)
    if not in_parts:
        return whole_ns, pc.is_valid(whole_ns)
    first_ns, second_ns = map(stats.ms_ns, PARTS)
    both_ns = pc.coalesce(whole_ns, pc.add(first_ns, second_ns))
    return pc.coalesce(both_ns, first_ns, second_ns), pc.is_valid(both_ns)
