import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.adapters.both_ways import both_ways, spoilt
from tests.adapters.reading import SAMPLES, Reading, Row, marks, read, read_lines, records, times
from tests.adapters.truth import truth_of
from tokengap.adapters.formats.aiperf_raw.profile_export_raw import AiperfRaw

MS = 1_000_000
WALL_NS = 1_795_951_384_000_000_000

RECORD: dict[str, Any] = {
    "metadata": {
        "x_request_id": "r-1",
        "x_correlation_id": "c-1",
        "conversation_id": "session_7",
        "turn_index": 2,
        "credit_issued_ns": WALL_NS - 3 * MS,
        "request_start_ns": WALL_NS,
        "benchmark_phase": "profiling",
        "was_cancelled": False,
    },
    "start_perf_ns": 1_000 * MS,
    "status": 200,
    "responses": [],
    "payload": {"model": "gt-model", "max_completion_tokens": 8, "messages": ["secret"]},
}


def response(t_ms: int, data: object, name: str = "data") -> dict[str, object]:
    value = data if isinstance(data, str) else json.dumps(data)
    return {"perf_ns": t_ms * MS, "packets": [{"name": name, "value": value}]}


def token(t_ms: int, text: str = "w", **choice: object) -> dict[str, object]:
    choices = [{"index": 0, "delta": {"content": text}, **choice}]
    return response(t_ms, {"id": "gt-1", "choices": choices})


TOKENS = [token(1_040), token(1_050), token(1_070, finish_reason="length")]
ANSWER = [*TOKENS, response(1_095, "[DONE]")]


def record(metadata: dict[str, object] | None = None, **changed: object) -> dict[str, Any]:
    return RECORD | {"metadata": RECORD["metadata"] | (metadata or {})} | changed


def one(folder: Path, found: object) -> Row:
    (row,) = read_lines(AiperfRaw(), folder, [found]).rows
    return row


def sample(run: str) -> Reading:
    return read(AiperfRaw(), SAMPLES / "aiperf-raw" / run / "profile_export_raw.jsonl.gz")


def test_the_columns_of_a_record(tmp_path: Path) -> None:
    row = one(tmp_path, record(responses=ANSWER))
    assert row["request_id"] == "r-1"
    assert row["source"].endswith(":1")
    assert row["ids"] == [
        ("x_request_id", "r-1"),
        ("x_correlation_id", "c-1"),
        ("sse_id", "gt-1"),
    ]
    assert dict(row["labels"]) == {
        "session": "session_7",
        "turn": "2",
        "credit_issued_wall_ns": str(WALL_NS - 3 * MS),
    }
    assert (row["status"], row["finish_reason"]) == ("completed", "length")
    assert (row["model"], row["requested_output_tokens"]) == ("gt-model", 8)
    assert (row["clock_kind"], row["sent_ns"], row["planned_ns"]) == ("monotonic", 1_000 * MS, None)
    assert times(row) == [1_040 * MS, 1_050 * MS, 1_070 * MS]
    assert row["stream_close_ns"] == 1_095 * MS
    assert marks(row) == ["done"]
    assert "secret" not in str(row)


def test_events_of_one_read_are_one_delivery(tmp_path: Path) -> None:
    row = one(tmp_path, record(responses=[token(1_040), token(1_050), token(1_050)]))
    assert (row["gaps_ns"], row["output_tokens"]) == ([10 * MS], 3)


@pytest.mark.parametrize(
    ("changed", "status", "kind"),
    [
        ({"responses": TOKENS[:2]}, "truncated", None),
        ({"responses": TOKENS}, "completed", None),
        ({"status": 500, "error": {"code": 500, "type": "Internal"}}, "failed", "Internal"),
        ({"status": 429, "error": {"code": 429, "type": "Too Many"}}, "rejected", "Too Many"),
        ({"status": 503, "error": {"code": 503}}, "rejected", "http_503"),
        ({"status": 404}, "failed", "http_404"),
        ({"responses": TOKENS[:1], "error": {"type": "TimeoutError"}}, "timed_out", "TimeoutError"),
        ({"responses": TOKENS[:1], "error": {"type": "ClientError"}}, "failed", "ClientError"),
        (
            {"responses": [*TOKENS[:1], response(1_050, {"error": {"message": "m"}})]},
            "failed",
            "in_band_error",
        ),
    ],
)
def test_how_a_request_ended(
    tmp_path: Path, changed: dict[str, object], status: str, kind: str | None
) -> None:
    row = one(tmp_path, record() | changed)
    assert (row["status"], row["error_kind"]) == (status, kind)


