"""The split server's own stamps of requests, and whether they and its workers' can be true."""

from functools import reduce
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.formats.trtllm_perf_metrics.requests import Requests
from tokengap.adapters.formats.trtllm_perf_metrics.stamps import Stamps
from tokengap.adapters.formats.trtllm_perf_metrics.worker import Worker
from tokengap.adapters.shared.columns import Columns, is_true
from tokengap.adapters.shared.nested import Stage, stage_lists
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.stamps import out_of_order


class Gateway(NamedTuple):
    """Stamps in ns of the server before the two workers; NULL is missing."""

    arrival_ns: pa.Array
    dispatch_ns: pa.Array
    first_token_ns: pa.Array

    @property
    def there(self) -> Bools:
        """Where there is any of them."""
        return is_true(pc.is_valid(pc.coalesce(*self)))

    @property
    def extent(self) -> tuple[pa.Array, pa.Array]:
        """The earliest and the latest stamp there is in each record."""
        return reduce(pc.min_element_wise, self), reduce(pc.max_element_wise, self)


def gateway_of(records: Columns, stamps: Stamps) -> Gateway:
    """Read its stamps; refuses records with a number that is no time."""
    return Gateway(
        stamps.ns(records, "disagg_server_arrival_time"),
        stamps.ns(records, "disagg_ctx_dispatch_time"),
        stamps.ns(records, "disagg_server_first_token_time"),
    )


def contradict(gateway: Gateway, ctx: Worker, gen: Worker) -> Bools:
    """Where stamps break the order in which things must have happened.

    Then the workers' clocks were not brought to the server's, which is done once at start-up and
    may fail: their stamps cannot be compared.
    """
    chains = (
        (gateway.arrival_ns, ctx.times.arrival_ns),
        (ctx.times.answer_ns, gen.times.arrival_ns),
        (gen.times.queued_ns, gen.times.kv_start_ns, gen.times.kv_end_ns, gen.times.scheduled_ns),
    )
    broken = is_true(reduce(pc.or_, map(out_of_order, chains)))
    found: Bools = broken & ctx.there & gen.there
    return found


def gateway_rows(
    requests: Requests, gateway: Gateway, gen: Worker, both: Bools, where: Bools
) -> Rows:
    """The requests at the server; `both` is where the second worker's clock can be compared.

    Which worker's token the server hands out first differs by version. What it hands out before
    it asks the second worker is the first one's.
    """
    is_before = pc.less(gateway.first_token_ns, gen.times.arrival_ns)
    last_prefill_token = pc.if_else(pa.array(both), pc.cast(is_before, pa.int32()), None)
    queue = Stage("queue", gateway.arrival_ns, gateway.dispatch_ns, clock=requests.clock)
    facts = {
        "clock": requests.clock,
        "vantage": "gateway",
        "received_ns": gateway.arrival_ns,
        "first_token_ns": gateway.first_token_ns,
        "last_prefill_token": last_prefill_token,
        "handoff_source": pc.if_else(pc.is_valid(last_prefill_token), "log", None),
        "stages": _unless_empty(queue, len(where)),
    }
    return requests.rows(where, facts)


def _unless_empty(queue: Stage, rows: int) -> pa.Array | None:
    """The column `stages`, NULL where the server did not tell when it sent a request on."""
    unknown = pc.or_(pc.is_null(queue.start_ns), pc.is_null(queue.end_ns))
    return None if pc.all(unknown).as_py() else stage_lists([queue], rows, is_true(unknown))
