"""Log formats. `ADAPTERS` lists every one, in the order in which they are tried."""

from typing import Final

from tokengap.adapters.aiperf import Aiperf
from tokengap.adapters.aiperf_raw import AiperfRaw
from tokengap.adapters.interface import Adapter
from tokengap.adapters.sse import Sse
from tokengap.adapters.tokengap_jsonl import TokengapJsonl
from tokengap.adapters.vllm_bench import VllmBench

ADAPTERS: Final[tuple[Adapter, ...]] = (
    TokengapJsonl(),
    AiperfRaw(),
    Aiperf(),
    Sse(),
    VllmBench(),
)
