import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Row, read, read_lines
from tokengap.adapters.formats.dynamo_trace.trace import DynamoTrace
from tokengap.adapters.interface import Head

MS = 1_000_000
RECEIVED_MS = 1_777_312_800_000
RECEIVED_NS = RECEIVED_MS * MS
PREFILL_ID, DECODE_ID = 7_587_890_254_412_537_089, 7_587_890_254_412_537_091  # above 2^53

WORKERS: dict[str, Any] = {
    "prefill_worker_id": PREFILL_ID,
    "prefill_dp_rank": 2,
    "decode_worker_id": DECODE_ID,
    "decode_dp_rank": 0,
}
REQUEST: dict[str, Any] = {
    "request_id": "d-1",
    "x_request_id": "x-1",
    "model": "m",
    "input_tokens": 128,
    "output_tokens": 11,
    "cached_tokens": 64,
    "request_received_ms": RECEIVED_MS,
    "prefill_wait_time_ms": 12.1,
    "prefill_time_ms": 70.3,
    "ttft_ms": 82.4,
    "total_time_ms": 1_000.1,
    "avg_itl_ms": 91.77,
    "kv_transfer_estimated_latency_ms": 4.2,
    "queue_depth": 3,
    "worker": WORKERS,
    "replay": {"trace_block_size": 64, "input_length": 128, "input_sequence_hashes": [2**64 - 1]},
    "finish_reason_metadata": {"finish_reason": "length"},
}


def traced(request: dict[str, Any] | None = None, **more: object) -> dict[str, Any]:
    return {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": RECEIVED_MS + 1_000,
        "request": REQUEST if request is None else request,
        **more,
    }


def one(folder: Path, record: object) -> Row:
    reading = read_lines(DynamoTrace(), folder, [record])
    assert reading.intake.rejects == []
    (row,) = reading.rows
    return row


def test_arrival_in_wall_time_and_durations_from_there(tmp_path: Path) -> None:
    row = one(tmp_path, traced())
    assert (row["vantage"], row["granularity"], row["clock_kind"]) == (
        "gateway", "aggregate", "wall",
    )  # fmt: skip
    assert row["received_ns"] == RECEIVED_NS
    assert row["first_token_ns"] == RECEIVED_NS + 82_400_000
    assert row["last_token_ns"] == row["stream_close_ns"] == RECEIVED_NS + 1_000_100_000
    assert (row["prompt_tokens"], row["cached_prompt_tokens"], row["output_tokens"]) == (
        128, 64, 11,
    )  # fmt: skip
    assert (row["status"], row["finish_reason"], row["quality"]) == ("completed", "length", [])
    assert row["gaps_ns"] is None


def test_where_the_handoff_is_depends_on_the_version(tmp_path: Path) -> None:
    row = one(tmp_path, traced())
    assert (row["last_prefill_token"], row["handoff_source"]) == (None, None)
    durations = {s["name"]: (s["start_ns"], s["duration_ns"]) for s in row["stages"]}
    assert durations == {"queue": (None, 12_100_000), "prefill": (None, 70_300_000)}
    told = {each["metric"]: each["value_ns"] for each in row["reported"]}
    assert told == {"handoff_gateway": 4_200_000, "tpot": 91_770_000}
    assert all(each["formula"].startswith("dynamo: ") for each in row["reported"])


def test_ids_of_workers_keep_their_digits(tmp_path: Path) -> None:
    row = one(tmp_path, traced())
    assert row["prefill_worker"] == "7587890254412537089:2"
    assert row["decode_worker"] == "7587890254412537091:0"


@pytest.mark.parametrize(
    ("unset", "prefill", "decode"),
    [
        ({"prefill_worker_id": 0}, None, f"{DECODE_ID}:0"),
        ({"prefill_dp_rank": 2**32 - 1}, str(PREFILL_ID), f"{DECODE_ID}:0"),
        ({"decode_worker_id": 0, "decode_dp_rank": 2**32 - 1}, f"{PREFILL_ID}:2", None),
    ],
)
def test_placeholders_name_no_worker(
    tmp_path: Path, unset: dict[str, int], prefill: str | None, decode: str | None
) -> None:
    row = one(tmp_path, traced(REQUEST | {"worker": WORKERS | unset}))
    assert (row["prefill_worker"], row["decode_worker"]) == (prefill, decode)
    assert row["quality"] == ["sentinel_dropped"]


