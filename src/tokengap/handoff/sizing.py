"""How many workers a demand needs, and when no number of them keeps the promise."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from tokengap.errors import UsageError
from tokengap.handoff.links import Exact


@dataclass(frozen=True)
class Replicas:
    """Independent workers for a demand."""

    for_demand: int
    """Enough for the request rate."""
    feasible: bool
    """A request that meets no other keeps its limit."""
    reason: str | None
    """`single_request_exceeds_target` if not feasible."""


def replicas(
    demand_req_per_s: Exact, worker_req_per_s: Exact, alone_ttft_ns: Exact, limit_ns: Exact
) -> Replicas:
    """Workers for a request rate; more of them shorten queues, never the prefill of one request.

    alone_ttft_ns: TTFT of one request on an idle worker. UsageError if a worker serves nothing.

    >>> replicas(3, 1, alone_ttft_ns=1100, limit_ns=1000)
    Replicas(for_demand=3, feasible=False, reason='single_request_exceeds_target')
    """
    if worker_req_per_s <= 0 or demand_req_per_s < 0:
        raise UsageError("a worker serves more than 0 requests per second, the demand is 0 or more")
    feasible = alone_ttft_ns <= limit_ns
    return Replicas(
        ceil(Fraction(demand_req_per_s) / Fraction(worker_req_per_s)),
        feasible,
        None if feasible else "single_request_exceeds_target",
    )