def test_what_a_cancelled_request_had_received_is_not_known(tmp_path: Path) -> None:
    error = {"code": 499, "type": "RequestCancellationError"}
    row = one(tmp_path, record({"was_cancelled": True}, status=None, error=error))
    assert (row["status"], row["error_kind"]) == ("cancelled", "RequestCancellationError")
    assert (row["first_token_ns"], row["gaps_ns"], row["output_tokens"]) == (None, None, None)
    assert row["quality"] == ["events_lost"]
    assert row["sent_ns"] == 1_000 * MS


def test_data_lines_of_one_event_are_joined_and_comments_are_marks(tmp_path: Path) -> None:
    first, second = '{"choices": [{"index": 0,', '"text": "w"}]}'
    packets = [{"name": "data", "value": first}, {"name": "data", "value": second}]
    ping = {"perf_ns": 1_010 * MS, "packets": [{"name": "comment", "value": "ping"}]}
    row = one(tmp_path, record(responses=[ping, {"perf_ns": 1_040 * MS, "packets": packets}]))
    assert (times(row), marks(row)) == ([1_040 * MS], ["keepalive"])


def test_an_answer_that_was_not_streamed(tmp_path: Path) -> None:
    body = {
        "choices": [{"index": 0, "message": {"content": "all"}, "finish_reason": "stop"}],
        "usage": {"completion_tokens": 12},
    }
    text = {"perf_ns": 1_900 * MS, "content_type": "application/json", "text": json.dumps(body)}
    row = one(tmp_path, record(responses=[text]))
    assert (row["output_tokens"], row["quality"]) == (12, ["not_streamed"])
    assert row["status"] == "completed"


def test_choices_are_streams_of_one_request(tmp_path: Path) -> None:
    rows = read_lines(
        AiperfRaw(), tmp_path, [record(responses=[token(1_040), token(1_045, index=1)])]
    ).rows
    assert [(row["request_id"], row["choice"]) for row in rows] == [("r-1", 0), ("r-1", 1)]


@pytest.mark.parametrize(
    ("bad", "reason", "field", "value"),
    [
        (
            record({"benchmark_phase": "warmup"}),
            "warm-up request, not part of the measured phase",
            "metadata.benchmark_phase",
            "warmup",
        ),
        (
            record(start_perf_ns=True),
            "start_perf_ns: whole nanoseconds below 2^62 expected",
            "start_perf_ns",
            "True",
        ),
        (
            record(responses=[{"perf_ns": 1.5, "packets": []}]),
            "responses.perf_ns: whole nanoseconds below 2^62 expected",
            "responses.perf_ns",
            "1.5",
        ),
        (
            record({"request_start_ns": "1"}),
            "metadata.request_start_ns: whole nanoseconds below 2^62 expected",
            "metadata.request_start_ns",
            "1",
        ),
        (
            record(responses=[response(5, "{")]),
            "event: not JSON: Input data was truncated",
            None,
            None,
        ),
        (record(responses={}), "responses: Expected `array`, got `object`", "responses", None),
        (b'{"metadata": {}, "metadata": {}}', 'key "metadata" appears twice', "metadata", None),
        (b"x", "not JSON: JSON is malformed: invalid character (byte 0)", None, None),
    ],
)
def test_a_line_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, bad: object, reason: str, field: str | None, value: str | None
) -> None:
    reading = read_lines(AiperfRaw(), tmp_path, [bad, record(responses=ANSWER)])
    assert [row["source"][-2:] for row in reading.rows] == [":2"]
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.reason, reject.field, reject.value) == (1, reason, field, value)