def test_one_worker_for_both_parts_hands_nothing_over(tmp_path: Path) -> None:
    same = {"prefill_worker_id": 5, "decode_worker_id": 5}
    row = one(tmp_path, traced(REQUEST | {"worker": same}))
    assert (row["prefill_worker"], row["decode_worker"]) == ("5", "5")
    assert (row["last_prefill_token"], row["handoff_source"]) == (None, "none")


def test_ids_of_both_sides(tmp_path: Path) -> None:
    row = one(tmp_path, traced())
    assert row["request_id"] == "x-1"
    assert dict(row["ids"]) == {"x_request_id": "x-1", "dynamo_request_id": "d-1"}
    nameless = {key: value for key, value in REQUEST.items() if key != "x_request_id"}
    assert one(tmp_path, traced(nameless))["request_id"] == "d-1"


def test_an_id_that_a_client_sends_again_is_another_attempt(tmp_path: Path) -> None:
    again = REQUEST | {"request_id": "d-2"}
    rows = read_lines(DynamoTrace(), tmp_path, [traced(), traced(again)]).rows
    assert [(row["request_id"], row["attempt"]) for row in rows] == [("x-1", 0), ("x-1", 1)]


def test_without_an_arrival_the_request_is_alone_on_its_clock(tmp_path: Path) -> None:
    for received, notes in ((0, ["sentinel_dropped"]), (None, [])):
        row = one(tmp_path, traced(REQUEST | {"request_received_ms": received}))
        assert (row["received_ns"], row["first_token_ns"]) == (0, 82_400_000)
        assert row["clock"].endswith(":request:1")
        assert (row["clock_kind"], row["quality"]) == ("monotonic", notes)


def test_arrival_and_lengths_alone_are_a_workload(tmp_path: Path) -> None:
    kept = ("request_id", "output_tokens", "request_received_ms", "replay")
    row = one(tmp_path, traced({key: REQUEST[key] for key in kept}))
    assert (row["granularity"], row["arrival_ns"]) == ("workload", RECEIVED_NS)
    assert (row["prompt_tokens"], row["output_tokens"]) == (128, 11)
    assert (row["first_token_ns"], row["last_token_ns"], row["stages"]) == (None, None, None)


def test_records_may_be_wrapped(tmp_path: Path) -> None:
    wrapped = {"timestamp": 1_003, "event": traced(agent_context={"session_id": "s"})}
    assert DynamoTrace().sniff(Head(json.dumps(wrapped).encode())).matches
    row = one(tmp_path, wrapped)
    assert row["request_id"] == "x-1"
    assert dict(row["labels"]) == {"session": "s", "queue_depth": "3"}


def test_events_of_tools_and_payloads_are_no_requests(tmp_path: Path) -> None:
    others = [
        traced(event_type="tool_end", request=None, tool={"tool_class": "search"}),
        traced(event_type="request_payload", request=None, payload={"request_id": "secret"}),
    ]
    reading = read_lines(DynamoTrace(), tmp_path, [*others, traced()])
    assert (len(reading.rows), reading.intake.rejects) == (1, [])


@pytest.mark.parametrize(
    ("bad", "field", "value"),
    [
        (traced(schema="dynamo.request.trace.v9"), "schema", "dynamo.request.trace.v9"),
        (traced(event_type="request_start"), "event_type", "request_start"),
        (traced({"output_tokens": 3}), "request.request_id", None),
        (traced(REQUEST | {"ttft_ms": -1.0}), "request.ttft_ms", None),
        (traced(REQUEST | {"total_time_ms": 1e300}), "total_time_ms", "1e+300"),
        (traced(REQUEST | {"request_received_ms": 1.5}), "request.request_received_ms", None),
        (traced(REQUEST | {"output_tokens": "3"}), "request.output_tokens", None),
    ],
)
def test_a_record_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, bad: object, field: str, value: str | None
) -> None:
    reading = read_lines(DynamoTrace(), tmp_path, [traced(), bad])
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field, reject.value) == (2, field, value)


def test_the_published_records() -> None:
    reading = read(DynamoTrace(), SAMPLES / "dynamo-trace" / "request_trace_doc.jsonl")
    workload, timed = reading.rows
    assert (workload["granularity"], workload["request_id"]) == ("workload", "dynamo-request-id")
    assert (timed["granularity"], timed["request_id"]) == ("aggregate", "llm-call-42")
    assert timed["first_token_ns"] - timed["received_ns"] == 82_400_000
    # It shows worker 0, which in a running system stands for none.
    assert (timed["prefill_worker"], timed["decode_worker"]) == (None, "1:0")
