"""Log formats. `ADAPTERS` lists every one, in the order in which they are tried."""

from typing import Final

from tokengap.adapters.formats.aiperf import Aiperf
from tokengap.adapters.formats.aiperf_raw import AiperfRaw
from tokengap.adapters.formats.sse.capture import Sse
from tokengap.adapters.formats.tokengap.jsonl import TokengapJsonl
from tokengap.adapters.formats.vllm_bench import VllmBench
from tokengap.adapters.interface import Adapter

ADAPTERS: Final[tuple[Adapter, ...]] = (
    TokengapJsonl(),
    AiperfRaw(),
    Aiperf(),
    Sse(),
    VllmBench(),
)