def test_the_wall_offset_is_the_median_over_requests_that_were_not_cancelled(
    tmp_path: Path,
) -> None:
    starts = [WALL_NS, WALL_NS + 7, WALL_NS + 4 * MS]
    lines = [record({"request_start_ns": start}, responses=ANSWER) for start in starts]
    lines.append(record({"request_start_ns": WALL_NS + 180 * MS, "was_cancelled": True}))
    reading = read_lines(AiperfRaw(), tmp_path, lines)
    (clock,) = reading.intake.clocks
    assert clock.id == reading.rows[0]["clock"]
    assert clock.offset_ns == 1_000 * MS - (WALL_NS + 7)
    assert clock.uncertainty_ns == 4 * MS - 7


def test_single_tokens_agree_with_what_the_server_did() -> None:
    # The client's own scheduling is in each value, so medians over the run are compared.
    truth = truth_of("single_chat")
    rows = sample("single_chat").rows
    assert len(rows) == 40
    tpot_errors, worst_errors = [], []
    for row in rows:
        true = truth[row["request_id"]]
        assert row["output_tokens"] == len(true.emitted_ns)
        tpot_errors.append(sum(row["gaps_ns"]) / (row["output_tokens"] - 1) - true.tpot_ns)
        worst_errors.append(max(row["gaps_ns"]) - true.worst_gap_ns)
        assert row["first_token_ns"] >= true.emitted_ns[0]
        assert row["status"] == "completed"
    assert abs(median(tpot_errors)) < 0.5 * MS
    assert abs(median(worst_errors)) < 0.5 * MS


@pytest.mark.parametrize(
    "run",
    [
        "single_chat",
        "multi3_chat",
        "multi3_chat_server_tokens",
        "coalesce3_completions",
        "roleusage_chat",
    ],
)
def test_every_request_completes_with_the_tokens_the_server_wrote(run: str) -> None:
    reading = sample(run)
    truth = truth_of(run)
    assert len(reading.rows) == len(truth)
    assert reading.intake.rejects == []
    for row in reading.rows:
        true = truth[row["request_id"]]
        assert (row["status"], row["token_count_source"]) == ("completed", "usage")
        assert row["output_tokens"] == len(true.emitted_ns)
        assert row["requested_output_tokens"] == len(true.emitted_ns)


def test_running_usage_gives_the_tokens_of_each_event() -> None:
    truth = truth_of("multi3_chat_server_tokens")
    for row in sample("multi3_chat_server_tokens").rows:
        sizes = [e["n"] for e in truth[row["request_id"]].events if e["kind"] == "tokens"]
        assert row["token_counts"] == sizes
        assert row["quality"] == []


def test_without_running_usage_the_split_is_open() -> None:
    truth = truth_of("multi3_chat")
    for row in sample("multi3_chat").rows:
        sizes = [e["n"] for e in truth[row["request_id"]].events if e["kind"] == "tokens"]
        assert row["token_counts"] is None
        assert len(times(row)) == len(sizes)
        assert row["quality"] == ["count_mismatch"]


