import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.against_truth import MS, errors
from tests.adapters.client_truth import Truth, by_sse_id
from tests.adapters.reading import SAMPLES, Reading, Row, marks, read, times, unpacked
from tokengap.adapters.formats.inference_perf import InferencePerf
from tokengap.adapters.interface import Head
from tokengap.errors import InputError

RUNS = SAMPLES / "inference-perf"
FILE = "per_request_lifecycle_metrics.json.gz"


def event(text: str, **choice: object) -> str:
    choices = [{"index": 0, "text": text, **choice}]
    return f"data: {json.dumps({'id': 'gt-1', 'choices': choices})}\n\n"


USAGE = 'data: {"choices": [], "usage": {"prompt_tokens": 24, "completion_tokens": 3}}\n\n'
ANSWER = event("a") + event("b") + event("c", finish_reason="length") + USAGE + "data: [DONE]\n\n"

# Sent at 1000 s, tokens 40, 50 and 70 ms later, terminator at 100 ms.
RECORD: dict[str, Any] = {
    "start_time": 1000.0,
    "end_time": 1000.1,
    "request": '{"model": "gt-model", "prompt": "secret", "max_tokens": 8}',
    "response": ANSWER,
    "info": {
        "request_metrics": {"text": {"input_tokens": 23}},
        "response_metrics": {
            "output_tokens": 3,
            "server_usage": {"prompt_tokens": 24, "completion_tokens": 3},
            "chunk_times": [1000.04, 1000.05, 1000.07],
            "output_token_times": [1000.04, 1000.05, 1000.07],
        },
        "lora_adapter": "l-1",
        "labels": {"tier": "gold"},
    },
    "computed_metrics": {"time_to_first_token": 0.04},
    "error": None,
}


def stamped(*stamps: float, tokens: tuple[float, ...] | None = None, **more: object) -> Any:
    metrics = {"chunk_times": stamps, "output_token_times": tokens or stamps, **more}
    return {"info": {"response_metrics": metrics}}


def read_records(folder: Path, *records: object) -> Reading:
    path = folder / "run.json"
    path.write_text(json.dumps(records, indent=2))
    return read(InferencePerf(), path)


def one(folder: Path, **changed: object) -> Row:
    (row,) = read_records(folder, RECORD | changed).rows
    return row


def failed(folder: Path, kind: str, response: str) -> Row:
    info = {"request_metrics": {"text": {"input_tokens": 0}}, "response_metrics": None}
    return one(folder, response=response, info=info, error={"error_type": kind, "error_msg": "m"})


def sample(run: str) -> Reading:
    return read(InferencePerf(), RUNS / run / FILE)


