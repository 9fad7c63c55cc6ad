import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.adapters.client_truth import Truth, by_first_word
from tests.adapters.reading import SAMPLES, Reading, Row, read, read_lines, times
from tokengap.adapters.formats.sglang_bench import SglangBench
from tokengap.adapters.interface import Head
from tokengap.errors import InputError

MS = 1_000_000
BENCH = SAMPLES / "sglang-bench"
RUNS = sorted(path.name for path in BENCH.iterdir())

# The first answer came whole; the second request failed.
TWO: dict[str, Any] = {
    "tag": None,
    "backend": "sglang-oai",
    "dataset_name": "random",
    "request_rate": 4.0,
    "sharegpt_output_len": None,
    "completed": 1,
    "total_output_tokens": 3,
    "total_output_tokens_retokenized": 3,
    "request_throughput": 0.5,
    "input_lens": [16, 16],
    "output_lens": [3, 0],
    "ttfts": [0.1, 0.0],
    "itls": [[0.01, 0.02], []],
    "generated_texts": ["a b c", ""],
    "errors": ["", "Internal Server Error: what the server says"],
}
ONE: dict[str, Any] = {
    name: values[:1] if isinstance(values, list) else values for name, values in TWO.items()
}
WITHOUT_DETAIL = {name: values for name, values in TWO.items() if not isinstance(values, list)}


def run(folder: Path, *lines: object) -> Reading:
    return read_lines(SglangBench(), folder, lines)


def one(folder: Path, **changed: object) -> Row:
    (row,) = run(folder, ONE | changed).rows
    return row


def sample(name: str) -> list[tuple[Row, Truth]]:
    """Rows beside what the server did, for the answers that it finished."""
    path = BENCH / name / "bench_serving.jsonl"
    truth = by_first_word(path.with_name("truth.jsonl.gz"))
    words = [text[: len(" w0000")] for text in json.loads(path.read_text())["generated_texts"]]
    rows = read(SglangBench(), path).rows
    pairs = zip(rows, words, strict=True)
    return [(row, truth[word]) for row, word in pairs if word and truth[word].done]


def test_a_failed_row_is_not_a_sample_of_zero(tmp_path: Path) -> None:
    good, bad = run(tmp_path, TWO).rows
    assert times(good) == [100 * MS, 110 * MS, 130 * MS]
    assert (good["status"], good["quality"]) == ("completed", ["end_not_seen"])
    assert (bad["first_token_ns"], bad["gaps_ns"], bad["output_tokens"]) == (None, [], 0)
    assert (bad["status"], bad["error_kind"]) == ("failed", "Internal Server Error")
    assert bad["quality"] == ["sentinel_dropped"]


def test_the_columns_of_a_row(tmp_path: Path) -> None:
    row = one(tmp_path, tag="night")
    assert (row["trace"], row["request_id"], row["sent_ns"]) == ("log", "0", 0)
    assert (row["clock_kind"], row["vantage"]) == ("monotonic", "client")
    assert row["labels"] == [
        ("backend", "sglang-oai"), ("dataset_name", "random"), ("tag", "night"),
    ]  # fmt: skip
    assert (row["prompt_tokens"], row["output_tokens"]) == (16, 3)
    assert (row["token_count_source"], row["granularity"]) == ("usage", "token")
    unknown = ["stream_close_ns", "finish_reason", "model", "requested_output_tokens"]
    assert [row[name] for name in unknown] == [None] * 4


def test_each_request_has_a_clock_of_its_own(tmp_path: Path) -> None:
    reading = run(tmp_path, TWO, TWO)
    clocks = [row["clock"] for row in reading.rows]
    assert len(set(clocks)) == 4
    assert [clock.rsplit(":", 1)[1] for clock in clocks] == ["0", "1", "2", "3"]
    assert clocks == [row["source"] for row in reading.rows]
    assert not reading.intake.clocks


def test_runs_appended_to_one_file_are_traces_of_their_own(tmp_path: Path) -> None:
    rows = run(tmp_path, ONE, "", TWO).rows
    assert [(row["trace"], row["request_id"]) for row in rows] == [
        ("log.1", "0"), ("log.2", "0"), ("log.2", "1"),
    ]  # fmt: skip


def test_an_unlimited_rate_is_written_as_no_json_can_be(tmp_path: Path) -> None:
    line = json.dumps(ONE | {"request_rate": float("inf"), "mean_itl_ms": float("nan")})
    assert "Infinity" in line
    assert times(run(tmp_path, line).rows[0]) == [100 * MS, 110 * MS, 130 * MS]


