import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.adapters.client_truth import truths
from tests.adapters.reading import SAMPLES, Reading, Row, read, unpacked
from tokengap.adapters.formats.llmperf.responses import LlmPerf
from tokengap.adapters.interface import Head
from tokengap.errors import InputError

MS = 1_000_000
LLMPERF = SAMPLES / "llmperf"
SINGLE = LLMPERF / "single_chat" / "gt-model_150_24_individual_responses.json"
LEADERBOARD = {name: LLMPERF / "leaderboard_2023" / f"{name}_70b_individual_responses.json.gz"
               for name in ("anyscale", "bedrock", "groq")}  # fmt: skip

RECORD: dict[str, Any] = {
    "error_code": None,
    "error_msg": "",
    "inter_token_latency_s": 0.012,
    "ttft_s": 0.045,
    "end_to_end_latency_s": 0.231,
    "request_output_throughput_token_per_s": 77.9,
    "number_total_tokens": 176,
    "number_output_tokens": 18,
    "number_input_tokens": 158,
}
FAILED = RECORD | {
    "error_code": 500,
    "inter_token_latency_s": 0,
    "ttft_s": 0,
    "end_to_end_latency_s": 0,
    "number_output_tokens": 1,
}


def read_array(folder: Path, records: object) -> Reading:
    path = folder / "x_individual_responses.json"
    path.write_text(json.dumps(records, indent=4))
    return read(LlmPerf(), path)


def one(folder: Path, **changed: object) -> Row:
    (row,) = read_array(folder, [RECORD | changed]).rows
    return row


def test_the_columns_of_a_row(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["granularity"], row["gaps_ns"], row["request_id"]) == ("aggregate", None, "0")
    assert (row["sent_ns"], row["first_token_ns"], row["stream_close_ns"]) == (0, 45 * MS, 231 * MS)
    assert (row["prompt_tokens"], row["output_tokens"]) == (158, 18)
    assert (row["token_count_source"], row["status"]) == ("retokenised", "completed")
    assert row["quality"] == ["end_not_seen"]
    assert row["source"] == row["clock"]
    assert {(r["metric"], r["value_ns"]) for r in row["reported"]} == {
        ("tpot", 12 * MS), ("e2e", 231 * MS),
    }  # fmt: skip


def test_one_file_of_few_requests_does_not_say_when_the_last_token_came(tmp_path: Path) -> None:
    assert one(tmp_path)["last_token_ns"] is None


def test_the_zeros_of_a_failed_request_are_no_measurements(tmp_path: Path) -> None:
    row = read_array(tmp_path, [FAILED]).rows[0]
    assert (row["status"], row["error_kind"]) == ("failed", "error_code 500")
    assert (row["first_token_ns"], row["stream_close_ns"], row["reported"]) == (None, None, None)
    assert (row["gaps_ns"], row["output_tokens"]) == ([], 0)
    assert row["quality"] == ["sentinel_dropped"]


@pytest.mark.parametrize(
    ("code", "status"), [(429, "rejected"), (503, "rejected"), (-1, "failed"), ("quota", "failed")]
)
def test_how_a_request_failed(tmp_path: Path, code: int | str, status: str) -> None:
    row = read_array(tmp_path, [FAILED | {"error_code": code}]).rows[0]
    assert (row["status"], row["error_kind"]) == (status, f"error_code {code}")


def test_an_answer_that_was_not_streamed_has_no_first_token(tmp_path: Path) -> None:
    row = one(tmp_path, ttft_s=-1)
    assert (row["first_token_ns"], row["last_token_ns"]) == (None, None)
    assert (row["status"], row["gaps_ns"]) == ("completed", None)
    assert row["quality"] == ["end_not_seen", "sentinel_dropped"]


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"ttft_s": -0.5}, "ttft_s", "-0.5"),
        ({"ttft_s": "0.5"}, "ttft_s", None),
        ({"ttft_s": 1e300}, "ttft_s", "1e+300"),
        ({"ttft_s": 0.5}, "end_to_end_latency_s", "0.231"),
        ({"inter_token_latency_s": [0.1]}, "inter_token_latency_s", None),
        ({"inter_token_latency_s": float("nan")}, "inter_token_latency_s", None),
        ({"number_output_tokens": -1}, "number_output_tokens", None),
    ],
)
def test_a_record_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, changed: dict[str, Any], field: str, value: str | None
) -> None:
    reading = read_array(tmp_path, [RECORD, RECORD | changed, "error_code", RECORD])
    assert [row["request_id"] for row in reading.rows] == ["0", "3"]
    first, second = reading.intake.rejects
    assert (first.line, first.field, first.value) == (1, field, value)
    assert second.line == 2