def raw(run: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = json.loads(unpacked(RUNS / run / FILE))
    return records


def test_the_columns_of_a_record(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["trace"], row["request_id"], row["vantage"]) == ("run", "gt-1", "client")
    assert row["source"] == f"{row['clock']}:0"
    assert row["ids"] == [("sse_id", "gt-1")]
    assert (row["clock_kind"], row["sent_ns"]) == ("monotonic", 1_000_000 * MS)
    assert times(row) == [1_000_040 * MS, 1_000_050 * MS, 1_000_070 * MS]
    assert row["stream_close_ns"] == 1_000_100 * MS
    assert (row["status"], row["finish_reason"], row["quality"]) == ("completed", "length", [])
    assert (row["prompt_tokens"], row["output_tokens"]) == (24, 3)
    assert (row["token_count_source"], row["granularity"]) == ("usage", "token")
    assert (row["model"], row["requested_output_tokens"]) == ("gt-model", 8)
    assert dict(row["labels"]) == {"tier": "gold", "lora_adapter": "l-1"}
    assert "secret" not in str(row)


def test_events_without_a_stamp_are_no_marks(tmp_path: Path) -> None:
    # Usage and terminator came, and nobody knows when.
    assert marks(one(tmp_path)) == []


def test_counts_are_read_from_repeated_stamps(tmp_path: Path) -> None:
    tokens = (1000.04, 1000.05, 1000.05, 1000.05, 1000.07)
    row = one(tmp_path, **stamped(1000.04, 1000.05, 1000.07, tokens=tokens))
    assert row["output_tokens"] == 3  # usage in the answer says so
    assert row["token_counts"] is None
    text = ANSWER.replace('"completion_tokens": 3', '"completion_tokens": 5')
    row = one(tmp_path, response=text, **stamped(1000.04, 1000.05, 1000.07, tokens=tokens))
    assert (row["output_tokens"], row["token_counts"]) == (5, [1, 3, 1])


def test_without_usage_the_recount_is_all_there_is(tmp_path: Path) -> None:
    tokens = (1000.04, 1000.05, 1000.05, 1000.07)
    text = ANSWER.replace(USAGE, "")
    row = one(tmp_path, response=text, **stamped(1000.04, 1000.05, 1000.07, tokens=tokens))
    assert (row["output_tokens"], row["token_count_source"]) == (4, "retokenised")
    assert (row["token_counts"], row["quality"]) == ([1, 2, 1], [])


def test_stamps_that_nobody_counted_tokens_for_are_events(tmp_path: Path) -> None:
    row = one(tmp_path, response=ANSWER.replace(USAGE, ""), computed_metrics=None)
    assert (row["output_tokens"], row["token_count_source"]) == (3, "events")
    assert row["quality"] == ["tokens_are_events"]


def test_an_event_without_text_is_a_token_and_no_delivery(tmp_path: Path) -> None:
    # Usage counts the end-of-text token of the finish event, which has no stamp.
    text = event("a") + event("b") + event("", finish_reason="stop") + USAGE
    row = one(tmp_path, response=text, **stamped(1000.04, 1000.05))
    assert (row["output_tokens"], row["gaps_ns"]) == (3, [10 * MS])
    assert (row["token_counts"], row["quality"]) == (None, ["count_mismatch"])
    assert row["finish_reason"] == "stop"


def chat(**delta: object) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n"


def test_reasoning_has_no_stamps_so_the_first_tokens_are_lost(tmp_path: Path) -> None:
    text = chat(role="assistant", content="") + chat(reasoning_content="hm") + chat(content="a")
    row = one(tmp_path, response=text + chat(content="b"), **stamped(1000.05, 1000.07))
    assert times(row) == [1_000_050 * MS, 1_000_070 * MS]
    assert row["first_answer_ns"] == 1_000_050 * MS
    assert {"events_lost", "first_events_lost"} <= set(row["quality"])


def test_a_tool_call_at_the_end_is_lost(tmp_path: Path) -> None:
    call = chat(tool_calls=[{"function": {"name": "f", "arguments": ""}}])
    row = one(tmp_path, response=chat(content="a") + call, **stamped(1000.05))
    assert times(row) == [1_000_050 * MS]
    assert "events_lost" in row["quality"]
    assert "first_events_lost" not in row["quality"]


def test_choices_share_the_list_of_stamps(tmp_path: Path) -> None:
    text = event("a") + event("x", index=1) + event("b") + event("y", index=1)
    first, second = read_records(
        tmp_path, RECORD | {"response": text, **stamped(1000.04, 1000.05, 1000.06, 1000.08)}
    ).rows
    assert (first["request_id"], first["choice"]) == ("gt-1", 0)
    assert (second["request_id"], second["choice"]) == ("gt-1", 1)
    assert first["gaps_ns"] == [20 * MS]
    assert second["gaps_ns"] == [30 * MS]


@pytest.mark.parametrize(
    ("kind", "response", "status", "error_kind"),
    [
        ("HTTP Error 500", '{"error": {"type": "x"}}', "failed", "http_500"),
        ("HTTP Error 429", '{"error": {"type": "x"}}', "rejected", "http_429"),
        ("HTTP Error 503", "busy", "rejected", "http_503"),
        ("ClientConnectorError", "", "failed", "ClientConnectorError"),
        ("TimeoutError", "", "timed_out", "TimeoutError"),
    ],
)
def test_a_request_that_got_no_answer(
    tmp_path: Path, kind: str, response: str, status: str, error_kind: str
) -> None:
    row = failed(tmp_path, kind, response)
    assert (row["status"], row["error_kind"]) == (status, error_kind)
    assert (row["gaps_ns"], row["prompt_tokens"], row["quality"]) == ([], None, [])
    assert (row["request_id"], row["stream_close_ns"]) == ("0", 1_000_100 * MS)


def test_a_broken_connection_loses_times_and_keeps_the_count(tmp_path: Path) -> None:
    row = failed(tmp_path, "ClientPayloadError", event("a") + event("b") + 'data: {"id": "gt')
    assert (row["status"], row["error_kind"]) == ("failed", "ClientPayloadError")
    assert (row["request_id"], row["output_tokens"]) == ("gt-1", 2)
    assert (row["first_token_ns"], row["gaps_ns"]) == (None, None)
    assert row["quality"] == ["events_lost"]


def test_a_connection_that_broke_after_the_role_had_no_token(tmp_path: Path) -> None:
    row = failed(tmp_path, "ClientPayloadError", chat(role="assistant", content=""))
    assert (row["gaps_ns"], row["output_tokens"], row["quality"]) == ([], 0, [])


def test_an_answer_that_could_not_be_read_may_have_had_tokens(tmp_path: Path) -> None:
    row = failed(tmp_path, "OSError", "Failed to read response text: x")
    assert (row["gaps_ns"], row["quality"]) == (None, ["events_lost"])


def test_an_error_inside_an_answer_is_a_failure_whatever_the_tool_says(tmp_path: Path) -> None:
    text = event("a") + event("b") + 'data: {"error": {"message": "secret", "type": "t"}}\n\n'
    row = one(tmp_path, response=text, **stamped(1000.04, 1000.05))
    assert (row["status"], row["error_kind"]) == ("failed", "in_band_error")
    assert row["gaps_ns"] == [10 * MS]
    assert "secret" not in str(row)


def test_an_answer_without_an_end_was_cut(tmp_path: Path) -> None:
    assert one(tmp_path, response=event("a"), **stamped(1000.04))["status"] == "truncated"


def test_a_body_is_one_delivery_at_the_end(tmp_path: Path) -> None:
    choices = [{"index": 0, "text": "all", "finish_reason": "stop"}]
    body = json.dumps({"choices": choices, "usage": {"completion_tokens": 12}})
    info = {"response_metrics": {"output_tokens": 12}, "request_metrics": {"text": {}}}
    row = one(tmp_path, response=body, info=info)
    assert (times(row), row["output_tokens"]) == ([1_000_100 * MS], 12)
    assert (row["status"], row["quality"]) == ("completed", ["not_streamed"])


@pytest.mark.parametrize(
    "response",
    [
        None,
        'event: content_block_delta\ndata: {"type": "content_block_delta"}\n\n',
        event("a") + event("b"),
        event("a") + event("b") + event("c") + event("d"),
    ],
)
def test_stamps_that_do_not_fit_the_text_stand_alone(tmp_path: Path, response: object) -> None:
    # Three stamps: the tool's word is all there is, also for the end.
    row = one(tmp_path, response=response)
    assert (row["gaps_ns"], row["output_tokens"]) == ([10 * MS, 20 * MS], 3)
    assert (row["status"], row["token_count_source"]) == ("completed", "usage")
    assert (row["request_id"], row["quality"]) == ("0", ["end_not_seen"])


def test_an_id_that_a_server_repeats_names_one_request(tmp_path: Path) -> None:
    rows = read_records(tmp_path, RECORD, RECORD).rows
    assert [row["request_id"] for row in rows] == ["gt-1", "gt-1#1"]


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"start_time": "1000"}, "start_time", None),
        ({"start_time": None}, "start_time", None),
        ({"start_time": 1e300}, "start_time", "1e+300"),
        ({"end_time": -1e300}, "end_time", "-1e+300"),
        (stamped(1e300), "info.response_metrics.chunk_times", "1e+300"),
        (
            {"info": {"response_metrics": {"chunk_times": [1000.04, None]}}},
            "info.response_metrics.chunk_times[1]",
            None,
        ),
        ({"response": 7}, "response", None),
        ({"error": {"error_type": 500}}, "error.error_type", None),
    ],
)
def test_a_record_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, changed: dict[str, object], field: str, value: str | None
) -> None:
    reading = read_records(tmp_path, RECORD, RECORD | changed, 7, RECORD)
    assert [row["source"][-2:] for row in reading.rows] == [":0", ":3"]
    bad, worse = reading.intake.rejects
    assert (bad.line, bad.field, bad.value) == (1, field, value)
    assert worse.line == 2


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(f'[{json.dumps(RECORD)[:-1]}, "start_time": 2.0}}]')
    (reject,) = read(InferencePerf(), path).intake.rejects
    assert reject.reason == 'key "start_time" appears twice'


