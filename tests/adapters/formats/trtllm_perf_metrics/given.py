"""Records of TensorRT-LLM in milliseconds, and what is read of them."""

import json
from pathlib import Path
from typing import Any

from tests.adapters.reading import Reading, Row, read
from tokengap.adapters.formats.trtllm_perf_metrics.perf_metrics import TrtllmPerfMetrics

MS = 1_000_000
Record = dict[str, Any]

# Prompt read at 1,020..1,100, sent on at 1,104..1,110; KV cache moved at 1,115..1,150; the second
# worker's first step ends at 1,200.
CTX: dict[str, float] = {
    "server_arrival_time": 1.010,
    "arrival_time": 1.012,
    "first_scheduled_time": 1.020,
    "first_token_time": 1.100,
    "last_token_time": 1.100,
    "server_first_token_time": 1.104,
}
GEN: dict[str, float] = {
    "server_arrival_time": 1.110,
    "arrival_time": 1.112,
    "kv_cache_size": 4096,
    "kv_cache_transfer_start": 1.115,
    "kv_cache_transfer_end": 1.150,
    "first_scheduled_time": 1.160,
    "first_token_time": 1.200,
    "last_token_time": 1.260,
    "server_first_token_time": 1.203,
}
SERVER: dict[str, float] = {
    "disagg_server_arrival_time": 1.000,
    "disagg_server_first_token_time": 1.205,
}


def part(timing: dict[str, Any], *steps: Record, **more: object) -> Record:
    """One worker's part; steps are those that made tokens."""
    found: Record = {"perf_metrics": {"timing_metrics": timing}, **more}
    if steps:
        found["time_breakdown_metrics"] = {"step_metrics": list(steps)}
    return found


def split(ctx: Record | None = None, gen: Record | None = None, **more: object) -> Record:
    """A record of both workers, ids in it."""
    ids = {"ctx_request_id": 7, "disagg_request_id": 2**60 + 1}
    return {
        **SERVER,
        "ctx_server": "c:1",
        "gen_server": "g:1",
        "ctx_perf_metrics": part(CTX, request_id=3, **ids) if ctx is None else ctx,
        "gen_perf_metrics": part(GEN, request_id=4, **ids) if gen is None else gen,
        "status": "complete",
        **more,
    }


def reading(folder: Path, *records: object) -> Reading:
    path = folder / "perf_metrics.json"
    path.write_text(json.dumps(records))
    return read(TrtllmPerfMetrics(), path)


def rows(folder: Path, record: object) -> list[Row]:
    found = reading(folder, record)
    assert found.intake.rejects == []
    return found.rows


def by_vantage(folder: Path, record: object) -> tuple[Row, Row]:
    """The engine's row and the server's."""
    engine, gateway = rows(folder, record)
    assert (engine["vantage"], gateway["vantage"]) == ("engine", "gateway")
    return engine, gateway


def stages_ms(row: Row) -> dict[str, tuple[float, float]]:
    return {s["name"]: (s["start_ns"] / MS, s["end_ns"] / MS) for s in row["stages"]}
