"""The split server's own stamps of a request, and whether they and its workers' can be true."""

from dataclasses import dataclass
from itertools import pairwise

from tokengap.adapters.formats.trtllm_perf_metrics.record import Record, Stamps
from tokengap.adapters.formats.trtllm_perf_metrics.worker import Worker
from tokengap.adapters.rows import Stream, stage


@dataclass(frozen=True, slots=True)
class Gateway:
    """Stamps in ns of the server before the two workers; None is missing."""

    clock: str
    arrival_ns: int | None
    dispatch_ns: int | None
    first_token_ns: int | None

    @property
    def extent(self) -> list[int]:
        """Every stamp there is."""
        stamps = (self.arrival_ns, self.dispatch_ns, self.first_token_ns)
        return [ns for ns in stamps if ns is not None]


def gateway_of(record: Record, clock: str, stamps: Stamps) -> Gateway:
    """Read its stamps; LineError for a number that is no time."""
    return Gateway(
        clock,
        stamps.ns(record.disagg_server_arrival_time, "disagg_server_arrival_time"),
        stamps.ns(record.disagg_ctx_dispatch_time, "disagg_ctx_dispatch_time"),
        stamps.ns(record.disagg_server_first_token_time, "disagg_server_first_token_time"),
    )


def contradicts(gateway: Gateway, ctx: Worker, gen: Worker) -> bool:
    """Tell whether stamps break the order in which things must have happened.

    Then the workers' clocks were not brought to the server's, which is done once at start-up and
    may fail: their stamps cannot be compared.
    """
    chains = (
        (gateway.arrival_ns, ctx.arrival_ns),
        (ctx.answer_ns, gen.arrival_ns),
        (gen.queued_ns, gen.kv_start_ns, gen.kv_end_ns, gen.scheduled_ns),
    )
    known = [[ns for ns in chain if ns is not None] for chain in chains]
    return any(later < earlier for chain in known for earlier, later in pairwise(chain))


def gateway_row(gateway: Gateway, gen: Worker | None) -> Stream:
    """The request at the server; `gen` is the second worker if its clock can be compared.

    Which worker's token the server hands out first differs by version. What it hands out before
    it asks the second worker is the first one's.
    """
    row = Stream(
        request_id="",
        source="",
        status="",
        clock=gateway.clock,
        clock_kind="monotonic",
        vantage="gateway",
        received_ns=gateway.arrival_ns,
        first_ns=gateway.first_token_ns,
    )
    if gen is not None and gen.arrival_ns is not None and gateway.first_token_ns is not None:
        row.last_prefill_token = 1 if gateway.first_token_ns < gen.arrival_ns else 0
        row.handoff_source = "log"
    if gateway.arrival_ns is not None and gateway.dispatch_ns is not None:
        row.stages = [stage("queue", gateway.arrival_ns, gateway.dispatch_ns, clock=gateway.clock)]
    return row
