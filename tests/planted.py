"""Streams with stalls of known cause, of workers that step together, in canonical form.

Each worker runs `LANES` streams at once; a step gives each one token. Stalls are planted one at a
time, so that every gap over `LIMIT_NS` has one cause, which is returned beside the streams:

    prefill_interference  a long prompt of another request is prefilled between two steps
    shared_pause          the worker stands still, with no prefill
    handoff               the decode worker's first token waits for the cache
    preemption            a stream skips steps, with a mark
    delivery_pause        tokens are held back and come in a burst
    unexplained           a stream skips steps, and nothing says why
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tokengap.schema import STREAMS

MS: Final = 1_000_000
LIMIT_NS: Final = 100 * MS
LANES: Final = 32
MEAN_TOKENS: Final = 400
STEP_NS: Final = 12 * MS
PREFILL_NS: Final = 3 * MS
PREFILL_TOKEN_NS: Final = 40_000
STALL_NS: Final = (150 * MS, 600 * MS)
BURST_NS: Final = 20_000
OF_STREAM: Final = ("preemption", "delivery_pause", "unexplained")
OF_WORKER: Final = ("prefill_interference", "shared_pause")

Truth = dict[tuple[str, int], str]
"""(request id, gap index) to cause."""


@dataclass
class Worker:
    """One worker's steps, and what was planted between them."""

    name: str
    times_ns: np.ndarray[Any, Any]
    stops: dict[int, str]
    long_prefills: list[tuple[int, int]] = field(default_factory=list)


