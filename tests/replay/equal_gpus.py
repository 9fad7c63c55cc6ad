"""Four GPUs, one set of fits, the same requests: a table for the README.

    python -m tests.replay.equal_gpus

OPT-13B on the TP2 fits of vLLM; 1,000 requests of the Azure conversation trace, prompts capped at
2,000 tokens, at 2.667 requests in a second. A link carries 819,200 bytes per token of cache.
"""

import sys
from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np

from tests.replay.reference_runs import azure
from tokengap.replay import Chunked, Latency, Pool, Pools, Transport, parity, replay
from tokengap.replay.service import Mixed
from tokengap.replay.workload import Floats

MS: Final = 1e6
LIMITS_MS: Final = (50, 75, 100, 150)

_LINK: Final = Transport(819_200, 25e9)
_SLOW: Final = replace(_LINK, bandwidth_bytes_per_s=2.5e9)
_PAIR: Final = Pool(1, tp=2)
_LAYERS: Final = 40


def _split(transport: Transport, *, overlapped: bool = False) -> Pools:
    layers = _LAYERS if overlapped else 1
    return Pools.split(_PAIR, _PAIR, replace(transport, overlap_layers=layers))


ARMS: Final = {
    "2 colocated, prefill first": Pools.colocated(2, tp=2),
    "2 colocated, chunks of 512": Pools.colocated(2, tp=2, scheduler=Chunked(512)),
    "2 colocated, chunks of 256": Pools.colocated(2, tp=2, scheduler=Chunked(256)),
    "1P+1D, no link time": _split(Transport()),
    "1P+1D, 25 GB/s": _split(_LINK),
    "1P+1D, 25 GB/s, by layer": _split(_LINK, overlapped=True),
    "1P+1D, 2.5 GB/s": _split(_SLOW),
    "1P+1D, 2.5 GB/s, by layer": _split(_SLOW, overlapped=True),
}


@cache
def latency(arm: str, mixed: Mixed = "max") -> Latency:
    requests = azure("2.0").at_rate(azure("2.0").rate_per_s * 4 / 3)
    longer = replace(requests, output_tokens=requests.output_tokens + 1)
    model = replace(parity.model("vllm-tp2", "vllm-tp2"), mixed=mixed)
    outcome = replay(longer, ARMS[arm], model)
    assert outcome.is_stable
    assert ARMS[arm].gpus == 4
    return outcome.latency


def within(gaps_ns: Floats, limit_ms: float) -> float:
    return float(np.mean(gaps_ns <= limit_ms * MS))


def row(arm: str) -> list[str]:
    found = latency(arm)
    medians = (np.median(ns) / MS for ns in (found.worst_gap_ns, found.worst_later_gap_ns))
    ttft = np.percentile(found.ttft_ns, [50, 99]) / MS
    shares = [within(found.worst_gap_ns, limit) for limit in LIMITS_MS]
    return [
        arm,
        f"{within(found.tpot_ns, 100):.3f}",
        *(f"{share:.3f}" for share in shares),
        *(f"{ms:,.0f}" for ms in medians),
        " / ".join(f"{ms:,.0f}" for ms in ttft),
    ]


HEAD: Final = (
    "4 GPUs",
    "TPOT ≤ 100",
    *(f"worst gap ≤ {limit}" for limit in LIMITS_MS),
    "worst gap, median",
    "but the first, median",
    "TTFT p50 / p99",
)


def rows() -> list[list[str]]:
    return [row(arm) for arm in ARMS]


if __name__ == "__main__":
    for line in (HEAD, *rows()):
        sys.stdout.write(" | ".join(line) + "\n")
