from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Row, read, read_lines
from tokengap.adapters.formats.envoy_ai_gateway import EnvoyAiGateway
from tokengap.adapters.interface import Head

MS = 1_000_000
# 2026-11-29T11:30:10Z
START_NS = 1_795_951_810 * 1_000_000_000
FOLDER = SAMPLES / "envoy-ai-gateway"

ENTRY: dict[str, Any] = {
    "start_time": "2026-11-29T11:30:10.125Z",
    "duration": 1526,
    "response_code": 200,
    "response_flags": "-",
    "x-request-id": "x1",
    "gen_ai.request.model": "m",
    "gen_ai.response.model": "m-2026",
    "gen_ai.provider.name": "backend",
    "gen_ai.usage.input_tokens": 15,
    "gen_ai.usage.output_tokens": 7,
    "genai_token_latency_ttft": 451,
    "genai_token_latency_itl": 179.0,
    "x-envoy-origin-path": "/v1/chat/completions",
}


def one(folder: Path, **changed: object) -> Row:
    (row,) = read_lines(EnvoyAiGateway(), folder, [ENTRY | changed]).rows
    return row


def test_the_columns_of_a_line(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["vantage"], row["clock_kind"], row["granularity"]) == (
        "gateway",
        "wall",
        "aggregate",
    )
    assert row["received_ns"] == START_NS + 125 * MS
    assert row["stream_close_ns"] - row["received_ns"] == 1526 * MS
    assert (row["model"], row["prompt_tokens"], row["output_tokens"]) == ("m-2026", 15, 7)
    assert dict(row["ids"]) == {"x_request_id": "x1"}
    assert dict(row["labels"]) == {"provider": "backend"}
    assert (row["status"], row["quality"]) == ("completed", ["end_not_seen"])


def test_its_time_to_first_token_has_another_origin_and_is_no_ttft(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["first_token_ns"], row["last_token_ns"]) == (None, None)
    told = {entry["metric"]: entry["value_ns"] for entry in row["reported"]}
    assert told == {"ttft_from_upstream": 451 * MS, "tpot": 179 * MS}


def test_the_names_of_earlier_releases(tmp_path: Path) -> None:
    earlier = {
        "start_time": ENTRY["start_time"],
        "response_code": 200,
        "response_flags": "-",
        "genai_model_name": "m",
        "genai_tokens_input": 1,
        "genai_tokens_output": 2,
        "io.envoy.ai_gateway.token_latency_ttft": 3,
    }
    (row,) = read_lines(EnvoyAiGateway(), tmp_path, [earlier]).rows
    assert (row["model"], row["prompt_tokens"], row["output_tokens"]) == ("m", 1, 2)
    assert (row["request_id"], row["stream_close_ns"]) == ("1", None)
    assert row["reported"][0]["value_ns"] == 3 * MS


@pytest.mark.parametrize(
    ("code", "flags", "status", "kind"),
    [
        (200, None, "completed", None),
        (200, "DC", "cancelled", None),
        (0, "DC", "cancelled", None),
        (200, "UC", "failed", "envoy_UC"),
        (200, "LH,SI", "failed", "envoy_SI"),
        (429, "RL", "rejected", "http_429"),
        (503, "UF,URX", "rejected", "http_503"),
        (504, "UT", "failed", "http_504"),
        (0, "-", "failed", "no_response"),
    ],
)
def test_how_a_request_ended(
    tmp_path: Path, code: int, flags: str | None, status: str, kind: str | None
) -> None:
    row = one(tmp_path, response_code=code, response_flags=flags)
    assert (row["status"], row["error_kind"]) == (status, kind)


def test_other_traffic_is_passed_over(tmp_path: Path) -> None:
    other = ENTRY | {"gen_ai.request.model": "-", "gen_ai.response.model": None}
    reading = read_lines(EnvoyAiGateway(), tmp_path, [other, ENTRY])
    assert len(reading.rows) == 1
    assert reading.intake.rejects == []


def test_a_value_that_envoy_lacks_is_a_dash(tmp_path: Path) -> None:
    row = one(tmp_path, **{"x-request-id": "-", "gen_ai.usage.output_tokens": "-", "duration": "-"})
    assert (row["request_id"], row["output_tokens"], row["stream_close_ns"]) == ("1", None, None)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"start_time": "10:30"}, "start_time"),
        ({"start_time": None}, "start_time"),
        ({"duration": "1526"}, "duration"),
        ({"duration": 1e300}, "duration"),
        ({"gen_ai.usage.output_tokens": -7}, "output_tokens"),
        ({"gen_ai.usage.output_tokens": 2**80}, "output_tokens"),
    ],
)
def test_a_line_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, changed: dict[str, object], field: str
) -> None:
    reading = read_lines(EnvoyAiGateway(), tmp_path, [ENTRY, ENTRY | changed])
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert reject.line == 2
    assert field in reject.reason


def test_a_key_that_comes_twice_is_refused(tmp_path: Path) -> None:
    reading = read_lines(EnvoyAiGateway(), tmp_path, ['{"duration": 1, "duration": 2}'])
    assert [reject.field for reject in reading.intake.rejects] == ["duration"]


def test_the_documented_line() -> None:
    (row,) = read(EnvoyAiGateway(), FOLDER / "access_log_doc.jsonl").rows
    assert row["stream_close_ns"] - row["received_ns"] == 1526 * MS
    assert (row["model"], row["output_tokens"], row["reported"]) == ("gpt-4o-mini", 7, [])


def test_a_span_without_times_is_known_and_says_why_it_is_no_use() -> None:
    path = FOLDER / "chat-streaming-span.json"
    assert EnvoyAiGateway().sniff(Head(path.read_bytes())).matches
    reading = read(EnvoyAiGateway(), path)
    assert reading.rows == []
    (reject,) = reading.intake.rejects
    assert "span without times" in reject.reason


def test_other_logs_with_a_start_time_are_not_taken_for_it() -> None:
    plain = b'{"start_time": "a", "response_code": 200, "response_flags": "-", "path": "/"}'
    assert not EnvoyAiGateway().sniff(Head(plain)).matches
