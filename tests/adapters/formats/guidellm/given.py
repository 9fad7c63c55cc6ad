"""Small reports in both schemas, and the sample runs."""

import json
from pathlib import Path
from typing import Any

from tests.adapters.reading import SAMPLES, Reading, Row, read, unpacked
from tokengap.adapters.formats.guidellm.report import Guidellm

RUNS = SAMPLES / "guidellm"
WALL_S = 1_795_952_048
WALL_NS = WALL_S * 1_000_000_000
MS = 1_000_000

# Times in seconds with few binary digits: exact in a double, so that ns can be said by hand.
TIMINGS: dict[str, Any] = {
    "targeted_start": WALL_S - 0.25,
    "request_start": WALL_S + 0.0,
    "first_request_iteration": WALL_S + 0.03125,
    "first_token_iteration": WALL_S + 0.0625,
    "first_output_token_iteration": WALL_S + 0.0625,
    "last_token_iteration": WALL_S + 0.125,
    "last_request_iteration": WALL_S + 0.15625,
    "request_iterations": 8,
    "token_iterations": 5,
    "request_end": WALL_S + 0.1875,
    "resolve_end": WALL_S + 0.25,
}
INFO: dict[str, Any] = {
    "status": "completed",
    "conversation_id": "c-1",
    "turn_index": 2,
    "error": None,
    "timings": TIMINGS,
}
NEW: dict[str, Any] = {
    "type_": "generative_request_stats",
    "request_id": "u-1",
    "response_id": "gt-1",
    "request_args": '{"method": null, "body": {"model": "m", "max_completion_tokens": 8, '
    '"messages": ["secret"]}}',
    "output": "secret",
    "info": INFO,
    "output_metrics": {"total_tokens": 5},
    "prompt_tokens": 24,
    "cached_tokens": 16,
    "output_tokens": 5,
    "request_latency": 0.1875,
    "time_to_first_token_ms": 62.5,
    "time_per_output_token_ms": 25.0,
    "inter_token_latency_ms": 15.625,
}
OLD: dict[str, Any] = {
    "type_": "generative_text_response",
    "request_id": "u-1",
    "scheduler_info": {
        "errored": False,
        "canceled": False,
        "targeted_start_time": WALL_S - 0.25,
        "process_id": 1,
    },
    "prompt": "secret",
    "output": "secret",
    "prompt_tokens": 24,
    "output_tokens": 5,
    "start_time": WALL_S + 0.0,
    "end_time": WALL_S + 0.1875,
    "first_token_time": WALL_S + 0.0625,
    "last_token_time": WALL_S + 0.125,
    "request_latency": 0.1875,
    "time_to_first_token_ms": 62.5,
    "time_per_output_token_ms": 12.5,
    "inter_token_latency_ms": 15.625,
}
EARLIER = OLD | {"start_time": WALL_S - 1.0, "request_id": "u-0"}
"""The worker's first request."""


def requests(*successful: object, **other: object) -> dict[str, object]:
    return {"successful": successful, "errored": [], "incomplete": [], "total": None, **other}


def new_report(*benchmarks: dict[str, object], strategy: object = None) -> dict[str, object]:
    config = {"strategy": strategy or {"type_": "constant", "rate": 2.5}}
    return {
        "metadata": {"version": 2, "guidellm_version": "0.8.1"},
        "config": {},
        "benchmarks": [{"config": config, "requests": each} for each in benchmarks],
        "conclusions": [],
    }


def old_report(
    *benchmarks: dict[str, object], strategy: str = "concurrent", streams: int = 3
) -> dict[str, object]:
    args = {"strategy": {"type_": strategy, "streams": streams}}
    worker = {"type_": "generative_requests_worker", "backend_model": "m"}
    return {
        "benchmarks": [
            {"type_": "generative_benchmark", "args": args, "worker": worker, "requests": each}
            for each in benchmarks
        ]
    }


def read_report(folder: Path, document: object) -> Reading:
    path = folder / "run.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return read(Guidellm(), path)


def sample(run: str) -> Reading:
    return read(Guidellm(), RUNS / run / "benchmarks.json.gz")


def raw(run: str) -> dict[str, Any]:
    """The requests of a run's only benchmark."""
    document = json.loads(unpacked(RUNS / run / "benchmarks.json.gz"))
    (benchmark,) = document["benchmarks"]
    found: dict[str, Any] = benchmark["requests"]
    return found


def reported(row: Row) -> dict[tuple[str, str], int]:
    """The tool's own numbers by metric and formula."""
    return {(each["metric"], each["formula"]): each["value_ns"] for each in row["reported"] or ()}
