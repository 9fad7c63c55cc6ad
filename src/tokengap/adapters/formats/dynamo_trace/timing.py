"""The frontend's timing of one request, under the names it has in traces and in answers.

`ttft_ms` ends at whichever first token its version recorded: the prefill worker's or the decode
worker's. So does `prefill_time_ms`, which is `ttft_ms` less the wait, whatever the deployment: it
is kept as a duration, and where the handoff is stays unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta

from tokengap.adapters.shared.columns import Columns, unless
from tokengap.adapters.shared.nested import Reported, Stage

NO_WORKER: Final = 0
NO_RANK: Final = 2**32 - 1
HANDOFF_FORMULA: Final = "dynamo: decode first token - prefill complete, an upper bound"
TPOT_FORMULA: Final = "dynamo: (finish - first) / (n - 1)"

Stamp = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Whole = Annotated[int, Meta(ge=0)]
Duration = Annotated[float, Meta(ge=0)]


class Timing(msgspec.Struct, gc=False):
    """Wall ms of the arrival, and from then on ms of the frontend's monotonic clock."""

    request_received_ms: Stamp | None = None
    prefill_wait_time_ms: Duration | None = None
    prefill_time_ms: Duration | None = None
    ttft_ms: Duration | None = None
    total_time_ms: Duration | None = None
    avg_itl_ms: Duration | None = None
    kv_transfer_estimated_latency_ms: Duration | None = None


class Workers(msgspec.Struct, gc=False):
    """Who served it; ids may exceed 2^53."""

    prefill_worker_id: Whole | None = None
    prefill_dp_rank: Whole | None = None
    decode_worker_id: Whole | None = None
    decode_dp_rank: Whole | None = None


@dataclass(frozen=True)
class Times:
    """Columns of requests that the frontend timed, and what it says of the time between them."""

    facts: dict[str, Any]
    stages: Sequence[Stage]
    reported: Sequence[Reported]
    unset: pa.Array
    """Where the arrival is 0: never set."""


def times_of(timing: Columns, clock: str, untimed: pa.Array | None = None) -> Times:
    """Read the timing of each request, but where it is `untimed`."""

    def ns(name: str) -> pa.Array:
        column = timing[name] if untimed is None else unless(untimed, timing[name])
        return timing.ms_ns(column, name)

    received_ns = ns("request_received_ms")
    begun_ns, ttft_ns = pc.fill_null(received_ns, 0), ns("ttft_ms")
    end_ns = pc.add(begun_ns, ns("total_time_ms"))
    is_alone = pc.equal(begun_ns, 0)  # on a clock that begins with it: there are only durations
    alone = timing.places_in(f"{clock}:request")
    lasted_ns = {"queue": ns("prefill_wait_time_ms"), "prefill": ns("prefill_time_ms")}
    return Times(
        facts={
            "clock": pc.if_else(is_alone, alone, clock),
            "clock_kind": pc.if_else(is_alone, "monotonic", "wall"),
            "received_ns": begun_ns,
            "first_token_ns": pc.add(begun_ns, ttft_ns),
            "last_token_ns": end_ns,
            "stream_close_ns": end_ns,
        },
        stages=[Stage(name, lasted_ns=column) for name, column in lasted_ns.items()],
        reported=[
            Reported.of("handoff_gateway", HANDOFF_FORMULA, ns("kv_transfer_estimated_latency_ms")),
            Reported.of("tpot", TPOT_FORMULA, ns("avg_itl_ms")),
        ],
        unset=pc.fill_null(pc.equal(received_ns, 0), fill_value=False),
    )


def workers_of(workers: Columns) -> tuple[dict[str, Any], pa.Array]:
    """Who served each request, and where a placeholder stands for none.

    One worker in both parts is a request without a handoff.
    """
    ids = [workers.others(f"{part}_worker_id") for part in ("prefill", "decode")]
    ranks = [workers.others(f"{part}_dp_rank") for part in ("prefill", "decode")]
    prefill, decode = (
        pa.array(map(_worker, *of_part), pa.string()) for of_part in zip(ids, ranks, strict=True)
    )
    unset = [
        NO_WORKER in (first, second) or NO_RANK in (third, fourth)
        for first, second, third, fourth in zip(*ids, *ranks, strict=True)
    ]
    handoff = pc.if_else(pc.equal(prefill, decode), "none", None)
    facts = {"prefill_worker": prefill, "decode_worker": decode, "handoff_source": handoff}
    return facts, pa.array(unset, pa.bool_())


@lru_cache(maxsize=4096)
def _worker(worker_id: int | None, rank: int | None) -> str | None:
    if not worker_id:
        return None
    return str(worker_id) if rank in (None, NO_RANK) else f"{worker_id}:{rank}"