@pytest.mark.parametrize("text", ["", "[{}", '{"start_time": 1}', "[1] x"])
def test_what_is_no_array_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"run\.json: .*expected inference-perf's array"):
        read(InferencePerf(), path)


def test_it_is_recognised_by_its_first_keys_however_long_the_prompt() -> None:
    long = RECORD | {"request": json.dumps({"prompt": 'a "b" ' * 20_000})}
    assert InferencePerf().sniff(Head(json.dumps([long], indent=2).encode()[:65_536])).matches
    assert "a JSON array" in InferencePerf().sniff(Head(json.dumps(RECORD).encode())).missing
    assert "request" in InferencePerf().sniff(Head(b'[{"start_time": 1, "end_time": 2}]')).missing


# Against what the server did: medians of reported less true TTFT, TPOT and worst gap in ms as the
# formats' description gives them, and hidden stalls (a gap over 35 ms, with 3 tokens per event
# 50 ms) in truth and file. The one too many is a pause of the client.
TABLE = {
    "single_completion": (40, 3.7, 0.007, 0.03, 6, 6),
    "multi3_completion": (30, 2.1, 0.002, -0.10, 4, 5),
    "roleusage_completion": (24, 1.0, -0.001, 0.05, 3, 3),
    "faults_completion": (20, 1.3, 0.008, -0.06, 3, 3),
}


