import json
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Reading, Row, marks, read, times, unpacked
from tokengap.adapters.formats.vllm_bench import VllmBench
from tokengap.adapters.interface import Head
from tokengap.errors import InputError

MS = 1_000_000
BENCH = SAMPLES / "vllm-bench"

TWO: dict[str, Any] = {
    "duration": 2.0,
    "completed": 1,
    "failed": 1,
    "input_lens": [16, 16],
    "output_lens": [3, 0],
    "ttfts": [0.1, 0.0],
    "itls": [[0.01, 0.01], []],
    "start_times": [5.0, 5.5],
    "errors": ["", "HTTP 500"],
}
ONE: dict[str, Any] = {
    name: values[:1] if isinstance(values, list) else values for name, values in TWO.items()
}


def sample(name: str) -> Reading:
    (path,) = BENCH.glob(f"{name}.json*")
    return read(VllmBench(), path)


def read_run(folder: Path, text: str | dict[str, Any]) -> Reading:
    path = folder / "run.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return read(VllmBench(), path)


def one(folder: Path, **changed: object) -> Row:
    (row,) = read_run(folder, ONE | changed).rows
    return row


def raw(name: str) -> dict[str, Any]:
    (path,) = BENCH.glob(f"{name}.json*")
    document: dict[str, Any] = json.loads(unpacked(path))
    return document


def test_a_failed_row_is_not_a_sample_of_zero(tmp_path: Path) -> None:
    # 0.1 s to the first token, then 10 ms and 10 ms; the second request failed.
    good, bad = read_run(tmp_path, TWO).rows
    assert [good["status"], bad["status"]] == ["completed", "failed"]
    assert good["first_token_ns"] - good["sent_ns"] == 100 * MS
    assert [t - good["sent_ns"] for t in times(good)] == [100 * MS, 110 * MS, 120 * MS]
    assert good["quality"] == ["end_not_seen"]
    assert (bad["first_token_ns"], bad["gaps_ns"], bad["error_kind"]) == (None, [], "HTTP 500")
    assert bad["quality"] == ["sentinel_dropped"]
    assert bad["sent_ns"] == 5_500 * MS


def test_the_columns_of_a_row(tmp_path: Path) -> None:
    row = one(
        tmp_path,
        queue_times=[0.25],
        model_id="tiny",
        endpoint_type="vllm",
        backend="vllm",
        label="a",
    )
    assert (row["request_id"], row["trace"]) == ("0", "run")
    assert row["source"].endswith(":0")
    assert (row["clock_kind"], row["vantage"]) == ("monotonic", "client")
    assert row["source"] == f"{row['clock']}:0"
    assert (row["planned_ns"], row["sent_ns"]) == (4_750 * MS, 5_000 * MS)
    assert (row["prompt_tokens"], row["output_tokens"]) == (16, 3)
    assert (row["token_count_source"], row["granularity"]) == ("usage", "token")
    assert (row["model"], row["labels"]) == ("tiny", [("backend", "vllm"), ("label", "a")])
    unknown = ["stream_close_ns", "finish_reason", "requested_output_tokens", "token_counts"]
    assert [row[name] for name in unknown] == [None] * 4


def test_without_queue_times_nothing_was_planned(tmp_path: Path) -> None:
    assert one(tmp_path)["planned_ns"] is None


def test_chat_starts_with_the_role_event(tmp_path: Path) -> None:
    # Role at 100 ms, tokens at 101, 111 and 131 ms: three gaps in the file, two between tokens.
    row = one(tmp_path, endpoint_type="openai-chat", itls=[[0.001, 0.01, 0.02]])
    assert [t - row["sent_ns"] for t in times(row)] == [101 * MS, 111 * MS, 131 * MS]
    assert row["marks"] == [{"kind": "role", "t_ns": row["sent_ns"] + 100 * MS}]
    assert row["granularity"] == "token"


def test_a_chat_answer_that_never_went_past_its_role_event_has_no_token(tmp_path: Path) -> None:
    row = one(tmp_path, endpoint_type="openai-chat", itls=[[]], output_lens=[0])
    assert (row["first_token_ns"], row["gaps_ns"], row["output_tokens"]) == (None, [], 0)
    assert marks(row) == ["role"]


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        ("Bad Request", "failed", "Bad Request"),
        ("Too Many Requests", "rejected", "Too Many Requests"),
        ("Service Unavailable", "rejected", "Service Unavailable"),
        ("Traceback ...\naiohttp.x.ClientOSError: lost\n", "failed", "ClientOSError"),
        ("Traceback ...\nasyncio.exceptions.TimeoutError\n", "timed_out", "TimeoutError"),
    ],
)
def test_how_a_request_ended(tmp_path: Path, error: str, status: str, kind: str) -> None:
    row = one(tmp_path, errors=[error], ttfts=[0.0], itls=[[]], output_lens=[0])
    assert (row["status"], row["error_kind"]) == (status, kind)


