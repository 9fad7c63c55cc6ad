"""Serve a workload on pools of workers, in time only, to see what separation would change.

`replay` is deterministic: the same workload, pools, model, faults and seed give the same outcome.
Times are float ms inside and whole ns in what comes out.
"""

from tokengap.replay.config import Pool, Pools, Transport
from tokengap.replay.faults import (
    FailingTransfers,
    Fault,
    LostWorker,
    SlowLink,
    SlowWorker,
    at_rate,
)
from tokengap.replay.outcome import Chunk, Latency, Outcome
from tokengap.replay.router import JoinShortest, LeastLoaded, RoundRobin
from tokengap.replay.run import replay
from tokengap.replay.scheduler import Chunked, PrefillFirst
from tokengap.replay.service import DecodeFit, DecodeTable, PrefillFit, PrefillTable, ServiceModel
from tokengap.replay.workload import (
    Client,
    Workload,
    gamma_ms,
    of_clients,
    of_streams,
    on_off_ms,
    poisson_ms,
)

__all__ = [
    "Chunk",
    "Chunked",
    "Client",
    "DecodeFit",
    "DecodeTable",
    "FailingTransfers",
    "Fault",
    "JoinShortest",
    "Latency",
    "LeastLoaded",
    "LostWorker",
    "Outcome",
    "Pool",
    "Pools",
    "PrefillFirst",
    "PrefillFit",
    "PrefillTable",
    "RoundRobin",
    "ServiceModel",
    "SlowLink",
    "SlowWorker",
    "Transport",
    "Workload",
    "at_rate",
    "gamma_ms",
    "of_clients",
    "of_streams",
    "on_off_ms",
    "poisson_ms",
    "replay",
]
