from pathlib import Path
from typing import Any

import pytest

from tests.adapters.both_ways import both_ways, spoilt
from tests.adapters.reading import SAMPLES, Reading, Row, read, read_lines, times
from tokengap.adapters.formats.aiperf.profile_export import Aiperf
from tokengap.adapters.formats.aiperf_raw.profile_export_raw import AiperfRaw

MS = 1_000_000
WALL_NS = 1_795_951_384_724_246_852
RUNS = sorted(path.name for path in (SAMPLES / "aiperf-raw").iterdir())

METRICS: dict[str, Any] = {
    "time_to_first_token": {"value": 65.31631, "unit": "ms"},
    "inter_chunk_latency": {"value": [13.392347, 0.0, 9.776648999999999], "unit": "ms"},
    "request_latency": {"value": 88.485306, "unit": "ms"},
    "usage_prompt_tokens": {"value": 24, "unit": "tokens"},
    "usage_completion_tokens": {"value": 4, "unit": "tokens"},
    "input_sequence_length": {"value": 25, "unit": "tokens"},
    "output_sequence_length": {"value": 5, "unit": "tokens"},
}
RECORD: dict[str, Any] = {
    "metadata": {
        "x_request_id": "r-1",
        "x_correlation_id": "c-1",
        "conversation_id": "session_7",
        "turn_index": 0,
        "credit_issued_ns": WALL_NS - 7 * MS,
        "request_start_ns": WALL_NS,
        "request_end_ns": WALL_NS + 90 * MS,
        "benchmark_phase": "profiling",
        "was_cancelled": False,
    },
    "metrics": METRICS,
}


def record(metadata: dict[str, object] | None = None, **changed: object) -> dict[str, Any]:
    return RECORD | {"metadata": RECORD["metadata"] | (metadata or {})} | changed


def measured(**changed: object) -> dict[str, Any]:
    metrics = {name: value for name, value in (METRICS | changed).items() if value is not None}
    return record(metrics=metrics)


def one(folder: Path, found: object) -> Row:
    (row,) = read_lines(Aiperf(), folder, [found]).rows
    return row


def sample(run: str) -> Reading:
    (path,) = (SAMPLES / "aiperf" / run).iterdir()
    return read(Aiperf(), path)


def raw(run: str) -> Reading:
    return read(AiperfRaw(), SAMPLES / "aiperf-raw" / run / "profile_export_raw.jsonl.gz")


def test_the_columns_of_a_record(tmp_path: Path) -> None:
    # First token 65,316,310 ns after the start; the second gap of 0 is the same read.
    row = one(tmp_path, RECORD)
    assert row["first_token_ns"] == WALL_NS + 65_316_310
    assert row["gaps_ns"] == [13_392_347, 9_776_649]
    assert (row["token_counts"], row["output_tokens"]) == ([1, 2, 1], 4)
    assert (row["prompt_tokens"], row["token_count_source"]) == (24, "usage")
    assert (row["clock_kind"], row["sent_ns"]) == ("wall", WALL_NS)
    assert row["planned_ns"] == WALL_NS - 7 * MS
    assert row["stream_close_ns"] == WALL_NS + 90 * MS
    assert (row["status"], row["quality"]) == ("completed", ["end_not_seen"])
    assert row["ids"] == [("x_request_id", "r-1"), ("x_correlation_id", "c-1")]
    assert dict(row["labels"]) == {"session": "session_7", "turn": "0"}
    assert (row["finish_reason"], row["marks"], row["first_answer_ns"]) == (None, [], None)


def test_without_server_counts_the_tools_recount_is_named_as_one(tmp_path: Path) -> None:
    row = one(tmp_path, measured(usage_completion_tokens=None, usage_prompt_tokens=None))
    assert (row["output_tokens"], row["token_count_source"]) == (5, "retokenised")
    assert row["prompt_tokens"] == 25


def test_answer_text_after_reasoning_has_its_own_time(tmp_path: Path) -> None:
    row = one(tmp_path, measured(time_to_first_output_token={"value": 80.0, "unit": "ms"}))
    assert row["first_answer_ns"] == WALL_NS + 80 * MS


def test_an_answer_that_was_not_streamed_is_one_delivery(tmp_path: Path) -> None:
    row = one(tmp_path, measured(time_to_first_token=None, inter_chunk_latency=None))
    assert times(row) == [WALL_NS + 88_485_306]
    assert row["quality"] == ["end_not_seen", "not_streamed"]


def test_gaps_that_do_not_add_up_are_noted(tmp_path: Path) -> None:
    # 88.485306 ms is the sum; anything a microsecond and more above it is an event not listed.
    near = measured(request_latency={"value": 88.4853, "unit": "ms"})
    far = measured(request_latency={"value": 88.49, "unit": "ms"})
    assert "events_lost" not in one(tmp_path, near)["quality"]
    assert "events_lost" in one(tmp_path, far)["quality"]


def test_a_record_without_any_time_has_no_deliveries(tmp_path: Path) -> None:
    row = one(tmp_path, record(metrics={}))
    assert (row["gaps_ns"], row["output_tokens"]) == (None, None)
    assert "events_lost" in row["quality"]