def test_a_row_without_error_and_without_token_did_not_complete(tmp_path: Path) -> None:
    row = one(tmp_path, ttfts=[0.0], itls=[[]], output_lens=[0])
    assert (row["status"], row["error_kind"]) == ("failed", "no_first_token")


def test_fewer_tokens_than_chunks_is_no_usage(tmp_path: Path) -> None:
    row = one(tmp_path, output_lens=[2])
    assert (row["output_tokens"], row["token_count_source"]) == (3, "events")
    assert "count_mismatch" in row["quality"]


def test_more_tokens_than_chunks_leaves_the_split_open(tmp_path: Path) -> None:
    row = one(tmp_path, output_lens=[7])
    assert (row["output_tokens"], row["token_counts"]) == (7, None)
    assert (row["granularity"], "count_mismatch" in row["quality"]) == ("chunk", True)


def test_numbers_that_are_not_finite_do_no_harm_where_nothing_is_measured(tmp_path: Path) -> None:
    text = json.dumps(ONE | {"request_rate": float("inf"), "mean_itl_ms": float("nan")})
    assert "Infinity" in text
    assert "NaN" in text
    (row,) = read_run(tmp_path, text).rows
    assert row["gaps_ns"] == [10 * MS, 10 * MS]


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"ttfts": [-0.1, 0.1]}, "ttfts", "-0.1"),
        ({"ttfts": [float("nan"), 0.1]}, "ttfts", None),
        ({"ttfts": [0.0, 0.1]}, "ttfts", "0.0"),
        ({"ttfts": ["0.1", 0.1]}, "ttfts", None),
        ({"ttfts": [True, 0.1]}, "ttfts", None),
        ({"itls": [[0.01, None], []]}, "itls[1]", None),
        ({"itls": [[0.01, float("inf")], []]}, "itls[1]", None),
        ({"itls": [[1e300], []]}, "itls", None),
        ({"itls": [0.01, []]}, "itls", None),
        ({"start_times": [1e300, 5.5]}, "start_times", "1e+300"),
        (
            {"start_times": [-4e9, 5.5], "queue_times": [4e9, 0.0]},
            "start_times - queue_times",
            "-8000000000000000000",
        ),
        ({"output_lens": [2.5, 0]}, "output_lens", None),
        ({"output_lens": [-1, 0]}, "output_lens", None),
        ({"errors": [None, "HTTP 500"]}, "errors", None),
    ],
)
def test_a_row_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, changed: dict[str, Any], field: str, value: str | None
) -> None:
    reading = read_run(tmp_path, TWO | changed)
    assert [row["request_id"] for row in reading.rows] == ["1"]
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field, reject.value) == (0, field, value)
    assert reject.offset is None


def test_a_file_without_detail_says_how_to_get_it(tmp_path: Path) -> None:
    short = {name: value for name, value in TWO.items() if name not in ("ttfts", "itls")}
    with pytest.raises(InputError, match=r"ttfts, itls missing.*--save-detailed"):
        read_run(tmp_path, short)


def test_arrays_of_unequal_length_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unequal length .*ttfts 2, itls 1"):
        read_run(tmp_path, TWO | {"itls": [[]]})


def test_an_array_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"errors: an array with one entry per request"):
        read_run(tmp_path, TWO | {"errors": "none"})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1, "a": 2}', "{}\nx"])
def test_what_is_no_run_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"run\.json: .*expected one JSON object per run"):
        read_run(tmp_path, text)


def test_runs_appended_to_one_file_are_traces_of_their_own(tmp_path: Path) -> None:
    reading = read_run(tmp_path, json.dumps(ONE) + "\n" + json.dumps(TWO | {"ttfts": [-1, 0.0]}))
    first, second = reading.rows
    assert (first["trace"], first["request_id"]) == ("run.1", "0")
    assert (second["trace"], second["request_id"]) == ("run.2", "1")
    assert first["clock"] != second["clock"]
    assert second["source"].endswith(":2")
    assert [reject.line for reject in reading.intake.rejects] == [1]


def test_it_is_recognised_by_the_keys_before_the_long_arrays() -> None:
    text = json.dumps(ONE)
    assert VllmBench().sniff(Head(text.encode())).matches
    sglang = {"backend": "sglang", "duration": 1.0, "completed": 1, "ttfts": [], "itls": []}
    assert VllmBench().sniff(Head(json.dumps(sglang).encode())).missing[0] == "failed"