def pairs(run: str) -> list[tuple[Row, Truth]]:
    truth = by_sse_id(RUNS / run / "truth.jsonl.gz")
    return [(row, truth[row["request_id"]]) for row in sample(run).rows if row["ids"]]


@pytest.mark.parametrize("run", TABLE)
def test_the_runs_are_as_far_from_the_truth_as_was_measured_apart(run: str) -> None:
    completed, ttft, tpot, worst_gap, hidden, reported = TABLE[run]
    found = errors(pairs(run), (50 if run.startswith("multi3") else 35) * MS)
    assert len(found.ttft) == completed
    assert found.medians(1)[0] == ttft
    assert found.medians(3)[1] == tpot
    assert found.medians(3)[2] == pytest.approx(worst_gap, abs=0.006)
    assert (len(found.truly_hidden), len(found.hidden)) == (hidden, reported)
    assert found.truly_hidden <= found.hidden


def test_how_the_requests_of_the_faulty_run_ended() -> None:
    # req % 8 is 2: HTTP 500; 4: HTTP 429; 6: connection reset; 7: error object inside the answer.
    reading = sample("faults_completion")
    assert reading.by_status() == {"completed": 20, "failed": 15, "rejected": 5}
    kinds = [row["error_kind"] for row in reading.rows]
    expected = {None: 20, "http_500": 5, "http_429": 5, "ClientPayloadError": 5, "in_band_error": 5}
    assert {kind: kinds.count(kind) for kind in expected} == expected


def test_failed_streams_hold_the_tokens_that_the_server_sent() -> None:
    for row, truth in pairs("faults_completion"):
        assert row["output_tokens"] == truth.tokens
        if truth.outcome == "sse_error":
            assert len(times(row)) == truth.tokens
        elif truth.outcome == "abort":
            assert row["gaps_ns"] is None


@pytest.mark.parametrize("run", TABLE)
def test_every_time_is_the_files_own_rounded_once(run: str) -> None:
    for row, record in zip(sample(run).rows, raw(run), strict=True):
        assert row["sent_ns"] == round(Fraction(record["start_time"]) * 10**9)
        if times(row):
            stamps = record["info"]["response_metrics"]["chunk_times"]
            assert times(row) == [round(Fraction(stamp) * 10**9) for stamp in stamps]


def test_counts_of_three_tokens_per_event() -> None:
    # Token 0 came alone, then three at a time.
    for row, truth in pairs("multi3_completion"):
        rest = truth.tokens - 1
        assert row["token_counts"] == [1] + [3] * (rest // 3) + [rest % 3] * (rest % 3 > 0)
        assert sum(row["token_counts"]) == row["output_tokens"] == truth.tokens
