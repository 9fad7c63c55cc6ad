"""Both formats of `benchmark_serving` results, by what the two have in common."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import Reading, Row, marks, read, times
from tokengap.adapters.formats.trtllm_bench import TrtllmBench
from tokengap.errors import InputError

MS = 1_000_000

# Events at 100, 120, 130 and 140 ms.
ONE: dict[str, Any] = {
    "backend": "openai",
    "model_id": "m",
    "input_lens": [16],
    "output_lens": [4],
    "ttfts": [0.1],
    "itls": [[0.02, 0.01, 0.01]],
    "e2els": [0.15],
    "errors": [""],
}
CHAT = {"backend": "openai-chat"}
ALL = [100 * MS, 120 * MS, 130 * MS, 140 * MS]


def read_run(folder: Path, document: object) -> Reading:
    path = folder / "run.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return read(TrtllmBench(), path)


def one(folder: Path, **changed: object) -> Row:
    (row,) = read_run(folder, ONE | changed).rows
    return row


def test_the_columns_of_a_row(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["trace"], row["request_id"], row["sent_ns"]) == ("run", "0", 0)
    assert (row["clock_kind"], row["vantage"], row["status"]) == (
        "monotonic",
        "client",
        "completed",
    )
    assert (row["model"], row["labels"]) == ("m", [("backend", "openai")])
    assert (row["prompt_tokens"], row["output_tokens"]) == (16, 4)
    assert (row["token_count_source"], row["granularity"]) == ("usage", "token")
    assert (times(row), row["stream_close_ns"]) == (ALL, 150 * MS)
    assert (row["quality"], row["reported"], marks(row)) == (["end_not_seen"], None, [])
    assert row["source"] == row["clock"]


def test_without_latencies_the_end_is_not_known(tmp_path: Path) -> None:
    document = {name: values for name, values in ONE.items() if name != "e2els"}
    (row,) = read_run(tmp_path, document).rows
    assert (times(row), row["stream_close_ns"]) == (ALL, None)


def test_fewer_events_than_tokens_leave_the_split_open(tmp_path: Path) -> None:
    row = one(tmp_path, output_lens=[9])
    assert (times(row), row["output_tokens"], row["token_counts"]) == (ALL, 9, None)
    assert (row["granularity"], "count_mismatch" in row["quality"]) == ("chunk", True)


# More events than tokens: one of them at least carries none.


def test_a_completion_may_end_with_an_event_without_token(tmp_path: Path) -> None:
    # Nothing comes before the first token, so that stands; the last gap may be none between tokens.
    row = one(tmp_path, output_lens=[3])
    assert (times(row), row["output_tokens"]) == (ALL[:3], 3)
    assert row["quality"] == ["count_mismatch", "end_not_seen", "events_lost"]
    assert row["reported"] is None


def test_in_chat_it_may_be_the_role_event_or_the_last(tmp_path: Path) -> None:
    # Only the gap between the two events that hold tokens for sure is left.
    row = one(tmp_path, output_lens=[3], **CHAT)
    assert (times(row), row["output_tokens"]) == (ALL[1:3], 3)
    assert row["quality"] == [
        "count_mismatch", "end_not_seen", "events_lost", "first_events_lost",
    ]  # fmt: skip
    ((tool,),) = [row["reported"]]
    assert (tool["metric"], tool["value_ns"]) == ("ttft", 100 * MS)
    assert marks(row) == []


def test_in_chat_two_of_them_are_the_role_and_the_end(tmp_path: Path) -> None:
    row = one(tmp_path, output_lens=[2], **CHAT)
    assert (times(row), row["granularity"]) == (ALL[1:3], "token")
    assert row["quality"] == ["end_not_seen"]
    assert row["marks"] == [
        {"kind": "role", "t_ns": 100 * MS}, {"kind": "finish", "t_ns": 140 * MS},
    ]  # fmt: skip


@pytest.mark.parametrize("changed", [CHAT, {"backend": "vllm", "endpoint_type": "openai-chat"}])
def test_three_of_them_are_more_than_is_known(tmp_path: Path, changed: dict[str, str]) -> None:
    row = one(tmp_path, output_lens=[1], **changed)
    assert times(row) == ALL[1:3]
    assert {"count_mismatch", "events_lost", "first_events_lost"} < set(row["quality"])


@pytest.mark.parametrize(("backend", "n"), [("openai", 1), ("openai-chat", 1), ("openai-chat", 2)])
def test_answers_of_one_or_two_events(tmp_path: Path, backend: str, n: int) -> None:
    itls = [[0.02] * (n - 1)]
    row = one(tmp_path, backend=backend, itls=itls, output_lens=[0])
    assert (row["first_token_ns"], row["gaps_ns"]) == (None, [])


# Failures, and answers that were not streamed.


def test_a_failed_row_is_not_a_sample_of_zero(tmp_path: Path) -> None:
    zeros = {"ttfts": [0.0], "itls": [[]], "e2els": [0.0], "output_lens": [0]}
    row = one(tmp_path, errors=["Bad Request"], **zeros)
    assert (row["status"], row["error_kind"]) == ("failed", "Bad Request")
    assert (row["first_token_ns"], row["gaps_ns"], row["stream_close_ns"]) == (None, [], None)
    assert row["quality"] == ["sentinel_dropped"]


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        ("Too Many Requests", "rejected", "Too Many Requests"),
        ("Service Unavailable", "rejected", "Service Unavailable"),
        ("Traceback ...\naiohttp.x.ClientPayloadError: cut\n", "failed", "ClientPayloadError"),
        ("Traceback ...\nasyncio.exceptions.TimeoutError\n", "timed_out", "TimeoutError"),
        ("", "failed", "no_first_token"),
    ],
)
def test_how_a_request_ended(tmp_path: Path, error: str, status: str, kind: str) -> None:
    row = one(tmp_path, errors=[error], ttfts=[0.0], itls=[[]], output_lens=[0])
    assert (row["status"], row["error_kind"]) == (status, kind)


@pytest.mark.parametrize(("changed", "kept", "lost"), [({}, ALL, False), (CHAT, ALL[1:], True)])
def test_what_came_before_a_failure_is_kept(
    tmp_path: Path, changed: dict[str, str], kept: list[int], *, lost: bool
) -> None:
    error = {"errors": ["Traceback ...\nx.ClientPayloadError: cut"]}
    row = one(tmp_path, output_lens=[0], e2els=[0.0], **error, **changed)
    assert (times(row), row["token_count_source"], row["stream_close_ns"]) == (kept, "events", None)
    assert ("first_events_lost" in row["quality"]) == lost


def test_an_answer_that_was_not_streamed_is_one_delivery(tmp_path: Path) -> None:
    row = one(tmp_path, ttfts=[-1], itls=[[]], output_lens=[16])
    assert (times(row), row["output_tokens"]) == ([150 * MS], 16)
    assert row["quality"] == ["end_not_seen", "not_streamed", "sentinel_dropped"]


def test_tokens_without_any_time_are_only_counted(tmp_path: Path) -> None:
    row = one(tmp_path, ttfts=[0.0], itls=[[]], output_lens=[16])
    assert (row["status"], row["granularity"], row["gaps_ns"]) == ("completed", "aggregate", None)
    assert row["output_tokens"] == 16


def test_a_run_may_have_no_request(tmp_path: Path) -> None:
    empty = {name: [] if isinstance(value, list) else value for name, value in ONE.items()}
    assert read_run(tmp_path, empty).rows == []


# What cannot be used.


def test_a_request_that_cannot_be_used_is_rejected_alone(tmp_path: Path) -> None:
    two = {name: values * 2 if isinstance(values, list) else values for name, values in ONE.items()}
    reading = read_run(tmp_path, two | {"ttfts": [-0.5, 0.1]})
    assert [row["request_id"] for row in reading.rows] == ["1"]
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field, reject.value) == (0, "ttfts", "-0.5")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({n: v for n, v in ONE.items() if n != "itls"}, r"itls missing.*--save-detailed"),
        (ONE | {"itls": []}, r"unequal length \(.*ttfts 1, itls 0"),
        (ONE | {"errors": "none"}, r"errors: an array with one entry per request"),
        ("[]", r"not a JSON object; expected one JSON object of one run"),
        ("{", r"not JSON: .*expected one JSON object of one run"),
        ('{"ttfts": [], "ttfts": []}', r'key "ttfts" appears twice'),
    ],
)
def test_what_is_no_run_is_refused(tmp_path: Path, document: object, message: str) -> None:
    with pytest.raises(InputError, match=rf"run\.json: .*{message}"):
        read_run(tmp_path, document)


def test_numbers_that_are_not_finite_do_no_harm_where_nothing_is_measured(tmp_path: Path) -> None:
    text = json.dumps({"std_ttft_ms": float("nan"), "request_rate": float("inf")} | ONE)
    assert times(read_run(tmp_path, text).rows[0]) == ALL
