"""Sweep 17 arms of 5,000 requests on 20 drawings: how long it takes, and what cores add.

Run with `python -m tests.bench.sweep`. The peer is the same replays one after another in one
process: what cores add, and what starting processes costs, is the ratio of the two.
"""

import os
from time import perf_counter
from typing import Final

from rich.console import Console

from tests.replay.reference_runs import azure
from tokengap.replay import Transport, parity
from tokengap.replay.sweep import Case, Machine, Matching, arms, sweep
from tokengap.replay.sweep.arms import Choices
from tokengap.slo import Objective

MS: Final = 10**6
ARMS: Final = 17
GPUS: Final = 28
REQUESTS: Final = 5_000
RATE_PER_S: Final = 0.667 * GPUS
LINK: Final = Transport(819_200, 25e9)


def main() -> None:
    """Print times and the ratio."""
    machine = Machine("vllm-tp2", parity.model("vllm-tp2", "vllm-tp2"), gpus=2)
    found = arms([machine], Matching("gpus", GPUS), Choices(transport=LINK))
    load = azure("2.0").bootstrap(REQUESTS, seed=1).at_rate(RATE_PER_S)
    limits = [Objective(statistic, 100 * MS, "bench") for statistic in ("tpot", "worst_gap")]
    case = Case(load, limits)
    console = Console()
    assert len(found) == ARMS
    times = {}
    for workers in (None, 1):
        began = perf_counter()
        swept = sweep(found, case, range(1, 21), workers=workers)
        times[workers] = perf_counter() - began
    replays = sum(len(each.trials) for each in swept)
    cores = os.cpu_count() or 1
    console.print(f"{ARMS} arms, {replays} replays of {REQUESTS:,} requests at {RATE_PER_S:.3g}/s")
    console.print(f"{cores} cores: {times[None]:.1f} s; one process: {times[1]:.1f} s")
    console.print(f"ratio {times[1] / times[None]:.2f} of {cores}")
    console.print(f"{replays * REQUESTS / times[None]:,.0f} requests/s")


if __name__ == "__main__":
    main()