def test_an_http_error_had_no_stream(tmp_path: Path) -> None:
    error = {"code": 500, "type": "Internal Server Error", "message": "m"}
    row = one(tmp_path, record(metrics={"error_isl": {"value": 96, "unit": "tokens"}}, error=error))
    assert (row["status"], row["error_kind"]) == ("failed", "Internal Server Error")
    assert (row["gaps_ns"], row["stream_close_ns"], row["prompt_tokens"]) == ([], None, 96)


def test_a_lost_connection_loses_its_events(tmp_path: Path) -> None:
    row = one(tmp_path, record(metrics={}, error={"type": "ClientPayloadError"}))
    assert (row["status"], row["error_kind"]) == ("failed", "ClientPayloadError")
    assert (row["gaps_ns"], row["quality"]) == (None, ["events_lost"])
    assert row["stream_close_ns"] == WALL_NS + 90 * MS


def test_the_start_of_a_cancelled_request_is_taken_from_its_http_trace(tmp_path: Path) -> None:
    # The record's own start is the moment of cancellation.
    cancelled = record({"was_cancelled": True}, metrics={}, error={"code": 499, "type": "C"})
    row = one(tmp_path, cancelled)
    assert (row["status"], row["sent_ns"], row["stream_close_ns"]) == ("cancelled", None, None)
    traced = cancelled | {"trace_data": {"request_send_start_ns": WALL_NS - 178 * MS}}
    assert one(tmp_path, traced)["sent_ns"] == WALL_NS - 178 * MS


@pytest.mark.parametrize(
    ("bad", "field", "value"),
    [
        (record({"benchmark_phase": "warmup"}), "metadata.benchmark_phase", "warmup"),
        (record({"request_start_ns": 1.5}), "metadata.request_start_ns", "1.5"),
        (record({"request_start_ns": None}), "metadata.request_start_ns", None),
        (
            measured(time_to_first_token={"value": 0.065, "unit": "s"}),
            "metrics.time_to_first_token.unit",
            "s",
        ),
        (
            measured(time_to_first_token={"value": -1.0, "unit": "ms"}),
            "metrics.time_to_first_token.value",
            "-1.0",
        ),
        (
            measured(inter_chunk_latency={"value": [1.0, -2.0], "unit": "ms"}),
            "metrics.inter_chunk_latency.value",
            "-2.0",
        ),
        (
            measured(usage_completion_tokens={"value": 2.5, "unit": "tokens"}),
            "metrics.usage_completion_tokens.value",
            "2.5",
        ),
        (
            measured(inter_chunk_latency={"value": [1.0, "2"], "unit": "ms"}),
            "metrics.inter_chunk_latency.value[1]",
            None,
        ),
    ],
)
def test_a_record_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, bad: object, field: str, value: str | None
) -> None:
    reading = read_lines(Aiperf(), tmp_path, [RECORD, bad])
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field, reject.value) == (2, field, value)


@pytest.mark.parametrize("run", RUNS)
def test_every_time_is_the_raw_files_own(run: str) -> None:
    finer = raw(run).by_id()
    rows = sample(run).rows
    assert {row["request_id"] for row in rows} == set(finer)
    compared = 0
    for row in rows:
        other = finer[row["request_id"]]
        assert row["ids"] == other["ids"][:2]
        if not times(row):
            continue
        compared += 1
        assert row["gaps_ns"] == other["gaps_ns"]
        assert row["first_token_ns"] - row["sent_ns"] == other["first_token_ns"] - other["sent_ns"]
    completed = [row for row in rows if row["status"] == "completed"]
    assert compared == len(completed) > 0


@pytest.mark.parametrize("run", RUNS)
def test_status_is_the_raw_files_own_but_for_errors_inside_an_answer(run: str) -> None:
    finer = raw(run).by_id()
    for row in sample(run).rows:
        other = finer[row["request_id"]]
        if other["error_kind"] == "in_band_error":
            assert row["status"] == "completed"
        else:
            assert (row["status"], row["error_kind"]) == (other["status"], other["error_kind"])


def test_cancelled_requests_were_sent_before_they_were_cancelled() -> None:
    for row in sample("cancel_completions").rows:
        if row["status"] == "cancelled":
            assert 0 < row["sent_ns"] - row["planned_ns"] < 100 * MS


def test_the_published_records() -> None:
    reading = sample("doc_duplicate_key")
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.reason) == (1, 'key "time_to_first_token" appears twice')
    (row,) = reading.rows
    assert (row["status"], row["prompt_tokens"]) == ("cancelled", 550)


def test_reading_in_bulk_and_line_by_line_agree_on_whatever_is_written(tmp_path: Path) -> None:
    whole = record({"unread": "a"}, trace_data={"request_send_start_ns": WALL_NS})
    failed = record(error={"type": "TimeoutError", "code": None}, metrics={})
    cancelled = record({"was_cancelled": True}, error={"type": "C", "code": 499}, metrics={})
    lines = [*spoilt(whole), *spoilt(failed), *spoilt(cancelled)]
    reading = both_ways(Aiperf(), "tokengap.adapters.shared.json_columns", tmp_path, [*lines])
    assert len(reading.rows) + len(reading.intake.rejects) == len(lines)
    assert min(len(reading.rows), len(reading.intake.rejects)) > len(lines) // 10
