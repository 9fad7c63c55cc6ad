import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Row, read, read_lines, times
from tokengap.adapters.formats.litellm import Litellm
from tokengap.adapters.interface import Head

MS = 1_000_000
START_S = 1_795_951_810
START_NS = START_S * 1_000_000_000
LOCAL = SAMPLES / "litellm" / "standard_logging_payload.json"

PAYLOAD: dict[str, Any] = {
    "id": "chatcmpl-1",
    "litellm_call_id": "call-1",
    "trace_id": "trace-1",
    "session_id": "",
    "call_type": "acompletion",
    "cache_hit": False,
    "stream": True,
    "status": "success",
    "custom_llm_provider": "openai",
    "startTime": START_S + 0.0,
    "completionStartTime": START_S + 0.25,
    "endTime": START_S + 0.5,
    "response_time": 0.25,
    "model": "mock",
    "model_group": "",
    "model_id": "",
    "prompt_tokens": 7,
    "completion_tokens": 20,
    "messages": [{"content": "secret"}],
}


def one(folder: Path, **changed: object) -> Row:
    (row,) = read_lines(Litellm(), folder, [PAYLOAD | changed]).rows
    return row


def test_the_columns_of_a_streamed_call(tmp_path: Path) -> None:
    row = one(tmp_path, session_id="s1", model_id="dep-1", model_group="fast")
    assert (row["clock_kind"], row["granularity"], row["gaps_ns"]) == ("wall", "aggregate", None)
    assert row["sent_ns"] == row["received_ns"] == START_NS
    assert row["first_token_ns"] == START_NS + 250 * MS
    assert (row["stream_close_ns"], row["last_token_ns"]) == (START_NS + 500 * MS, None)
    assert (row["prompt_tokens"], row["output_tokens"]) == (7, 20)
    assert (row["status"], row["quality"]) == ("completed", ["end_not_seen"])
    assert (row["model"], row["deployment"]) == ("mock", "dep-1")
    assert dict(row["ids"]) == {"litellm_call_id": "call-1", "sse_id": "chatcmpl-1"}
    assert dict(row["labels"]) == {
        "call_type": "acompletion",
        "custom_llm_provider": "openai",
        "model_group": "fast",
        "trace_id": "trace-1",
        "session": "s1",
    }
    assert "secret" not in str(row)


def test_only_a_proxys_own_key_proves_a_proxy(tmp_path: Path) -> None:
    row = one(tmp_path, metadata={"user_api_key_hash": "h"})
    assert (row["vantage"], row["sent_ns"], row["received_ns"]) == ("gateway", None, START_NS)
    for metadata in ({"user_api_key_hash": None}, "dict", None):
        assert one(tmp_path, metadata=metadata)["vantage"] is None


def test_a_body_is_one_delivery_and_its_filled_in_start_no_first_token(tmp_path: Path) -> None:
    row = one(tmp_path, stream=False, completionStartTime=START_S + 0.5, response_time=0.5)
    assert times(row) == [START_NS + 500 * MS]
    assert row["quality"] == ["end_not_seen", "not_streamed"]


def test_a_stream_without_a_first_chunk_has_the_end_in_its_place(tmp_path: Path) -> None:
    row = one(tmp_path, completionStartTime=START_S + 0.5)
    assert row["first_token_ns"] is None
    assert row["quality"] == ["end_not_seen", "sentinel_dropped"]


def test_a_first_chunk_of_an_earlier_attempt_is_kept_and_told(tmp_path: Path) -> None:
    row = one(tmp_path, completionStartTime=START_S - 1.0)
    assert row["first_token_ns"] == START_NS - 1_000 * MS
    assert row["quality"] == ["clock_contradiction", "end_not_seen"]


def test_calls_with_one_id_are_attempts(tmp_path: Path) -> None:
    failed = PAYLOAD | {"id": "call-1", "status": "failure", "completion_tokens": 0}
    rows = read_lines(Litellm(), tmp_path, [failed, PAYLOAD]).rows
    assert [(row["request_id"], row["attempt"], row["status"]) for row in rows] == [
        ("call-1", 0, "failed"),
        ("call-1", 1, "completed"),
    ]
    assert [dict(row["ids"]).get("sse_id") for row in rows] == [None, "chatcmpl-1"]
    assert rows[0]["output_tokens"] is None


@pytest.mark.parametrize(
    ("information", "status", "kind"),
    [
        ({"error_code": "429", "error_class": "RateLimitError"}, "rejected", "RateLimitError"),
        ({"error_code": "500", "error_class": None}, "failed", "http_500"),
        ({"error_code": "408", "error_class": "Timeout"}, "timed_out", "Timeout"),
        ({"error_code": "", "error_class": "APIConnectionError"}, "failed", "APIConnectionError"),
        ("dict", "failed", "error"),
        (None, "failed", "error"),
    ],
)
def test_failures(tmp_path: Path, information: object, status: str, kind: str) -> None:
    row = one(tmp_path, status="failure", error_information=information)
    assert (row["status"], row["error_kind"]) == (status, kind)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"startTime": "2026-11-29T11:30:10Z"}, "startTime"),
        ({"endTime": None}, "endTime"),
        ({"endTime": 1e300}, "endTime"),
        ({"status": "unknown"}, "status"),
        ({"completion_tokens": 2**31}, "completion_tokens"),
        ({"stream": "yes"}, "stream"),
    ],
)
def test_a_payload_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, changed: dict[str, object], field: str
) -> None:
    reading = read_lines(Litellm(), tmp_path, [PAYLOAD | changed, PAYLOAD])
    assert [row["attempt"] for row in reading.rows] == [0]
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field) == (1, field)


def test_a_key_that_comes_twice_is_refused(tmp_path: Path) -> None:
    twice = json.dumps(PAYLOAD)[:-1] + ', "endTime": 5.0}'
    reading = read_lines(Litellm(), tmp_path, [twice])
    assert [reject.field for reject in reading.intake.rejects] == ["endTime"]


def test_the_captured_payload() -> None:
    # response_time, LiteLLM's own difference of the same stamps, is 0.4221038818359375 s.
    (row,) = read(Litellm(), LOCAL).rows
    assert (row["first_token_ns"] - row["sent_ns"]) / 1e9 == pytest.approx(
        0.4221038818359375, abs=1e-9
    )
    assert (row["stream_close_ns"] - row["sent_ns"]) / 1e9 == pytest.approx(0.677066, abs=1e-6)
    assert (row["output_tokens"], row["status"], row["vantage"]) == (20, "completed", None)


def test_json_with_a_start_time_is_not_taken_for_it() -> None:
    for text in (
        b'{"startTime": 1.0, "endTime": 2.0}',
        b'{"startTime": 1.0, "endTime": 2.0, "completionStartTime": 1.5, "traceId": "a"}',
    ):
        assert not Litellm().sniff(Head(text)).matches