def planted(tokens: int, seed: int = 0, *, stages: bool = True) -> Iterator[tuple[pa.Table, Truth]]:
    """Yield about so many tokens as tables of one worker each, with the stalls planted there.

    stages: whether the log measures prefills; without, only arrivals and first tokens are known.
    """
    rng = np.random.default_rng(seed)
    steps = 20 * MEAN_TOKENS
    for number in range(max(1, tokens // (LANES * steps))):
        worker = _worker(rng, f"w{number}", steps)
        rows, truth = _streams(rng, worker, stages=stages)
        yield pa.Table.from_pylist(rows, STREAMS), truth


def _worker(rng: np.random.Generator, name: str, steps: int) -> Worker:
    """Steps of about 12 ms; one in 200 is preceded by a stop of the whole worker."""
    took = rng.normal(STEP_NS, STEP_NS / 20, steps).astype(np.int64)
    worker = Worker(name, took, {})
    for step in range(100, steps - 100, 200):
        at = step + int(rng.integers(100))
        cause = OF_WORKER[int(rng.integers(len(OF_WORKER)))]
        stop_ns = int(rng.integers(*STALL_NS))
        took[at] += stop_ns
        worker.stops[at] = cause
        if cause == "prefill_interference":
            worker.long_prefills.append((at, stop_ns))
    worker.times_ns = np.cumsum(took)
    return worker


def _streams(
    rng: np.random.Generator, worker: Worker, *, stages: bool
) -> tuple[list[dict[str, Any]], Truth]:
    rows, truth = [], Truth()
    calm = np.ones(len(worker.times_ns), bool)
    for at in worker.stops:
        calm[at - 12 : at + 13] = False
    for number, (at, stop_ns) in enumerate(worker.long_prefills):
        rows.append(_long_request(worker, number, at, stop_ns, stages=stages))
    for lane in range(LANES):
        step = 1 + int(rng.integers(MEAN_TOKENS))
        while step + 40 < len(calm):
            name = f"{worker.name}-{lane}-{step}"
            last = min(step + max(20, int(rng.poisson(MEAN_TOKENS))), len(calm) - 1)
            if calm[step - 1 : step + 1].all():
                row, found = _request(rng, worker, name, step, last, calm, stages=stages)
                rows.append(row)
                truth |= {(name, index): cause for index, cause in found.items()}
            step = last + 1 + int(rng.integers(3))
    return rows, truth


def _request(
    rng: np.random.Generator,
    worker: Worker,
    name: str,
    first: int,
    last: int,
    calm: np.ndarray[Any, Any],
    *,
    stages: bool,
) -> tuple[dict[str, Any], dict[int, str]]:
    """One stream over the worker's steps first..last, and where it stalls for which cause."""
    times_ns = worker.times_ns[first : last + 1].copy()
    marks: list[dict[str, Any]] = []
    prefill_end_ns = int(times_ns[0]) - PREFILL_NS // 3
    facts: dict[str, Any] = {}
    kept = np.ones(len(times_ns), bool)
    causes = {at - first: cause for at, cause in worker.stops.items() if first < at <= last}
    length = len(times_ns)
    skipped = int(rng.integers(12, 40))  # steps: 144 ms and more
    start = int(rng.integers(1, max(2, length - skipped - 5)))
    free = (
        start + skipped + 4 < length and calm[first + start - 1 : first + start + skipped + 2].all()
    )
    if rng.random() < 0.03 and length > skipped + 10 and calm[first:][: skipped + 2].all():
        kept[1 : skipped + 1] = False
        causes[skipped + 1] = "handoff"
        facts = {"last_prefill_token": 1, "handoff_source": "log", "prefill_worker": "prefill"}
    elif rng.random() < 0.08 and free:
        cause = OF_STREAM[int(rng.integers(len(OF_STREAM)))]
        end = start + skipped
        causes[end] = cause
        if cause == "delivery_pause":
            burst = np.arange(end - start, dtype=np.int64) * BURST_NS
            times_ns[start:end] = times_ns[end] - (end - start) * BURST_NS + burst
            causes[start] = causes.pop(end)
        else:
            kept[start:end] = False
            if cause == "preemption":
                marks = [{"kind": "preempted", "t_ns": int(times_ns[start - 1]) + MS}]
    index = np.cumsum(kept) - 1
    gaps = np.diff(times_ns[kept])
    row = {
        "trace": "planted", "request_id": name, "attempt": 0, "choice": 0, "vantage": "engine",
        "clock": "host", "clock_kind": "monotonic", "granularity": "token",
        "status": "completed", "prompt_tokens": int(rng.integers(50, 600)),
        "output_tokens": int(kept.sum()), "token_count_source": "usage",
        "arrival_ns": prefill_end_ns - PREFILL_NS - 2 * MS,
        "first_token_ns": int(times_ns[0]), "gaps_ns": gaps.tolist(), "min_gap_ns": int(gaps.min()),
        "decode_worker": worker.name, "quality": [], "source": f"planted:0:{name}", "marks": marks,
        "stages": _stage(prefill_end_ns, PREFILL_NS, worker.name) if stages and not facts else [],
    } | facts  # fmt: skip
    return row, {int(index[at]): cause for at, cause in causes.items()}


def _long_request(
    worker: Worker, number: int, at: int, stop_ns: int, *, stages: bool
) -> dict[str, Any]:
    """A request of a long prompt and one token, whose prefill stops the worker before step `at`."""
    end_ns = int(worker.times_ns[at]) - STEP_NS // 3
    return {
        "trace": "planted", "request_id": f"{worker.name}-long-{number}", "attempt": 0, "choice": 0,
        "vantage": "engine", "clock": "host", "clock_kind": "monotonic", "granularity": "token",
        "status": "completed", "prompt_tokens": stop_ns // PREFILL_TOKEN_NS, "output_tokens": 1,
        "token_count_source": "usage", "arrival_ns": end_ns - stop_ns - MS,
        "first_token_ns": int(worker.times_ns[at]), "gaps_ns": [], "decode_worker": worker.name,
        "quality": [], "source": f"planted:0:long-{number}", "marks": [],
        "stages": _stage(end_ns, stop_ns, worker.name) if stages else [],
    }  # fmt: skip


def _stage(end_ns: int, took_ns: int, worker: str) -> list[dict[str, Any]]:
    return [{
        "name": "prefill", "start_ns": end_ns - took_ns, "end_ns": end_ns, "duration_ns": took_ns,
        "worker": worker, "clock": "host",
    }]  # fmt: skip
