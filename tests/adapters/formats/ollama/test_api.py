from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Reading, Row, marks, read, read_lines, times
from tokengap.adapters.formats.ollama.api import Ollama
from tokengap.adapters.interface import Head

MS = 1_000_000
# 2026-11-29T11:30:10Z
START_NS = 1_795_951_810 * 1_000_000_000
DOC = SAMPLES / "ollama" / "api_generate_doc.jsonl"


def line(at_ms: int, text: str = "secret", model: str = "m", **changed: object) -> dict[str, Any]:
    created_at = f"2026-11-29T11:30:10.{at_ms:03d}000000Z"
    return {
        "model": model,
        "created_at": created_at,
        "response": text,
        "done": False,
    } | changed


def last(at_ms: int, tokens: int | None = 3, model: str = "m", **changed: object) -> dict[str, Any]:
    return (
        line(
            at_ms,
            "",
            model,
            done=True,
            done_reason="stop",
            total_duration=500 * MS,
            load_duration=20 * MS,
            prompt_eval_count=26,
            prompt_eval_duration=130 * MS,
            eval_count=tokens,
            eval_duration=120 * MS,
        )
        | changed
    )


ANSWER = [line(100), line(110), line(190), last(200)]


def lines(folder: Path, *found: object) -> Reading:
    return read_lines(Ollama(), folder, found)


def one(folder: Path, *found: object) -> Row:
    (row,) = lines(folder, *found).rows
    return row


def told(row: Row) -> dict[str, int]:
    return {entry["metric"]: entry["value_ns"] for entry in row["reported"]}


def test_the_columns_of_a_streamed_answer(tmp_path: Path) -> None:
    row = one(tmp_path, *ANSWER)
    assert times(row) == [START_NS + ms * MS for ms in (100, 110, 190)]
    assert (row["granularity"], row["output_tokens"]) == ("token", 3)
    assert (row["vantage"], row["clock_kind"]) == ("gateway", "wall")
    assert row["stream_close_ns"] == START_NS + 200 * MS
    assert marks(row) == ["finish"]
    assert [(s["name"], s["start_ns"], s["duration_ns"]) for s in row["stages"]] == [
        ("prefill", None, 130 * MS)
    ]
    assert (row["prompt_tokens"], row["model"], row["request_id"]) == (26, "m", "0")
    assert (row["status"], row["finish_reason"], row["quality"]) == ("completed", "stop", [])
    assert "secret" not in str(row)


def test_what_needs_two_clocks_is_reported_and_no_origin_stored(tmp_path: Path) -> None:
    # 500 ms in all, of which the stream's 100 ms came last: 400 ms to the first token.
    row = one(tmp_path, *ANSWER)
    assert row["received_ns"] is None
    assert told(row) == {
        "e2e": 500 * MS,
        "load": 20 * MS,
        "ttft": 400 * MS,
        "tpot": 40 * MS,
    }


def test_a_stream_longer_than_the_request_is_a_clock_that_was_set(tmp_path: Path) -> None:
    row = one(tmp_path, line(100), last(900, 1))
    assert "ttft" not in told(row)
    assert row["quality"] == ["clock_contradiction"]


def test_an_empty_end_is_a_token_where_that_makes_the_count(tmp_path: Path) -> None:
    row = one(tmp_path, *ANSWER[:3], last(200, 4))
    assert (len(times(row)), row["granularity"], marks(row)) == (4, "token", [])
    row = one(tmp_path, *ANSWER[:3], last(200, 9))
    assert (len(times(row)), row["quality"]) == (3, ["count_mismatch"])


def test_digits_and_zones_of_stamps(tmp_path: Path) -> None:
    there = line(0) | {"created_at": "2026-11-29T06:30:10.000000001-05:00"}
    assert one(tmp_path, there, last(5, 1))["first_token_ns"] == START_NS + 1


def test_done_ends_an_answer_and_models_may_be_mixed(tmp_path: Path) -> None:
    other = [line(105, model="n"), line(195, model="n"), last(205, 2, model="n")]
    mixed = [ANSWER[0], other[0], *ANSWER[1:3], other[1], ANSWER[3], other[2]]
    rows = lines(tmp_path, *mixed, *ANSWER).rows
    assert [(row["model"], row["request_id"], row["output_tokens"]) for row in rows] == [
        ("m", "0", 3),
        ("n", "1", 2),
        ("m", "2", 3),
    ]
    assert rows[1]["gaps_ns"] == [90 * MS]


