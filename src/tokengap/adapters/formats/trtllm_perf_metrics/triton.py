"""An answer of Triton's TensorRT-LLM backend that was asked for performance metrics."""

import msgspec

from tokengap.adapters.formats.trtllm_perf_metrics.request import Request
from tokengap.adapters.formats.trtllm_perf_metrics.rows import one_worker
from tokengap.adapters.formats.trtllm_perf_metrics.worker import Worker
from tokengap.adapters.shared.lines import LineError, time_ns

Number = int | str | None


class Answer(msgspec.Struct, gc=False):
    """Its metrics: every number is text. Times are ns of the executor's steady clock."""

    id: str | None = None
    model_name: str | None = None
    arrival_time_ns: Number = None
    first_scheduled_time_ns: Number = None
    first_token_time_ns: Number = None
    last_token_time_ns: Number = None


def request_of(answer: Answer, clock: str) -> Request:
    """Read one answer; LineError if it holds no stamp, or text that is no number."""
    worker = Worker(
        name=None,
        clock=clock,
        queued_ns=_ns(answer.arrival_time_ns, "arrival_time_ns"),
        scheduled_ns=_ns(answer.first_scheduled_time_ns, "first_scheduled_time_ns"),
        first_token_ns=_ns(answer.first_token_time_ns, "first_token_time_ns"),
        last_token_ns=_ns(answer.last_token_time_ns, "last_token_time_ns"),
    )
    if not worker.extent:
        raise LineError("no stamp in it", "arrival_time_ns")
    row = one_worker(worker)
    row.status, row.model, row.quality = "completed", answer.model_name, ["end_not_seen"]
    return Request(answer.id, {}, [row], worker.extent)


def _ns(number: Number, field: str) -> int | None:
    """Return the stamp; None where 0 stands for none."""
    if isinstance(number, str):
        if not number.isdecimal():
            raise LineError(f"{field}: whole nanoseconds expected", field, number)
        number = int(number)
    return time_ns(number, field) if number else None
