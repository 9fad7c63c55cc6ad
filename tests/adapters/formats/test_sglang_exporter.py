import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Row, read, read_lines, times
from tokengap.adapters.formats.sglang_exporter import SglangExporter
from tokengap.adapters.interface import Head

MS = 1_000_000
S = 1_000_000_000
RECEIVED_S = 1_795_951_810
RECEIVED_NS = RECEIVED_S * S
DRIVEN = SAMPLES / "sglang-exporter" / "meta_info_timing_driven.json"

# Binary fractions of a second are exact in a double: .0625 s, .125 s, .1875 s, .5 s.
RECORD: dict[str, Any] = {
    "id": "r1",
    "finish_reason": {"type": "stop", "matched": 2},
    "prompt_tokens": 128,
    "completion_tokens": 6,
    "cached_tokens": 64,
    "num_retractions": 0,
    "queue_time": 0.0625,
    "forward_entry_time": RECEIVED_S + 0.125,
    "prefill_finished_time": RECEIVED_S + 0.1875,
    "request_received_ts": RECEIVED_S + 0.0,
    "first_token_latency": 0.25,
    "response_sent_to_client_ts": RECEIVED_S + 0.375,
    "request_finished_ts": RECEIVED_S + 0.5,
    "decode_throughput": 20.0,
    "e2e_latency": 0.5,
}


def exported(parameters: dict[str, object] | None = None, **changed: object) -> dict[str, Any]:
    asked = {"text": "secret", "stream": True} | (parameters or {})
    return {"request_parameters": json.dumps(asked)} | RECORD | changed


def one(folder: Path, record: object) -> Row:
    (row,) = read_lines(SglangExporter(), folder, [record]).rows
    return row


def test_the_columns_of_an_exported_line(tmp_path: Path) -> None:
    row = one(tmp_path, exported({"sampling_params": {"max_new_tokens": 32}}))
    assert (row["vantage"], row["clock_kind"]) == ("gateway", "wall")
    assert (row["granularity"], row["gaps_ns"]) == ("aggregate", None)
    assert row["received_ns"] == RECEIVED_NS
    assert row["first_token_ns"] == RECEIVED_NS + 250 * MS
    assert row["last_token_ns"] == row["stream_close_ns"] == RECEIVED_NS + 500 * MS
    assert [(s["name"], s["start_ns"], s["end_ns"]) for s in row["stages"]] == [
        ("queue", RECEIVED_NS + 62_500_000, RECEIVED_NS + 125 * MS),
        ("prefill", RECEIVED_NS + 125 * MS, RECEIVED_NS + 187_500_000),
    ]
    assert {s["clock"] for s in row["stages"]} == {row["clock"]}
    assert (row["prompt_tokens"], row["cached_prompt_tokens"]) == (128, 64)
    assert (row["output_tokens"], row["requested_output_tokens"]) == (6, 32)
    assert (row["status"], row["finish_reason"], row["quality"]) == ("completed", "stop", [])
    assert dict(row["ids"]) == {"rid": "r1", "sse_id": "r1"}
    assert dict(row["labels"]) == {"num_retractions": "0"}
    assert "secret" not in str(row)


def test_meta_info_of_a_native_answer_says_the_same(tmp_path: Path) -> None:
    native = one(tmp_path, {"text": "x", "output_ids": [1], "meta_info": RECORD})
    flat = one(tmp_path, exported())
    for column in ("received_ns", "first_token_ns", "last_token_ns", "output_tokens", "ids"):
        assert native[column] == flat[column]


def test_the_names_of_up_to_0_5_9(tmp_path: Path) -> None:
    older = {
        "id": "r1",
        "finish_reason": {"type": "length", "length": 6},
        "completion_tokens": 6,
        "request_received_ts": RECEIVED_S + 0.0,
        "request_sent_to_scheduler_ts": RECEIVED_S + 0.0625,
        "prefill_finished_ts": RECEIVED_S + 0.25,
        "decode_finished_ts": RECEIVED_S + 0.5,
        "e2e_latency": 0.5,
    }
    row = one(tmp_path, older)
    assert row["first_token_ns"] == RECEIVED_NS + 250 * MS
    assert row["last_token_ns"] == RECEIVED_NS + 500 * MS


def test_the_first_chunk_sent_stands_for_the_first_token_only_in_a_stream(tmp_path: Path) -> None:
    without = {"first_token_latency": None}
    assert one(tmp_path, exported(**without))["first_token_ns"] == RECEIVED_NS + 375 * MS
    assert one(tmp_path, RECORD | without)["first_token_ns"] is None


def test_an_answer_sent_as_one_body_is_one_delivery(tmp_path: Path) -> None:
    row = one(tmp_path, exported({"stream": False}))
    assert times(row) == [RECEIVED_NS + 500 * MS]
    assert row["quality"] == ["not_streamed"]
    (told,) = row["reported"]
    assert (told["metric"], told["value_ns"]) == ("ttft", 250 * MS)


def test_after_a_retraction_the_queue_is_a_sum_without_a_place(tmp_path: Path) -> None:
    row = one(tmp_path, exported(num_retractions=2))
    queue = row["stages"][0]
    assert (queue["start_ns"], queue["duration_ns"]) == (None, 62_500_000)
    assert dict(row["labels"]) == {"num_retractions": "2"}