@pytest.mark.parametrize(
    ("error", "status", "kind", "note"),
    [
        ("Bad Request: {}", "failed", "Bad Request", None),
        ("Too Many Requests: {}", "rejected", "Too Many Requests", None),
        (": the server gave no reason", "failed", None, None),
        (
            "Traceback ...\naiohttp.x.ClientPayloadError: cut\n",
            "failed",
            "ClientPayloadError",
            None,
        ),
        ("Traceback ...\nasyncio.exceptions.TimeoutError\n", "timed_out", "TimeoutError", None),
        ("Traceback ...\nKeyError: 'choices'\n", "failed", "KeyError", "in_band_error"),
    ],
)
def test_how_a_request_ended(
    tmp_path: Path, error: str, status: str, kind: str | None, note: str | None
) -> None:
    row = one(tmp_path, errors=[error], output_lens=[0])
    assert (row["status"], row["error_kind"]) == (status, kind)
    assert ("in_band_error" in row["quality"]) == (note is not None)


def test_what_came_before_a_failure_is_kept(tmp_path: Path) -> None:
    row = one(tmp_path, errors=["Traceback\nx.ClientPayloadError: cut"], output_lens=[0])
    assert times(row) == [100 * MS, 110 * MS, 130 * MS]
    assert (row["output_tokens"], row["token_count_source"]) == (3, "events")


def test_a_success_without_text_has_no_token(tmp_path: Path) -> None:
    row = one(tmp_path, ttfts=[0.0], itls=[[]], output_lens=[128])
    assert (row["status"], row["first_token_ns"], row["gaps_ns"]) == ("completed", None, [])
    assert (row["output_tokens"], row["quality"]) == (0, ["end_not_seen", "sentinel_dropped"])


@pytest.mark.parametrize(
    ("recount", "tokens", "source"), [(7, 7, "usage"), (3, 3, "events"), (None, 3, "events")]
)
def test_a_length_that_may_be_the_requested_one_is_believed_if_a_recount_agrees(
    tmp_path: Path, recount: int | None, tokens: int, source: str
) -> None:
    # Three events and output_lens 7: seven tokens, or a limit of seven that was not reached.
    changed = {"total_output_tokens": 7, "total_output_tokens_retokenized": recount}
    row = one(tmp_path, output_lens=[7], **changed)
    assert (row["output_tokens"], row["token_count_source"]) == (tokens, source)
    assert "count_mismatch" in row["quality"]
    assert ("tokens_are_events" in row["quality"]) == (source == "events")


# `/generate`: the gap before an event is divided by its tokens.


def test_values_that_differ_prove_one_token_per_event(tmp_path: Path) -> None:
    row = one(tmp_path, backend="sglang")
    assert (row["quality"], row["granularity"]) == (["end_not_seen"], "token")


def test_consecutive_values_that_are_equal_to_the_last_bit_are_smeared(tmp_path: Path) -> None:
    # A gap of 60 ms before an event of three tokens. Total and first token are right all the same.
    row = one(tmp_path, backend="sglang", itls=[[0.02, 0.02, 0.02]], output_lens=[4])
    assert (row["quality"], row["granularity"]) == (["end_not_seen", "smeared"], "chunk")
    assert row["gaps_ns"] == [20 * MS] * 3
    assert (row["output_tokens"], row["token_count_source"]) == (4, "usage")


def test_equal_values_of_two_requests_are_no_sign(tmp_path: Path) -> None:
    changed = {"itls": [[0.01, 0.02], [0.02, 0.01]], "ttfts": [0.1, 0.1], "output_lens": [3, 3]}
    rows = run(tmp_path, TWO | changed | {"backend": "sglang", "errors": ["", ""]}).rows
    assert [row["quality"] for row in rows] == [["end_not_seen"]] * 2


def test_the_first_event_holds_the_tokens_that_no_gap_is_listed_for(tmp_path: Path) -> None:
    # Six tokens, two gaps: four tokens came first.
    row = one(tmp_path, backend="sglang", output_lens=[6])
    assert (row["token_counts"], row["token_count_source"]) == ([4, 1, 1], "usage")


@pytest.mark.parametrize(("backend", "smeared"), [("sglang-oai", False), ("new", True)])
def test_only_backends_known_to_list_events_are_trusted(
    tmp_path: Path, backend: str, smeared: bool
) -> None:
    row = one(tmp_path, backend=backend, itls=[[0.02, 0.02]])
    assert ("smeared" in row["quality"]) == smeared


# What cannot be used.


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"ttfts": [-0.1, 0.1]}, "ttfts", "-0.1"),
        ({"ttfts": [0.0, 0.1]}, "ttfts", "0.0"),
        ({"ttfts": ["0.1", 0.1]}, "ttfts", None),
        ({"ttfts": [True, 0.1]}, "ttfts", None),
        ({"itls": [[0.01, None], []]}, "itls[1]", None),
        ({"itls": [[1e300], []]}, "itls", None),
        ({"itls": [0.01, []]}, "itls", None),
        ({"output_lens": [2.5, 0]}, "output_lens", None),
        ({"output_lens": [-1, 0]}, "output_lens", None),
        ({"errors": [None, ""]}, "errors", None),
    ],
)
def test_a_request_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, changed: dict[str, Any], field: str, value: str | None
) -> None:
    reading = run(tmp_path, ONE, TWO | changed)
    assert [row["request_id"] for row in reading.rows] == ["0", "1"]
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field, reject.value) == (1, field, value)
    assert reading.rows[1]["source"].endswith(":2")