def test_a_chat_answer_that_thinks_first(tmp_path: Path) -> None:
    thought = line(100) | {"response": None, "message": {"thinking": "secret", "content": ""}}
    said = line(150) | {"response": None, "message": {"content": "secret"}}
    called = line(190) | {"response": None, "message": {"tool_calls": [{"function": {}}]}}
    row = one(tmp_path, thought, said, called, last(200))
    assert row["first_answer_ns"] == START_NS + 150 * MS
    assert len(times(row)) == 3
    assert one(tmp_path, *ANSWER)["first_answer_ns"] is None


def test_an_answer_that_came_whole(tmp_path: Path) -> None:
    row = one(tmp_path, last(200) | {"response": "secret"})
    assert times(row) == [START_NS + 200 * MS]
    assert row["quality"] == ["not_streamed"]
    assert "ttft" not in told(row)


def test_an_answer_without_an_end_is_truncated(tmp_path: Path) -> None:
    row = one(tmp_path, *ANSWER[:3])
    assert (row["status"], row["stream_close_ns"], row["reported"]) == ("truncated", None, [])
    assert (row["output_tokens"], row["token_count_source"]) == (3, "events")


def test_an_error_ends_the_one_answer_that_is_open(tmp_path: Path) -> None:
    error = {"error": "secret"}
    row = one(tmp_path, *ANSWER[:2], error)
    assert (row["status"], row["error_kind"]) == ("failed", "in_band_error")
    assert "secret" not in str(row)
    reading = lines(tmp_path, error, *ANSWER)
    assert len(reading.rows) == 1
    assert [(r.line, r.field, r.value) for r in reading.intake.rejects] == [(1, "error", None)]


def test_a_clock_that_goes_back_is_kept_and_told(tmp_path: Path) -> None:
    row = one(tmp_path, line(110), line(100), last(200, 2))
    assert row["gaps_ns"] == [-10 * MS]
    assert row["quality"] == ["non_monotonic"]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (line(120, done_reason="load"), "done_reason"),
        (line(120) | {"created_at": None}, "created_at"),
        (line(120) | {"created_at": "2026-11-29T11:30:10"}, "created_at"),
        (line(120) | {"created_at": 5}, "created_at"),
        (line(120) | {"done": "no"}, "done"),
        (line(120, eval_count=-1), "eval_count"),
        (line(120, eval_count=2**64), None),
        ('{"done": true, "done": false}', "done"),
    ],
)
def test_a_line_that_cannot_be_used_is_lost_to_the_open_answer(
    tmp_path: Path, bad: object, field: str | None
) -> None:
    reading = lines(tmp_path, *ANSWER[:1], bad, *ANSWER[1:])
    (row,) = reading.rows
    assert (len(times(row)), row["quality"]) == (3, ["events_lost"])
    (reject,) = reading.intake.rejects
    assert reject.line == 2
    assert field is None or reject.field == field


@pytest.mark.parametrize("duration", ["1", 1.5, 2**62])
def test_an_end_with_a_duration_that_is_none_is_rejected(tmp_path: Path, duration: object) -> None:
    reading = lines(tmp_path, *ANSWER[:3], last(200, eval_duration=duration), *ANSWER)
    assert len(reading.rows) == 1
    assert [(r.line, r.field) for r in reading.intake.rejects] == [(4, "eval_duration")]


def test_only_the_end_has_durations(tmp_path: Path) -> None:
    reading = lines(tmp_path, *ANSWER[:2], line(190, total_duration="1", eval_count=9))
    assert reading.rows[0]["reported"] == []
    assert reading.rows[0]["output_tokens"] == 3
    assert reading.intake.rejects == []


def test_the_documented_lines() -> None:
    # The example's first and last line are hours apart, and its request took 10.7 s.
    (row,) = read(Ollama(), DOC).rows
    assert row["first_token_ns"] == 1_691_164_339_385_406_455
    assert told(row)["tpot"] == round(4_232_710_000 / 259)
    assert row["quality"] == ["clock_contradiction", "count_mismatch"]


def test_other_lines_are_not_taken_for_these() -> None:
    assert not Ollama().sniff(Head(b'{"model": "m", "created_at": 5, "response": "x"}')).matches
