from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Reading, Row, read, read_lines, times
from tokengap.adapters.formats.llamacpp.server import Llamacpp
from tokengap.adapters.interface import Head

MS = 1_000_000
DOC = SAMPLES / "llamacpp" / "timings_doc.json"


def timings(made: int | None, lasted_ms: object, **changed: object) -> dict[str, object]:
    """After a prompt of 40 ms, 8 of its 68 tokens not from the cache."""
    return {
        "cache_n": 60,
        "prompt_n": 8,
        "prompt_ms": 40.0,
        "predicted_n": made,
        "predicted_ms": lasted_ms,
    } | changed


def chunk(answer: str, found: object, finish: str | None = None, index: int = 0) -> dict[str, Any]:
    choice = {"index": index, "delta": {"content": "secret"}, "finish_reason": finish}
    line = {"id": answer, "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    return line if found is None else line | {"timings": found}


def native(found: object, *, stop: bool = False) -> dict[str, Any]:
    return {"content": "secret", "stop": stop, "timings": found}


STREAM = [
    chunk("a", None),
    chunk("a", timings(1, 0.001)),
    chunk("a", timings(2, 12.5)),
    chunk("a", timings(3, 112.5)),
    chunk("a", timings(3, 112.5), "length"),
]


def lines(folder: Path, *found: object) -> Reading:
    return read_lines(Llamacpp(), folder, found)


def one(folder: Path, *found: object) -> Row:
    (row,) = lines(folder, *found).rows
    return row


def test_running_totals_are_gaps_at_the_engine(tmp_path: Path) -> None:
    # 40 ms of prompt, then tokens 0.001, 12.5 and 112.5 ms after the first was made.
    row = one(tmp_path, *STREAM)
    assert times(row) == [40_001_000, 52_500_000, 152_500_000]
    assert row["gaps_ns"] == [12_499_000, 100_000_000]
    assert (row["granularity"], row["output_tokens"]) == ("token", 3)
    assert (row["prompt_tokens"], row["cached_prompt_tokens"]) == (68, 60)
    assert [(s["name"], s["start_ns"], s["end_ns"]) for s in row["stages"]] == [
        ("prefill", 0, 40 * MS)
    ]
    assert (row["vantage"], row["clock_kind"], row["arrival_ns"]) == ("engine", "monotonic", None)
    assert (row["status"], row["finish_reason"], row["quality"]) == ("completed", "length", [])
    assert (row["request_id"], row["model"], dict(row["ids"])) == ("a", "m", {"sse_id": "a"})
    assert "secret" not in str(row)


def test_a_chunk_may_hold_several_tokens(tmp_path: Path) -> None:
    row = one(tmp_path, chunk("a", timings(2, 5.0)), chunk("a", timings(6, 9.0), "stop"))
    assert (row["token_counts"], row["granularity"]) == ([2, 4], "chunk")


def test_totals_told_once_are_first_and_last(tmp_path: Path) -> None:
    # 5 tokens: the first when the prompt was done, the last 100 ms later.
    row = one(tmp_path, chunk("a", timings(5, 100.0, predicted_per_token_ms=20.0), "stop"))
    assert (row["first_token_ns"], row["last_token_ns"]) == (40 * MS, 140 * MS)
    assert (row["gaps_ns"], row["granularity"]) == (None, "aggregate")
    assert [(told["metric"], told["value_ns"]) for told in row["reported"]] == [("tpot", 20 * MS)]


def test_a_usage_chunk_after_the_finish_belongs_to_the_answer(tmp_path: Path) -> None:
    usage = {"id": "a", "choices": [], "timings": timings(3, 112.5)}
    rows = lines(tmp_path, *STREAM, usage, chunk("b", timings(5, 100.0), "stop")).rows
    assert [(row["request_id"], row["output_tokens"]) for row in rows] == [("a", 3), ("b", 5)]


def test_answers_may_be_mixed(tmp_path: Path) -> None:
    other = [
        line | {"id": "b", "timings": timings(index + 1, 7.0 * index)}
        for index, line in enumerate(STREAM[1:])
    ]
    mixed = [line for pair in zip(STREAM, [*other, other[-1]], strict=True) for line in pair]
    rows = {row["request_id"]: row for row in lines(tmp_path, *mixed).rows}
    assert rows["a"]["gaps_ns"] == [12_499_000, 100_000_000]
    assert rows["b"]["gaps_ns"] == [7 * MS] * 3
    assert rows["a"]["clock"] != rows["b"]["clock"]


def test_choices_are_answers_of_their_own(tmp_path: Path) -> None:
    both = [chunk("a", timings(i, 5.0 * i), index=c) for i in (1, 2) for c in (0, 1)]
    rows = lines(tmp_path, *both).rows
    assert [(row["request_id"], row["choice"]) for row in rows] == [("a", 0), ("a", 1)]
    assert [row["gaps_ns"] for row in rows] == [[5 * MS]] * 2


def test_native_chunks_end_with_stop(tmp_path: Path) -> None:
    first = [native(timings(1, 0.5)), native(timings(2, 8.5)), native(timings(2, 8.5), stop=True)]
    second = [native(timings(4, 30.0), stop=True)]
    rows = lines(tmp_path, *first, *second).rows
    assert [(row["request_id"], row["gaps_ns"]) for row in rows] == [("1", [8 * MS]), ("4", None)]
    assert [row["status"] for row in rows] == ["completed"] * 2


def test_a_native_stream_that_was_cut_ends_where_totals_begin_anew(tmp_path: Path) -> None:
    rows = lines(
        tmp_path,
        native(timings(1, 0.5)),
        native(timings(2, 8.5)),
        native(timings(1, 0.5)),
        native(timings(2, 4.5), stop=True),
    ).rows
    assert [(row["status"], row["gaps_ns"]) for row in rows] == [
        ("truncated", [8 * MS]),
        ("completed", [4 * MS]),
    ]


@pytest.mark.parametrize("missing", ["null", "NaN"])
def test_times_that_are_null_or_nan_stay_unknown(tmp_path: Path, missing: str) -> None:
    text = (
        '{"content": "", "stop": true, "timings": {"cache_n": 0, "prompt_n": 8, "prompt_ms": 40.0,'
        f' "predicted_n": 0, "predicted_ms": {missing}, "predicted_per_token_ms": {missing}}}}}'
    )
    row = one(tmp_path, text)
    assert (row["first_token_ns"], row["output_tokens"], row["reported"]) == (None, 0, None)
    assert row["quality"] == ["sentinel_dropped"]


def test_without_a_count_of_cached_tokens_the_prompts_length_is_the_usages(tmp_path: Path) -> None:
    older = timings(5, 100.0)
    del older["cache_n"]
    assert one(tmp_path, chunk("a", older, "stop"))["prompt_tokens"] is None
    usage = {"prompt_tokens": 70, "completion_tokens": 5}
    row = one(tmp_path, chunk("a", older, "stop") | {"usage": usage})
    assert row["prompt_tokens"] == 70


def test_a_clock_that_goes_back_is_kept_and_told(tmp_path: Path) -> None:
    row = one(tmp_path, chunk("a", timings(1, 9.0)), chunk("a", timings(2, 4.0), "stop"))
    assert row["gaps_ns"] == [-5 * MS]
    assert "non_monotonic" in row["quality"]
    row = one(tmp_path, chunk("a", timings(2, -4.0), "stop"))
    assert row["last_token_ns"] - row["first_token_ns"] == -4 * MS
    assert row["quality"] == ["clock_contradiction"]


def test_an_answer_without_timings_is_told(tmp_path: Path) -> None:
    reading = lines(tmp_path, chunk("a", None), chunk("a", None, "stop"), *STREAM[1:])
    assert [row["request_id"] for row in reading.rows] == ["a"]
    reading = lines(tmp_path, chunk("b", None, "stop"), *STREAM)
    assert [(r.line, r.field) for r in reading.intake.rejects] == [(1, "timings")]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (chunk("a", timings(2, "12")), "timings.predicted_ms"),
        (chunk("a", timings(2, 1e300)), "timings.predicted_ms"),
        (
            chunk("a", timings(2, 5.0, predicted_per_token_ms=1e300)),
            "timings.predicted_per_token_ms",
        ),
        (chunk("a", timings(-2, 12.0)), "timings.predicted_n"),
        (chunk("a", timings(2**40, 12.0)), "timings.predicted_n"),
        (chunk("a", timings(0, 0.0)), "predicted_n"),
        ('{"id": "a", "timings": {"prompt_ms": 1, "prompt_ms": 2}}', "prompt_ms"),
        ("oops", None),
    ],
)
def test_a_chunk_that_cannot_be_used_is_lost_to_the_open_answer(
    tmp_path: Path, bad: object, field: str | None
) -> None:
    reading = lines(tmp_path, *STREAM[:2], bad, *STREAM[2:])
    (row,) = reading.rows
    assert row["quality"] == ["events_lost"]
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field) == (3, field)


def test_a_chunk_after_its_answers_end_is_refused(tmp_path: Path) -> None:
    reading = lines(tmp_path, *STREAM, chunk("b", timings(5, 100.0), "stop"), STREAM[-1])
    assert [row["request_id"] for row in reading.rows] == ["a", "b"]
    assert [(r.line, r.field) for r in reading.intake.rejects] == [(7, "id")]


def test_the_documented_chunk() -> None:
    # 236 + 1 prompt tokens in 30.958 ms, then 35 tokens in 661.064 ms.
    (row,) = read(Llamacpp(), DOC).rows
    assert (row["first_token_ns"], row["last_token_ns"]) == (30_958_000, 692_022_000)
    assert (row["prompt_tokens"], row["output_tokens"], row["status"]) == (237, 35, "completed")


def test_answers_without_timings_are_not_taken_for_these() -> None:
    assert not Llamacpp().sniff(Head(b'{"choices": [], "timings": {"a": 1}}')).matches
    assert not Llamacpp().sniff(Head(b'{"log": {"timings": {"prompt_ms": 1}}}')).matches
