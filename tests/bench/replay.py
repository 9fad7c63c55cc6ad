"""How long a replay takes beside a plain loop of the same model, every gap produced by both.

    python -m tests.bench.replay [--requests 1000 5000 100000] [--alone 1000000]

Lengths and arrivals are drawn from 1,000 requests of the Azure conversation trace; four GPUs of
OPT-13B serve 2.667 requests in a second. The plain loop has an event per step and an append per
token (`tests/replay/plain.py`). Of each, the median of five runs counts, in seconds of one core.
The larger workload runs without the plain loop, which shows whether time grows with the requests,
and how much memory it takes. No time is asserted: the exit code says whether both agree.
"""

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.replay.plain import plain_times_ms
from tests.replay.reference_runs import azure
from tokengap.replay import Chunked, Pool, Pools, Transport, Workload, parity, replay

RUNS: Final = 5
TARGET_RATIO: Final = 6.0
RATE_PER_S: Final = 8 / 3
MODEL: Final = parity.model("vllm-tp2", "vllm-tp2")
ARMS: Final = {
    "2 colocated, prefill first": Pools.colocated(2, tp=2),
    "2 colocated, chunks of 512": Pools.colocated(2, tp=2, scheduler=Chunked(512)),
    "1P+1D, no link time": Pools.split(Pool(1, tp=2), Pool(1, tp=2)),
    "1P+1D, 25 GB/s": Pools.split(Pool(1, tp=2), Pool(1, tp=2), Transport(819_200, 25e9)),
}
ALONE: Final = ("2 colocated, prefill first", "1P+1D, no link time")
Gaps = list[np.ndarray[Any, np.dtype[np.int64]]]


def drawn(requests: int) -> Workload:
    return azure("2.0").bootstrap(requests, seed=1).at_rate(RATE_PER_S)


def ours(workload: Workload, pools: Pools) -> Gaps:
    outcome = replay(workload, pools, MODEL, to_the_end=True)
    return [chunk.gaps_ns for chunk in outcome.chunks()]


def plain(workload: Workload, pools: Pools) -> Gaps:
    times_ms = plain_times_ms(workload, pools, MODEL)
    stamps_ns = (np.rint(np.array(row) * 1e6).astype(np.int64) for row in times_ms)
    return [stamps[1:] - stamps[:-1] for stamps in stamps_ns]


def timed(work: Callable[[], object]) -> float:
    """Seconds of a core."""
    started = time.process_time()
    work()
    return time.process_time() - started


def agree(workload: Workload, pools: Pools) -> bool:
    """Stamps of both are rounded to a ns, so a gap of one and of the other differ by 2 at most."""
    one, other = (np.concatenate(serve(workload, pools)) for serve in (ours, plain))
    return len(one) == len(other) and bool((np.abs(one - other) <= 2).all())


def compare(name: str, size: int, table: Table) -> bool:
    """Add a row; whether both loops agree."""
    workload, pools = drawn(size), ARMS[name]
    ours_s, plain_s = (
        statistics.median(timed(partial(serve, workload, pools)) for _ in range(RUNS))
        for serve in (ours, plain)
    )
    table.add_row(
        name, f"{size:,}", f"{ours_s:.3f}", f"{size / ours_s:,.0f}", f"{plain_s:.3f}",
        f"{plain_s / ours_s:.1f}",
    )  # fmt: skip
    return agree(workload, pools)


def count_gaps(workload: Workload, pools: Pools) -> int:
    """Every gap is made, and none is kept."""
    outcome = replay(workload, pools, MODEL, to_the_end=True)
    return sum(len(chunk.gaps_ns) for chunk in outcome.chunks())


def alone(name: str, size: int) -> str:
    took_s = timed(partial(count_gaps, drawn(size), ARMS[name]))
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{name}: {size:,} requests in {took_s:.1f} s, {size / took_s:,.0f} in a second, "
        f"peak memory {peak_gib:.1f} GiB"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, nargs="*", default=[1000, 5000, 100_000])
    parser.add_argument("--alone", type=int, default=1_000_000)
    options = parser.parse_args()
    console = Console(width=100)
    table = Table("", "requests", "replay s", "requests/s", "plain loop s", "times faster")
    wrong = [
        f"{name}, {size:,} requests"
        for size in options.requests
        for name in ARMS
        if not compare(name, size, table)
    ]
    console.print(table)
    console.print(f"target: {TARGET_RATIO:.0f} times faster than the plain loop")
    for name in ALONE if options.alone else ():
        console.print(alone(name, options.alone))
    for what in wrong:
        console.print(f"WRONG: {what}: gaps differ from the plain loop's", style="red")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
