from pathlib import Path
from typing import Any

import pytest

from tests.adapters.formats.dynamo_trace.test_trace import RECEIVED_MS, RECEIVED_NS, WORKERS
from tests.adapters.reading import read_lines
from tokengap.adapters.formats.dynamo_trace.trace import DynamoTrace
from tokengap.adapters.interface import Head

TIMING: dict[str, Any] = {
    "request_received_ms": RECEIVED_MS,
    "prefill_wait_time_ms": 0.5,
    "prefill_time_ms": 12.5,
    "ttft_ms": 13.0,
    "total_time_ms": 240.0,
    "kv_hit_rate": 0.5,
}
NVEXT = {"timing": TIMING, "worker_id": WORKERS}
BODY: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "message": {"content": "secret"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 68,
        "completion_tokens": 25,
        "prompt_tokens_details": {"cached_tokens": 60},
    },
    "nvext": NVEXT,
}


def chunk(**more: object) -> dict[str, Any]:
    return {"id": "chatcmpl-2", "object": "chat.completion.chunk", "choices": [], **more}


@pytest.mark.parametrize("record", [BODY, NVEXT, {"nvext": NVEXT}])
def test_the_shapes_that_are_recognised(tmp_path: Path, record: dict[str, Any]) -> None:
    reading = read_lines(DynamoTrace(), tmp_path, [record])
    assert DynamoTrace().sniff(Head((tmp_path / "log.jsonl").read_bytes())).matches
    (row,) = reading.rows
    assert (row["received_ns"], row["first_token_ns"]) == (RECEIVED_NS, RECEIVED_NS + 13_000_000)
    assert row["last_token_ns"] == RECEIVED_NS + 240_000_000
    assert row["prefill_worker"] == f"{WORKERS['prefill_worker_id']}:2"
    assert (row["vantage"], row["last_prefill_token"]) == ("gateway", None)
    assert "secret" not in str(row)


def test_a_body_tells_its_counts_and_its_end(tmp_path: Path) -> None:
    (row,) = read_lines(DynamoTrace(), tmp_path, [BODY]).rows
    assert (row["request_id"], dict(row["ids"])) == ("chatcmpl-1", {"sse_id": "chatcmpl-1"})
    assert (row["prompt_tokens"], row["cached_prompt_tokens"]) == (68, 60)
    assert (row["output_tokens"], row["token_count_source"]) == (25, "usage")
    assert (row["finish_reason"], row["quality"]) == ("stop", [])


def test_a_stream_is_read_at_its_last_chunk(tmp_path: Path) -> None:
    cut = chunk(id="chatcmpl-3")
    chunks = [chunk(), cut, chunk(), cut, chunk(nvext=NVEXT)]
    reading = read_lines(DynamoTrace(), tmp_path, chunks)
    (row,) = reading.rows
    assert (row["request_id"], row["source"].rsplit(":", 1)[1]) == ("chatcmpl-2", "5")
    (reject,) = reading.intake.rejects  # the answer that was never finished, at its first chunk
    assert (reject.line, reject.value) == (2, "chatcmpl-3")


def test_a_body_without_timing_is_rejected(tmp_path: Path) -> None:
    for bare in (BODY | {"nvext": {}}, {key: BODY[key] for key in BODY if key != "nvext"}):
        reading = read_lines(DynamoTrace(), tmp_path, [BODY, bare])
        assert len(reading.rows) == 1
        (reject,) = reading.intake.rejects
        assert (reject.line, reject.field) == (2, "nvext.timing")


def test_timing_without_a_first_token(tmp_path: Path) -> None:
    aggregated = {"request_received_ms": RECEIVED_MS, "total_time_ms": 240.0}
    (row,) = read_lines(DynamoTrace(), tmp_path, [{"timing": aggregated}]).rows
    assert (row["first_token_ns"], row["last_token_ns"]) == (None, RECEIVED_NS + 240_000_000)
    assert (row["request_id"], row["quality"]) == ("1", ["end_not_seen"])
