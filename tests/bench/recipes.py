"""Large logs of every format, made of its sample: the same requests over and over, ids changed."""

import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SAMPLES: Final = Path(__file__).parents[2] / "sample_traces"

Rename = Callable[[bytes, int], bytes]
"""Text and the number of its copy to the text with ids of its own."""


@dataclass(frozen=True)
class Log:
    """A log in the making: `copy(n)` is its n-th part, between a beginning and an end.

    between: what stands between two parts. kind: json, lines (of JSON), csv or text.
    beside: a file that is read with it.
    """

    name: str
    kind: str
    copy: Callable[[int], bytes]
    begin: bytes = b""
    between: bytes = b""
    end: bytes = b""
    mapping: str | None = None
    beside: Path | None = None

    def write(self, folder: Path, size: int) -> tuple[Path, int]:
        """Write parts until there are `size` bytes; at least one. How many they are."""
        path = folder / self.name
        copies = 0
        with path.open("wb") as file:
            written = file.write(self.begin)
            while not copies or written < size:
                written += file.write((self.between if copies else b"") + self.copy(copies))
                copies += 1
            file.write(self.end)
        return path, copies


def sample(name: str) -> bytes:
    """A sample, unpacked."""
    data = (SAMPLES / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def renaming(*keys: str, hexadecimal: bool = False) -> Rename:
    """Give the values of these keys another beginning, or another end, in each copy."""
    names = "|".join(map(re.escape, keys))
    value = re.compile(rb'("?\b(?:%b)"?\s*[:=]\s*"?)([\w-]+)' % names.encode())

    def rename(text: bytes, copy: int) -> bytes:
        if not keys:
            return text
        if hexadecimal:
            return value.sub(lambda m: m[1] + b"%06x" % copy + m[2][6:], text)
        return value.sub(lambda m: m[1] + m[2] + b"%05d" % copy, text)

    return rename


def lines(*names: str, ids: Sequence[str] = (), kind: str = "lines", **how: bool) -> Log:
    """The lines of some samples."""
    text = b"".join(line + b"\n" for name in names for line in sample(name).splitlines() if line)
    rename = renaming(*ids, **how)
    return Log("log.jsonl" if kind == "lines" else "log.txt", kind, lambda n: rename(text, n))


def records(name: str, *path: str | int, ids: Sequence[str] = ()) -> Log:
    """The records of a sample that is a document, one a line. path: where they are, as a list."""
    found = _at(json.loads(sample(name)), path)
    listed = found if isinstance(found, list) else [found]
    text = b"".join(json.dumps(record).encode() + b"\n" for record in listed)
    rename = renaming(*ids)
    return Log("log.jsonl", "lines", lambda n: rename(text, n))


def document(name: str, *path: str | int, ids: Sequence[str] = ()) -> Log:
    """The document of a sample, with the list that lies at `path` repeated."""
    whole = json.loads(sample(name))
    listed = _at(whole, path)
    text = b", ".join(json.dumps(record).encode() for record in listed)
    listed[:] = ["@"]
    begin, end = json.dumps(whole).encode().split(b'"@"')
    rename = renaming(*ids)
    return Log("log.json", "json", lambda n: rename(text, n), begin, b", ", end)


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        value = value[step]
    return value


class Arrays(Log):
    """A result of parallel arrays, each of them repeated; it is written whole."""

    def write(self, folder: Path, size: int) -> tuple[Path, int]:
        result = json.loads(self.begin)
        copies = max(size // len(self.begin), 1)
        long = {k: v * copies if isinstance(v, list) else v for k, v in result.items()}
        path = folder / self.name
        path.write_text(json.dumps(long) + "\n")
        return path, copies


def arrays(name: str, longer: int = 1) -> Log:
    """A result of parallel arrays. longer: by how much, where the sample's answers are short."""
    result = json.loads(sample(name))
    result["itls"] = [gaps * longer for gaps in result["itls"]]
    result["output_lens"] = [tokens * longer for tokens in result["output_lens"]]
    return Arrays("log.json", "json", lambda _: b"", json.dumps(result).encode())


def answers(name: str, longer: int) -> Log:
    """The events of an answer, one a line; the first comes many times, 20 ms apart."""
    first, *others = sample(name).splitlines()
    stamp = re.compile(rb"(:\d\d\.)\d+")
    events = [stamp.sub(b"\\g<1>%09d" % (20_000_000 * at), first) for at in range(longer)]
    text = b"".join(line + b"\n" for line in (*events, *others))
    return Log("log.jsonl", "lines", lambda _: text)


def rows(name: str, *ids: int, mapping: str | None = None) -> Log:
    """A table with its rows repeated; ids: columns whose cells differ in each copy."""
    head, *body = sample(name).splitlines()

    def copy(number: int) -> bytes:
        return b"".join(line + b"\n" for line in _with_ids(body, ids, number))

    said = None if mapping is None else sample(mapping).decode()
    return Log("log.csv", "csv", copy, head + b"\n", mapping=said)


def _with_ids(body: Sequence[bytes], ids: Sequence[int], copy: int) -> Iterator[bytes]:
    for line in body:
        cells = line.split(b",")
        for at in ids:
            cells[at] += b"%05d" % copy
        yield b",".join(cells)


def _folders(format_: str, name: str) -> list[str]:
    return sorted(str(path.relative_to(SAMPLES)) for path in (SAMPLES / format_).glob(f"*/{name}"))


RECIPES: Final[dict[str, Callable[[], Log]]] = {
    "tokengap": lambda: lines("tokengap/pd_forward_events.jsonl.gz", ids=["request_id"]),
    "aiperf-raw": lambda: lines(
        *_folders("aiperf-raw", "profile*"), ids=["x_request_id", "x_correlation_id"]
    ),
    "aiperf": lambda: lines(
        *_folders("aiperf", "profile*.gz"), ids=["x_request_id", "x_correlation_id"]
    ),
    "genai-perf": lambda: document(
        "genai-perf/single_chat/profile_export.json.gz", "experiments", 0, "requests"
    ),
    "guidellm": lambda: document(
        "guidellm/single_chat/benchmarks.json.gz", "benchmarks", 0, "requests", "successful",
        ids=["request_id", "response_id"],
    ),
    "inference-perf": lambda: document(
        "inference-perf/single_completion/per_request_lifecycle_metrics.json.gz"
    ),
    "llmperf": lambda: document(
        "llmperf/leaderboard_2023/anyscale_70b_individual_responses.json.gz"
    ),
    "sglang-bench": lambda: arrays("sglang-bench/client_stall_oai_single/bench_serving.jsonl"),
    "sse": lambda: lines(
        "sse/sse_mono.jsonl.gz", "sse/sse_pd_forward.jsonl.gz", ids=["request_id"]
    ),
    "trtllm-bench": lambda: arrays("trtllm-bench/completions.json", longer=40),
    "vllm-bench": lambda: arrays("vllm-bench/bench_low_rate.json.gz"),
    "vllm-bench-old": lambda: arrays("vllm-bench-old/completions.json", longer=40),
    "langfuse": lambda: document("langfuse/observations_built.json", "data", ids=["id"]),
    "otlp": lambda: lines(
        "otlp/otlp_spans_mono.jsonl.gz", ids=["traceId", "spanId", "parentSpanId"], hexadecimal=True
    ),
    "proxy-log": lambda: lines("proxy-log/proxy_pd_forward.jsonl.gz", ids=["request_id"]),
    "dynamo-trace": lambda: lines(
        "dynamo-trace/request_trace_doc.jsonl", ids=["request_id", "x_request_id"]
    ),
    "envoy-ai-gateway": lambda: lines(
        "envoy-ai-gateway/access_log_doc.jsonl", ids=["x-request-id"]
    ),
    "litellm": lambda: records(
        "litellm/standard_logging_payload.json", ids=["id", "litellm_call_id"]
    ),
    "llamacpp": lambda: records("llamacpp/timings_doc.json", ids=["id"]),
    "llmservingsim": lambda: rows("llmservingsim/colocated_first30.csv.gz", 1),
    "ollama": lambda: answers("ollama/api_generate_doc.jsonl", longer=48),
    "sglang-exporter": lambda: records("sglang-exporter/meta_info_timing_driven.json"),
    "sglang-reqtimestats": lambda: lines(
        "sglang-reqtimestats/reqtimestats_driven.log", ids=["rid", "bootstrap_room"], kind="text"
    ),
    "trtllm-perf-metrics": lambda: records(
        "trtllm-perf-metrics/perf_metrics_step_metrics_doc.json", ids=["request_id"]
    ),
    "vllm-request-metrics": lambda: records(
        "vllm-request-metrics/per_request_metrics_doc.json", ids=["id"]
    ),
    "vllm-request-stats": lambda: lines(
        "vllm-request-stats/RTX4090_Llama-3.1-8B_requests.jsonl.gz", ids=["request_id"]
    ),
    "azure-llm": lambda: rows("azure-llm/AzureLLMInferenceTrace_code.csv.gz"),
    "burstgpt": lambda: rows("burstgpt/burstgpt_3_doc.csv"),
    "mooncake": lambda: lines("mooncake/conversation_trace_first400.jsonl.gz"),
    "qwen-bailian": lambda: lines("qwen-bailian/row_doc.jsonl"),
    "splitwise": lambda: rows("splitwise/vidur_code_first100.csv"),
    "table": lambda: rows("table/requests.csv", 0, mapping="table/requests.toml"),
}  # fmt: skip
"""Of every adapter but those in `WITHOUT`."""

WITHOUT: Final = frozenset({"servegen"})
"""Its rows are drawn, not read: a short file gives as many as it says there were."""