def test_without_metrics_only_the_whole_time_is_known(tmp_path: Path) -> None:
    plain = {k: RECORD[k] for k in ("id", "finish_reason", "completion_tokens", "e2e_latency")}
    row = one(tmp_path, {"meta_info": plain})
    assert (row["received_ns"], row["first_token_ns"], row["stages"]) == (None, None, [])
    assert [(told["metric"], told["value_ns"]) for told in row["reported"]] == [("e2e", 500 * MS)]


@pytest.mark.parametrize(
    ("reason", "status", "kind"),
    [
        ({"type": "abort", "message": "secret"}, "cancelled", None),
        ({"type": "abort", "status_code": 503, "err_type": "x"}, "rejected", "http_503"),
        ({"type": "abort", "status_code": 400}, "failed", "http_400"),
    ],
)
def test_aborts(tmp_path: Path, reason: object, status: str, kind: str | None) -> None:
    row = one(tmp_path, exported(finish_reason=reason))
    assert (row["status"], row["error_kind"]) == (status, kind)
    assert "secret" not in str(row)


def test_a_prefill_servers_record_is_that_workers_half(tmp_path: Path) -> None:
    # A prefill server ends its part with length 0; its token is made when its prefill ends.
    half = exported({"bootstrap_room": 7}, finish_reason={"type": "length", "length": 0})
    row = one(tmp_path, half)
    assert (row["vantage"], row["prefill_worker"]) == ("engine", row["clock"])
    assert (row["decode_worker"], row["handoff_source"], row["last_prefill_token"]) == (
        None,
        "log",
        1,
    )
    assert (row["received_ns"], row["arrival_ns"]) == (None, RECEIVED_NS)
    assert row["first_token_ns"] == RECEIVED_NS + 187_500_000
    assert dict(row["ids"]) == {"rid.prefill": "r1", "bootstrap_room": "7"}
    whole = one(tmp_path, exported({"bootstrap_room": 7}))
    assert (whole["vantage"], whole["prefill_worker"]) == ("gateway", None)
    assert dict(whole["ids"])["bootstrap_room"] == "7"


def test_stamps_that_were_never_set_and_stamps_out_of_order(tmp_path: Path) -> None:
    row = one(tmp_path, exported(forward_entry_time=0.0))
    assert [s["name"] for s in row["stages"]] == ["queue"]
    assert row["quality"] == ["sentinel_dropped"]
    row = one(tmp_path, exported(first_token_latency=-0.25))
    assert row["first_token_ns"] == RECEIVED_NS - 250 * MS
    assert row["quality"] == ["clock_contradiction"]


def test_chunks_before_the_last_are_no_requests(tmp_path: Path) -> None:
    chunk = {"meta_info": RECORD | {"finish_reason": None}}
    lines = [chunk, chunk, {"meta_info": RECORD}, {"meta_info": chunk["meta_info"] | {"id": "cut"}}]
    reading = read_lines(SglangExporter(), tmp_path, lines)
    assert [row["request_id"] for row in reading.rows] == ["r1"]
    assert [(r.line, r.value) for r in reading.intake.rejects] == [(4, "cut")]


@pytest.mark.parametrize("parameters", ["not JSON", "[1]", '{"stream": "yes"}', "[" * 100_000])
def test_a_request_that_cannot_be_read_asks_for_nothing_known(
    tmp_path: Path, parameters: str
) -> None:
    row = one(tmp_path, RECORD | {"request_parameters": parameters})
    assert row["first_token_ns"] == RECEIVED_NS + 250 * MS


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (exported(request_received_ts="1795951810"), "request_received_ts"),
        (exported(request_received_ts=1e30), "request_received_ts"),
        (exported(completion_tokens=-1), "completion_tokens"),
        (exported(completion_tokens=2**70), None),
        (exported(finish_reason="stop"), "finish_reason"),
        ('{"id": "a", "id": "b"}', "id"),
    ],
)
def test_a_record_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, bad: object, field: str | None
) -> None:
    reading = read_lines(SglangExporter(), tmp_path, [exported(), bad])
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert reject.line == 2
    assert field is None or reject.field == field


def test_the_driven_timing_part() -> None:
    # Received at .0, first token 61 ms later, finished at 306 ms; in the queue for 6.8 ms until
    # 10 ms, prefill until 60 ms. Wall doubles are 0.24 us apart.
    (row,) = read(SglangExporter(), DRIVEN).rows
    since = [row["first_token_ns"], row["last_token_ns"], *(s["end_ns"] for s in row["stages"])]
    assert [(t_ns - RECEIVED_NS) / MS for t_ns in since] == pytest.approx(
        [61, 306, 10, 60], abs=2.4e-4
    )
    assert row["quality"] == ["end_not_seen"]


def test_other_json_is_not_taken_for_it() -> None:
    for text in (b'{"e2e_latency": 1.0}', b'{"meta_info": {"a": 1}}', b'{"queue_time": 1}'):
        assert not SglangExporter().sniff(Head(text)).matches