def test_a_file_without_detail_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log\.jsonl: .*ttfts, itls.*--output-details"):
        run(tmp_path, WITHOUT_DETAIL, WITHOUT_DETAIL)


def test_a_run_without_detail_among_others_is_rejected_alone(tmp_path: Path) -> None:
    reading = run(tmp_path, WITHOUT_DETAIL, ONE, "{", {"ttfts": []} | ONE | {"errors": []})
    assert [row["trace"] for row in reading.rows] == ["log.2"]
    first, second, third = reading.intake.rejects
    assert (first.line, second.line, third.line) == (1, 3, 4)
    assert "--output-details" in first.reason
    assert "not JSON" in second.reason
    assert "unequal length" in third.reason


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    line = json.dumps(ONE)[:-1] + ', "ttfts": [0.2]}'
    reading = run(tmp_path, line, ONE)
    assert [reject.reason for reject in reading.intake.rejects] == ['key "ttfts" appears twice']


def test_it_is_recognised_without_the_detail() -> None:
    line = json.dumps(WITHOUT_DETAIL | {"request_rate": float("inf")})
    assert SglangBench().sniff(Head(line.encode())).matches


# Samples.


@pytest.mark.parametrize("name", RUNS)
def test_gaps_are_the_files_own_rounded_by_themselves(name: str) -> None:
    path = BENCH / name / "bench_serving.jsonl"
    document = json.loads(path.read_text())
    reading = read(SglangBench(), path)
    assert not reading.intake.rejects
    for row, ttft, itls in zip(reading.rows, document["ttfts"], document["itls"], strict=True):
        assert row["first_token_ns"] == (round(ttft * 10**9) or None)
        assert row["gaps_ns"] == [round(gap * 10**9) for gap in itls]


# Medians over the run, in ms: TTFT, TPOT and worst gap beside the server's own record. They were
# worked out apart, from the raw files.
ERRORS = {
    "oai_single": (40, 4.6, 0.009, 0.004),
    "oai_faults": (20, 2.0, 0.01, -0.03),
    "native_single": (30, 2.2, 0.01, -0.07),
    "native_multi3": (30, 2.3, 0.01, -30.27),
    "chat_multi3": (30, 2.4, 0.009, 0.02),
    "chat_roleusage": (24, 1.9, -0.002, 0.007),
}
DECIMALS = (1, 3, 2)


@pytest.mark.parametrize("name", ERRORS)
def test_the_client_saw_what_the_server_did(name: str) -> None:
    found = sample(name)
    n, *expected = ERRORS[name]
    ttft = [row["first_token_ns"] - true.ttft_ns for row, true in found]
    tpot = [sum(row["gaps_ns"]) / (true.tokens - 1) - true.tpot_ns for row, true in found]
    worst = [max(row["gaps_ns"]) - true.worst_gap_ns for row, true in found]
    assert len(found) == n
    for values, median_ms, decimals in zip((ttft, tpot, worst), expected, DECIMALS, strict=True):
        assert abs(median(values) / MS - median_ms) < 10**-decimals
    assert [row["output_tokens"] for row, _ in found] == [true.tokens for _, true in found]


def test_a_smeared_row_bounds_every_worst_gap_from_below() -> None:
    for row, true in sample("native_multi3"):
        assert "smeared" in row["quality"]
        assert 0 < max(row["gaps_ns"]) < true.worst_gap_ns
        assert abs(sum(row["gaps_ns"]) - (true.e2e_ns - true.ttft_ns)) < 5 * MS


def test_with_one_token_per_event_every_gap_is_proven() -> None:
    for row, true in sample("native_single"):
        assert (row["granularity"], "smeared" in row["quality"]) == ("token", False)
        assert len(row["gaps_ns"]) == len(true.gaps_ns)


def test_hidden_stalls_are_seen_where_each_event_held_one_token() -> None:
    # Mean at most 20 ms a token, one gap over 35 ms. The smeared run keeps one of 16 in sight.
    seen = {}
    for name in ("native_single", "oai_faults", "native_multi3"):
        stalls = [
            (true.worst_gap_ns > 35 * MS, max(row["gaps_ns"]) > 35 * MS)
            for row, true in sample(name)
            if true.tpot_ns <= 20 * MS
        ]
        seen[name] = (sum(there for there, _ in stalls), sum(found for _, found in stalls))
    assert seen == {"native_single": (4, 4), "oai_faults": (3, 3), "native_multi3": (16, 1)}


def test_the_faults() -> None:
    reading = read(SglangBench(), BENCH / "oai_faults" / "bench_serving.jsonl")
    assert reading.by_status() == {"completed": 20, "failed": 15, "rejected": 5}
    broken = [row for row in reading.rows if row["error_kind"] == "ClientPayloadError"]
    in_band = [row for row in reading.rows if "in_band_error" in row["quality"]]
    assert (len(broken), len(in_band)) == (5, 5)
    assert all(row["gaps_ns"] for row in broken + in_band)
