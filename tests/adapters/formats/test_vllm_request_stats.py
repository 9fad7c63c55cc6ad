from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Row, read, read_lines, records
from tokengap.adapters.formats.vllm_request_stats import VllmRequestStats
from tokengap.adapters.interface import Head

FILES = sorted((SAMPLES / "vllm-request-stats").iterdir())

# Arrival 1,787,267,980 s of wall time; the engine's own clock reads 27,536 s.
RECORD: dict[str, Any] = {
    "request_id": "chatcmpl-r1",
    "input_toks": 2358,
    "output_toks": 3,
    "arrival_time": 1787267980.5,
    "queued_ts": 27536.25,
    "scheduled_ts": 27536.5,
    "first_token_ts": 27537.0,
    "last_token_ts": 27537.125,
}


def one(folder: Path, **changed: object) -> Row:
    (row,) = read_lines(VllmRequestStats(), folder, [RECORD | changed]).rows
    return row


def test_the_columns_of_a_record(tmp_path: Path) -> None:
    row = one(tmp_path)
    clock = row["clock"]
    assert (row["vantage"], row["clock_kind"]) == ("engine", "monotonic")
    assert (row["granularity"], row["gaps_ns"]) == ("aggregate", None)
    assert (row["first_token_ns"], row["last_token_ns"]) == (27_537 * 10**9, 27_537_125 * 10**6)
    assert [
        (s["name"], s["start_ns"], s["end_ns"], s["duration_ns"], s["clock"]) for s in row["stages"]
    ] == [
        ("queue", 27_536_250 * 10**6, 27_536_500 * 10**6, 250 * 10**6, clock),
        ("prefill", 27_536_500 * 10**6, 27_537 * 10**9, 500 * 10**6, clock),
    ]
    counts = (row["prompt_tokens"], row["output_tokens"], row["token_count_source"])
    assert counts == (2358, 3, "usage")
    assert (row["status"], row["quality"]) == ("completed", ["end_not_seen"])
    assert dict(row["ids"]) == {"sse_id": "chatcmpl-r1", "x_request_id": "r1"}


def test_the_two_clocks_of_a_record_never_meet(tmp_path: Path) -> None:
    # Arrival is wall time: no column on the engine's clock may hold it, nor a TTFT made with it.
    row = one(tmp_path)
    origins = [row[name] for name in ("planned_ns", "sent_ns", "received_ns", "arrival_ns")]
    assert origins == [None] * 4
    assert row["reported"] is None
    assert dict(row["labels"]) == {"arrival_wall_s": "1787267980.5"}


def test_the_api_processs_own_first_token_is_reported_as_such(tmp_path: Path) -> None:
    (told,) = one(tmp_path, first_token_latency=0.75)["reported"]
    assert (told["metric"], told["value_ns"]) == ("ttft", 750 * 10**6)
    assert "wall clock" in told["formula"]


def test_vllms_own_name_of_the_count(tmp_path: Path) -> None:
    named = {"output_toks": None, "num_generation_tokens": 9}
    assert one(tmp_path, **named)["output_tokens"] == 9


def test_a_stamp_of_zero_was_never_set(tmp_path: Path) -> None:
    row = one(tmp_path, first_token_ts=0.0, last_token_ts=0.0, output_toks=0)
    assert (row["first_token_ns"], row["last_token_ns"]) == (None, None)
    assert [s["name"] for s in row["stages"]] == ["queue"]
    assert (row["status"], row["error_kind"]) == ("failed", "no_first_token")
    assert row["quality"] == ["sentinel_dropped"]


def test_stamps_out_of_order_are_kept_and_told(tmp_path: Path) -> None:
    row = one(tmp_path, scheduled_ts=27536.0, last_token_ts=27536.5)
    assert row["stages"][0]["duration_ns"] == -250 * 10**6
    assert row["last_token_ns"] - row["first_token_ns"] == -500 * 10**6
    assert row["quality"] == ["clock_contradiction", "end_not_seen"]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"queued_ts": "27536"}, "queued_ts"),
        ({"first_token_ts": 1e300}, "first_token_ts"),
        ({"output_toks": -1}, "output_toks"),
        ({"input_toks": 2.5}, "input_toks"),
        ({"output_toks": 2**63}, "output_toks"),
        ({"request_id": 7}, "request_id"),
    ],
)
def test_a_record_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, changed: dict[str, object], field: str
) -> None:
    reading = read_lines(VllmRequestStats(), tmp_path, [RECORD | changed, RECORD])
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field) == (1, field)


def test_a_key_that_comes_twice_is_refused(tmp_path: Path) -> None:
    reading = read_lines(VllmRequestStats(), tmp_path, ['{"queued_ts": 1.0, "queued_ts": 2.0}'])
    assert reading.rows == []
    assert reading.intake.rejects[0].field == "queued_ts"


def test_an_id_that_comes_twice_names_two_rows(tmp_path: Path) -> None:
    rows = read_lines(VllmRequestStats(), tmp_path, [RECORD, RECORD]).rows
    assert len({row["request_id"] for row in rows}) == 2


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_recorded_runs_agree_with_vllms_own_formula(path: Path) -> None:
    logged = records(path)
    rows = read(VllmRequestStats(), path).by_id()
    assert len(rows) == len(logged) == 300
    assert all(row["quality"] == ["end_not_seen"] for row in rows.values())
    for one in logged:
        row = rows[one["request_id"]]
        span_s = (row["last_token_ns"] - row["first_token_ns"]) / 1e9
        assert span_s == pytest.approx(one["last_token_ts"] - one["first_token_ts"], abs=1e-9)
        queue, prefill = row["stages"]
        assert queue["end_ns"] == prefill["start_ns"]
        assert prefill["end_ns"] == row["first_token_ns"]


def test_the_queue_of_the_smaller_card_is_seen_whole() -> None:
    # The file's longest wait, by its own stamps, is 137.678 s; the median prefill 0.2218 s.
    (path,) = (path for path in FILES if "4090" in path.name)
    rows = read(VllmRequestStats(), path).rows
    queues, prefills = zip(
        *([s["duration_ns"] / 1e9 for s in row["stages"]] for row in rows), strict=True
    )
    assert max(queues) == pytest.approx(137.678094, abs=1e-6)
    assert median(prefills) == pytest.approx(0.221793, abs=1e-6)


@pytest.mark.parametrize("missing", ["queued_ts", "first_token_ts"])
def test_other_records_are_not_taken_for_these(missing: str) -> None:
    names = {"queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts"} - {missing}
    data = "{" + ",".join(f'"{name}": 1.0' for name in sorted(names)) + "}"
    assert VllmRequestStats().sniff(Head(data.encode())).missing == (missing,)