# Samples. Printed with one decimal (TPOT) or none (worst gap): sum of gaps / (output_lens - 1) and
# the worst gap of each completed request, medians and maxima over the run, in ms.
TABLE = {
    "bench_burst": (80, 0, 223.1, 425.1, 1338, 3131),
    "bench_chat_low_rate": (50, 0, 6.5, 21.9, 28, 227),
    "bench_engine_killed": (30, 14, 10.5, 14.0, 34, 403),
    "bench_http400": (24, 4, 7.8, 14.0, 35, 215),
    "bench_interferers_mono8192_quiet": (8, 0, 20.4, 421.1, 34, 1208),
    "bench_low_rate": (60, 0, 8.7, 17.4, 50, 230),
    "bench_pd_discard": (50, 0, 10.4, 63.7, 101, 899),
    "bench_pd_forward": (50, 0, 21.4, 67.4, 282, 1068),
    "bench_preempt": (40, 0, 14.3, 20.6, 281, 3372),
    "bench_victims_chunked256": (60, 1, 9.8, 19.0, 96, 1210),
    "bench_victims_mono8192": (60, 0, 13.4, 23.8, 218, 1988),
    "bench_victims_mono8192_quiet": (60, 0, 8.5, 20.7, 83, 1208),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_runs_give_the_figures_worked_out_apart(name: str) -> None:
    rows = sample(name).rows
    requests, failed, tpot, most_tpot, worst, most_worst = TABLE[name]
    done = [row for row in rows if row["status"] == "completed"]
    assert (len(rows), len(rows) - len(done)) == (requests, failed)
    tpots = [sum(row["gaps_ns"]) / (row["output_tokens"] - 1) / MS for row in done]
    worsts = [max(row["gaps_ns"]) / MS for row in done]
    assert (round(median(tpots), 1), round(max(tpots), 1)) == (tpot, most_tpot)
    assert (round(median(worsts)), round(max(worsts))) == (worst, most_worst)


@pytest.mark.parametrize("name", TABLE)
def test_each_gap_is_the_files_own_rounded_by_itself(name: str) -> None:
    document = raw(name)
    skip = 1 if document["endpoint_type"] == "openai-chat" else 0
    for row, itls in zip(sample(name).rows, document["itls"], strict=True):
        assert row["gaps_ns"] == [round(Fraction(gap) * 10**9) for gap in itls[skip:]]


@pytest.mark.parametrize("name", TABLE)
def test_first_to_last_token_is_the_tools_own_latency(name: str) -> None:
    # The tool adds in floating point; its sum may be off by less than a microsecond.
    for row, latency in zip(sample(name).rows, raw(name)["latencies"], strict=True):
        if row["status"] == "completed":
            assert abs(times(row)[-1] - row["sent_ns"] - round(latency * 10**9)) < 1_000


MERGED = {14: 32, 15: 34, 16: 28, 17: 34, 18: 33, 19: 32, 20: 27, 30: 2, 53: 1, 54: 1, 55: 1, 56: 1}


def test_merged_chunks_leave_the_split_open() -> None:
    found = {}
    for row in sample("bench_victims_mono8192").rows:
        events = len(times(row))
        if row["granularity"] != "token":
            found[int(row["request_id"])] = row["output_tokens"] - events
            assert "count_mismatch" in row["quality"]
            assert row["token_counts"] is None
    assert found == MERGED


def test_in_chat_all_but_one_request_have_one_token_per_gap() -> None:
    rows = sample("bench_chat_low_rate").rows
    assert [row["request_id"] for row in rows if row["granularity"] != "token"] == ["32"]
    assert rows[32]["output_tokens"] - len(times(rows[32])) == 5
    assert all(marks(row) == ["role"] for row in rows)


def test_the_failures_of_a_killed_engine() -> None:
    rows = sample("bench_engine_killed").rows
    assert [row["status"] for row in rows[:16]] == ["completed"] * 16
    assert rows[16]["error_kind"].startswith("Never received a valid chunk")
    assert rows[17]["error_kind"] == "Internal Server Error"
    assert {row["error_kind"] for row in rows[18:]} == {"ClientConnectorError"}
    assert all(row["gaps_ns"] == [] and row["first_token_ns"] is None for row in rows[16:])
    # Index 15 was cut and looks whole: 93 events, where the others have 150 tokens.
    assert len(times(rows[15])) == 93
    assert {row["output_tokens"] for row in rows[:15]} == {150}


def test_refused_prompts() -> None:
    rows = sample("bench_http400").rows
    bad = [row["request_id"] for row in rows if row["error_kind"] == "Bad Request"]
    assert bad == ["3", "9", "17", "18"]


def test_two_clients_of_one_host_can_be_laid_side_by_side() -> None:
    # Every gap over 0.5 s of these ends within 2 ms of a long prompt's first token.
    long_prompts = [
        row["first_token_ns"] for row in sample("bench_interferers_mono8192_quiet").rows
    ]
    victims = sample("bench_victims_mono8192_quiet").by_id()
    for request in ("22", "23", "24", "27", "28", "33", "38", "39", "40", "45"):
        row = victims[request]
        stalled = [
            t for t, gap in zip(times(row)[1:], row["gaps_ns"], strict=True) if gap > 500 * MS
        ]
        assert stalled
        assert all(min(abs(t - first) for first in long_prompts) < 2 * MS for t in stalled)
