"""Rows of answers of Triton's TensorRT-LLM backend that was asked for performance metrics."""

from collections.abc import Iterator

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.formats.trtllm_perf_metrics.requests import Log, Requests, outcomes
from tokengap.adapters.formats.trtllm_perf_metrics.rows import single_workers
from tokengap.adapters.formats.trtllm_perf_metrics.steps import no_steps
from tokengap.adapters.formats.trtllm_perf_metrics.worker import Times, Worker
from tokengap.adapters.shared.cells import times
from tokengap.adapters.shared.columns import Columns, unless_0
from tokengap.adapters.shared.row_batches import Rows

Number = int | str | None


class Answer(msgspec.Struct, gc=False):
    """Its metrics: every number is text. Times are ns of the executor's steady clock."""

    id: str | None = None
    model_name: str | None = None
    arrival_time_ns: Number = None
    first_scheduled_time_ns: Number = None
    first_token_time_ns: Number = None
    last_token_time_ns: Number = None


def triton_rows(answers: Columns, log: Log) -> Iterator[Rows]:
    """Yield a row for each answer."""
    all_, none = np.ones(len(answers), bool), pa.nulls(len(answers), pa.int64())
    stamps = Times(
        arrival_ns=none,
        queued_ns=_ns(answers, "arrival_time_ns"),
        scheduled_ns=_ns(answers, "first_scheduled_time_ns"),
        first_token_ns=_ns(answers, "first_token_time_ns"),
        last_token_ns=_ns(answers, "last_token_time_ns"),
        answer_ns=none,
        kv_start_ns=none,
        kv_end_ns=none,
    )
    steps = no_steps(len(answers))
    worker = Worker(all_, None, log.clock, stamps, steps, kv_bytes=none, read_prompt=steps.known)
    earliest_ns, latest_ns = worker.extent
    answers.refuse(pc.is_null(earliest_ns), "no stamp in it", "arrival_time_ns")
    names = log.names(answers, answers["id"], earliest_ns, latest_ns)
    facts, notes = outcomes(pa.nulls(len(answers), pa.string()))
    requests = Requests(
        answers, log.clock, names, {}, {**facts, "model": answers["model_name"]}, notes
    )
    yield single_workers(requests, worker, all_)


def _ns(answers: Columns, name: str) -> pa.Array:
    """Return the stamps; NULL where 0 stands for none."""
    logged = [None if number is None else str(number) for number in answers.others(name)]
    texts = pa.array(logged, pa.string())
    whole = pc.utf8_is_decimal(texts)
    answers.refuse(pc.invert(whole), f"{name}: whole nanoseconds expected", name, texts)
    cells = times(pc.if_else(whole, texts, None), "ns")
    reason = f"{name}: whole nanoseconds below 2^62 expected"
    answers.refuse(pa.array(cells.bad), reason, name, texts)
    return unless_0(pa.array(cells.values, mask=~cells.there))