@pytest.mark.parametrize("document", [{}, RECORD, 7])
def test_what_is_no_array_is_refused(tmp_path: Path, document: object) -> None:
    with pytest.raises(InputError, match=r"expected LLMPerf's array"):
        read_array(tmp_path, document)


def test_an_empty_array_has_no_request(tmp_path: Path) -> None:
    assert read_array(tmp_path, []).rows == []


def test_a_recount_that_merged_tokens_bounds_nothing(tmp_path: Path) -> None:
    # The last of 64 requests ended at 0.256 s of the grid 2^-20, in 31 events; 18 tokens recounted.
    step = 2.0**-20
    total = (round(0.256 / step) // 31 * 31 + 1) * step
    others = [
        RECORD | {"ttft_s": (45001 + 2 * i) * step, "end_to_end_latency_s": 0.25,
                  "inter_token_latency_s": 0.25}
        for i in range(63)
    ]  # fmt: skip
    last = {"ttft_s": 0.25, "inter_token_latency_s": total / 31, "end_to_end_latency_s": 0.2578125}
    row = read_array(tmp_path, [*others, RECORD | last]).rows[-1]
    assert row["last_token_ns"] == round(total * 10**9)
    assert (row["output_tokens"], row["quality"]) == (None, ["count_mismatch", "end_not_seen"])


def test_it_is_recognised_by_its_keys() -> None:
    assert LlmPerf().sniff(Head(json.dumps([RECORD]).encode())).matches
    assert not LlmPerf().sniff(Head(json.dumps([{"ttft_s": 1.0}]).encode())).matches


# Samples. LLMPerf keeps neither an id nor a text: requests are matched by their number of tokens.


def test_the_client_saw_what_the_server_did() -> None:
    rows = read(LlmPerf(), SINGLE).rows
    served = truths(SINGLE.with_name("truth.jsonl.gz"))
    assert len(rows) == 24
    ttft, e2e = [], []
    for row in rows:
        same = [true for true in served if true.tokens == row["output_tokens"]]
        ttft.append(min((row["first_token_ns"] - true.ttft_ns for true in same), key=abs))
        if row["last_token_ns"] is not None:
            e2e.append(min((row["last_token_ns"] - true.e2e_ns for true in same), key=abs))
    assert abs(median(ttft) / MS - 3.5) < 0.5
    assert len(e2e) == 16
    assert all(0 < late_ns < 8 * MS for late_ns in e2e)


def test_what_is_known_of_the_worst_gap_contradicts_no_request() -> None:
    # The mean of all gaps is not longer than the longest of them.
    served = truths(SINGLE.with_name("truth.jsonl.gz"))
    for row in read(LlmPerf(), SINGLE).rows:
        if row["last_token_ns"] is not None:
            mean_ns = (row["last_token_ns"] - row["first_token_ns"]) / (row["output_tokens"] - 1)
            same = [true for true in served if true.tokens == row["output_tokens"]]
            assert 9 * MS < mean_ns < min(true.worst_gap_ns for true in same)


def test_tokens_that_were_too_few_are_the_tools_own_failure() -> None:
    # 49 of 150 rows: they have times, and their mean was never divided, so it is the total.
    rows = read(LlmPerf(), LEADERBOARD["bedrock"]).rows
    records = json.loads(unpacked(LEADERBOARD["bedrock"]))
    failed = [row for row in rows if row["error_kind"] == "error_code -100"]
    assert (len(failed), {row["status"] for row in failed}) == (49, {"failed"})
    for row in failed:
        record = records[int(row["request_id"])]
        assert row["last_token_ns"] == round(record["inter_token_latency_s"] * 10**9)
        assert row["first_token_ns"] < row["last_token_ns"] < row["stream_close_ns"]
        assert (row["output_tokens"], row["reported"]) == (record["number_output_tokens"], None)


@pytest.mark.parametrize("name", LEADERBOARD)
def test_a_last_token_is_a_whole_number_of_means_within_the_answer(name: str) -> None:
    records = json.loads(unpacked(LEADERBOARD[name]))
    rows = read(LlmPerf(), LEADERBOARD[name]).rows
    known = [row for row in rows if row["last_token_ns"] is not None]
    assert len(rows) == 150
    assert known
    for row in known:
        mean_ns = records[int(row["request_id"])]["inter_token_latency_s"] * 10**9
        events = round(row["last_token_ns"] / mean_ns)
        assert abs(row["last_token_ns"] - events * mean_ns) < 1
        assert row["first_token_ns"] <= row["last_token_ns"] <= row["stream_close_ns"]