def test_three_events_of_one_read_are_one_delivery_of_three_tokens() -> None:
    for row in sample("coalesce3_completions").rows:
        assert row["granularity"] == "chunk"
        assert sum(row["token_counts"]) == row["output_tokens"]
        assert min(row["gaps_ns"]) > 0
        assert len(times(row)) <= -(-row["output_tokens"] // 3) + 1


def test_role_usage_and_terminator_are_not_tokens() -> None:
    # The role event came 5 ms after the request, 35 ms before the first token; usage and [DONE]
    # 25 and 30 ms after the last one. Client scheduling moves each by a few ms.
    truth = truth_of("roleusage_chat")
    for row in sample("roleusage_chat").rows:
        assert marks(row) == ["role", "finish", "usage", "done"]
        at = {mark["kind"]: mark["t_ns"] for mark in row["marks"]}
        true = truth[row["request_id"]]
        assert at["role"] < true.emitted_ns[0] <= row["first_token_ns"]
        assert at["usage"] - times(row)[-1] > 15 * MS
        assert row["stream_close_ns"] == at["done"] >= at["usage"]


def test_faults_are_what_the_server_did_whatever_the_tool_says() -> None:
    expected = {
        "ok": ("completed", None),
        "http500": ("failed", "Internal Server Error"),
        "http429": ("rejected", "Too Many Requests"),
        "abort": ("failed", "ClientPayloadError"),
        "sse_error": ("failed", "in_band_error"),
    }
    reading = sample("faults_chat")
    truth = truth_of("faults_chat")
    assert reading.by_status() == {"completed": 20, "failed": 15, "rejected": 5}
    for row in reading.rows:
        true = truth[row["request_id"]]
        assert (row["status"], row["error_kind"]) == expected[true.outcome]
        assert row["output_tokens"] == len(true.emitted_ns)
        assert len(times(row)) == len(set(times(row))) <= len(true.emitted_ns)


def test_cancelled_requests_lose_what_the_server_had_sent() -> None:
    truth = truth_of("cancel_completions")
    reading = sample("cancel_completions")
    assert reading.by_status() == {"cancelled": 5, "completed": 25}
    for row in reading.rows:
        if row["status"] == "cancelled":
            assert 7 <= len(truth[row["request_id"]].emitted_ns) <= 13
            assert (row["gaps_ns"], row["quality"]) == (None, ["events_lost"])


def test_timed_out_requests_keep_what_came() -> None:
    # 400 ms to the first token, then 60 ms each, given up after 1.5 s: 19 tokens were written,
    # the last of them at 1,480 ms, so it may have been on its way.
    reading = sample("slow_timeout_chat")
    truth = truth_of("slow_timeout_chat")
    assert reading.by_status() == {"completed": 4, "timed_out": 8}
    for row in reading.rows:
        if row["status"] == "timed_out":
            assert len(truth[row["request_id"]].emitted_ns) == 19
            assert row["output_tokens"] in (18, 19)
            assert row["stream_close_ns"] == times(row)[-1]
            assert row["error_kind"] == "TimeoutError"


@pytest.mark.parametrize("run", ["faults_chat", "cancel_completions", "slow_timeout_chat"])
def test_the_wall_offset_is_the_servers_own(run: str) -> None:
    # One host: what the server read from both clocks tells the same offset.
    (clock,) = sample(run).intake.clocks
    server_ns = median(true.wall_ahead_ns for true in truth_of(run).values())
    assert abs(-clock.offset_ns - server_ns) < 50_000
    assert clock.uncertainty_ns is not None
    assert clock.uncertainty_ns < 50_000


def test_a_pause_between_the_two_readings_does_not_widen_the_offset() -> None:
    (clock,) = sample("single_chat").intake.clocks
    log = records(SAMPLES / "aiperf-raw" / "single_chat" / "profile_export_raw.jsonl.gz")
    wall_ahead_ns = [each["metadata"]["request_start_ns"] - each["start_perf_ns"] for each in log]
    apart_ns = sorted(abs(ahead_ns + clock.offset_ns) for ahead_ns in wall_ahead_ns)
    assert apart_ns[-1] > 4_100_000
    held = -(-9 * len(apart_ns) // 10)  # nine pairs of ten, rounded up
    assert clock.uncertainty_ns == apart_ns[held - 1]


def test_reading_in_bulk_and_line_by_line_agree_on_whatever_is_written(tmp_path: Path) -> None:
    responses = [
        token(1_040),
        {"perf_ns": 1_050 * MS, "packets": [{"name": "comment", "value": "ping"}]},
        {"perf_ns": 1_060 * MS, "packets": [{"name": "data", "value": '{"choices":['},
                                            {"name": "data", "value": '{"text":"w"}]}'}]},
    ]  # fmt: skip
    payload = {"model": "m", "max_tokens": 8, "messages": [{"content": "secret"}]}
    whole = record(responses=responses, status=200, payload=payload)
    body = {"choices": [{"message": {"content": "all"}, "finish_reason": "stop"}]}
    not_streamed = record(responses=[{"perf_ns": 9 * MS, "text": json.dumps(body)}])
    failed = record(responses=[], error={"type": "TimeoutError", "code": None})
    lines = [*spoilt(whole), *spoilt(not_streamed), *spoilt(failed)]
    reading = both_ways(AiperfRaw(), "tokengap.adapters.shared.json_columns", tmp_path, [*lines])
    sources = {row["source"] for row in reading.rows}
    assert len(sources) + len(reading.intake.rejects) == len(lines)
    assert min(len(sources), len(reading.intake.rejects)) > len(lines) // 10
