"""Log formats. `ADAPTERS` lists every one, in the order in which they are tried."""

from typing import Final

from tokengap.adapters.formats.aiperf.profile_export import Aiperf
from tokengap.adapters.formats.aiperf_raw.profile_export_raw import AiperfRaw
from tokengap.adapters.formats.azure_llm import AzureLlm
from tokengap.adapters.formats.burstgpt import BurstGpt
from tokengap.adapters.formats.dynamo_trace.trace import DynamoTrace
from tokengap.adapters.formats.envoy_ai_gateway import EnvoyAiGateway
from tokengap.adapters.formats.genai_perf import GenaiPerf
from tokengap.adapters.formats.guidellm.report import Guidellm
from tokengap.adapters.formats.inference_perf import InferencePerf
from tokengap.adapters.formats.langfuse import Langfuse
from tokengap.adapters.formats.litellm import Litellm
from tokengap.adapters.formats.llamacpp.server import Llamacpp
from tokengap.adapters.formats.llmperf.responses import LlmPerf
from tokengap.adapters.formats.llmservingsim import LlmServingSim
from tokengap.adapters.formats.mooncake import Mooncake
from tokengap.adapters.formats.ollama.api import Ollama
from tokengap.adapters.formats.otlp.adapter import Otlp
from tokengap.adapters.formats.proxy_log import ProxyLog
from tokengap.adapters.formats.qwen_bailian import QwenBailian
from tokengap.adapters.formats.servegen.pairs import ServeGen
from tokengap.adapters.formats.sglang_bench import SglangBench
from tokengap.adapters.formats.sglang_exporter import SglangExporter
from tokengap.adapters.formats.sglang_reqtimestats.server_log import SglangReqTimeStats
from tokengap.adapters.formats.splitwise import Splitwise
from tokengap.adapters.formats.sse.capture import Sse
from tokengap.adapters.formats.table.table import Table
from tokengap.adapters.formats.tokengap.jsonl import TokengapJsonl
from tokengap.adapters.formats.trtllm_bench import TrtllmBench
from tokengap.adapters.formats.trtllm_perf_metrics.perf_metrics import TrtllmPerfMetrics
from tokengap.adapters.formats.vllm_bench import VllmBench
from tokengap.adapters.formats.vllm_bench_old import VllmBenchOld
from tokengap.adapters.formats.vllm_request_metrics import VllmRequestMetrics
from tokengap.adapters.formats.vllm_request_stats import VllmRequestStats
from tokengap.adapters.interface import Adapter

ADAPTERS: Final[tuple[Adapter, ...]] = (
    TokengapJsonl(),
    # clients and load generators
    AiperfRaw(),
    Aiperf(),
    GenaiPerf(),
    Guidellm(),
    InferencePerf(),
    LlmPerf(),
    SglangBench(),
    Sse(),
    TrtllmBench(),
    VllmBench(),
    VllmBenchOld(),
    Langfuse(),
    # gateways and servers
    Otlp(),
    ProxyLog(),
    DynamoTrace(),
    EnvoyAiGateway(),
    Litellm(),
    Llamacpp(),
    LlmServingSim(),
    Ollama(),
    SglangExporter(),
    SglangReqTimeStats(),
    TrtllmPerfMetrics(),
    VllmRequestMetrics(),
    VllmRequestStats(),
    # workloads, arrivals and lengths only
    AzureLlm(),
    BurstGpt(),
    Mooncake(),
    QwenBailian(),
    ServeGen(),
    Splitwise(),
    # anything else, with a map
    Table(),
)
