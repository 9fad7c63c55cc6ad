from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Reading, Row, read, read_lines
from tokengap.adapters.formats.vllm_request_metrics import VllmRequestMetrics
from tokengap.adapters.interface import Head

MS = 1_000_000
DOC = SAMPLES / "vllm-request-metrics" / "per_request_metrics_doc.json"

BODY: dict[str, Any] = {
    "id": "chatcmpl-abc123",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 42, "completion_tokens": 5},
    "metrics": {
        "queue_time_ms": 12.5,
        "time_to_first_token_ms": 80.0,
        "generation_time_ms": 40.0,
        "mean_itl_ms": 10.0,
        "tokens_per_second": 41.7,
    },
}


def lines(folder: Path, *found: object) -> Reading:
    return read_lines(VllmRequestMetrics(), folder, found)


def one(folder: Path, **metrics: object) -> Row:
    (row,) = lines(folder, BODY | {"metrics": BODY["metrics"] | metrics}).rows
    return row


def told(row: Row) -> dict[str, int]:
    return {entry["metric"]: entry["value_ns"] for entry in row["reported"]}


def test_the_columns_of_a_body(tmp_path: Path) -> None:
    # Queued at 0, scheduled at 12.5, first token at 92.5, last at 132.5 ms.
    row = one(tmp_path)
    assert (row["first_token_ns"], row["last_token_ns"]) == (92_500_000, 132_500_000)
    assert [(s["name"], s["start_ns"], s["end_ns"]) for s in row["stages"]] == [
        ("queue", 0, 12_500_000),
        ("prefill", 12_500_000, 92_500_000),
    ]
    assert (row["prompt_tokens"], row["output_tokens"], row["model"]) == (42, 5, "m")
    assert (row["status"], row["finish_reason"], row["quality"]) == ("completed", "stop", [])
    assert (row["vantage"], row["granularity"]) == ("engine", "aggregate")
    assert dict(row["ids"]) == {"sse_id": "chatcmpl-abc123", "x_request_id": "abc123"}


def test_what_vllm_calls_time_to_first_token_is_not_ttft(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert row["arrival_ns"] is None
    assert told(row) == {"ttft_from_scheduled": 80 * MS, "tpot": 10 * MS}


def test_each_answer_has_a_clock_of_its_own(tmp_path: Path) -> None:
    rows = lines(tmp_path, BODY, BODY | {"id": "chatcmpl-other"}).rows
    assert len({row["clock"] for row in rows}) == 2
    assert [row["clock"] for row in rows] == [row["source"] for row in rows]


def test_null_times_stay_unknown(tmp_path: Path) -> None:
    row = one(tmp_path, queue_time_ms=None, generation_time_ms=None, mean_itl_ms=None)
    assert (row["first_token_ns"], row["last_token_ns"]) == (80 * MS, None)
    assert [s["name"] for s in row["stages"]] == ["prefill"]
    row = one(tmp_path, time_to_first_token_ms=None)
    assert (row["first_token_ns"], row["last_token_ns"]) == (None, None)


def test_a_negative_duration_is_kept_and_told(tmp_path: Path) -> None:
    row = one(tmp_path, generation_time_ms=-1.0)
    assert row["last_token_ns"] - row["first_token_ns"] == -MS
    assert row["quality"] == ["clock_contradiction"]


def test_answer_text_after_reasoning_has_its_own_time(tmp_path: Path) -> None:
    # The categories' times count from being scheduled, too: 12.5 + 268.5 = 281 ms.
    parts: dict[str, object] = {
        "reasoning": {"token_count": 3, "time_to_first_token_ms": 80.0},
        "content": {"token_count": 2, "time_to_first_token_ms": 268.5},
    }
    assert one(tmp_path, output_token_metrics=parts)["first_answer_ns"] == 281 * MS
    parts["reasoning"] = {"token_count": 0, "time_to_first_token_ms": None}
    assert one(tmp_path, output_token_metrics=parts)["first_answer_ns"] is None


def test_of_a_stream_the_last_chunk_counts(tmp_path: Path) -> None:
    chunk = {"id": "chatcmpl-s", "object": "chat.completion.chunk"}
    text = chunk | {"choices": [{"delta": {"content": "x"}, "finish_reason": None}]}
    last = chunk | {k: BODY[k] for k in ("usage", "metrics")} | {"choices": []}
    reading = lines(tmp_path, text, text, last)
    assert [(row["request_id"], row["output_tokens"]) for row in reading.rows] == [
        ("chatcmpl-s", 5)
    ]
    assert reading.intake.rejects == []


def test_a_stream_that_never_got_to_its_metrics_is_told(tmp_path: Path) -> None:
    text = {"id": "cut", "object": "text_completion.chunk", "choices": [{"text": "x"}]}
    reading = lines(tmp_path, text, text, BODY)
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.value) == (1, "cut")
    assert "no chunk with `metrics`" in reject.reason


def test_the_last_event_of_the_responses_api(tmp_path: Path) -> None:
    response = {
        "id": "resp_1",
        "object": "response",
        "usage": {"input_tokens": 7, "output_tokens": 3},
        "metrics": BODY["metrics"],
    }
    begun = {"type": "response.created", "response": {"id": "resp_1", "object": "response"}}
    ended = {"type": "response.completed", "response": response}
    reading = lines(tmp_path, begun, ended)
    (row,) = reading.rows
    assert (row["prompt_tokens"], row["output_tokens"]) == (7, 3)
    assert reading.intake.rejects == []


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (BODY | {"metrics": None}, None),
        (BODY | {"metrics": {"queue_time_ms": "12"}}, "metrics.queue_time_ms"),
        (BODY | {"metrics": {"queue_time_ms": 1e300}}, "metrics.queue_time_ms"),
        (BODY | {"usage": {"completion_tokens": -2}}, "usage.completion_tokens"),
        (BODY | {"usage": {"completion_tokens": 2**40}}, "usage.completion_tokens"),
        ('{"id": "a", "id": "b"}', "id"),
        ("[1]", None),
    ],
)
def test_an_answer_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, bad: object, field: str | None
) -> None:
    reading = lines(tmp_path, BODY, bad)
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field) == (2, field)


def test_the_documented_body() -> None:
    # 12.3 + 85.2 = 97.5 ms to the first token, 1,240.5 ms on to the last of 128.
    (row,) = read(VllmRequestMetrics(), DOC).rows
    assert (row["first_token_ns"], row["last_token_ns"]) == (97_500_000, 1_338_000_000)
    assert row["output_tokens"] == 128
    # The example's own mean, 9.1 ms, is not its 1,240.5 / 127 = 9.77 ms: both are kept.
    assert told(row)["tpot"] == 9_100_000


def test_answers_without_metrics_are_not_taken_for_these() -> None:
    body = b'{"id": "a", "object": "chat.completion", "choices": [], "usage": {}}'
    assert "metrics" in VllmRequestMetrics().sniff(Head(body)).missing
