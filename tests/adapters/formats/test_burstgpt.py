"""BurstGPT's releases differ in their columns, and a response of 0 tokens is a failure."""

from pathlib import Path

import pytest

from tests.adapters.reading import SAMPLES, Reading, read
from tokengap.adapters.formats.burstgpt import FORMULA, BurstGpt
from tokengap.adapters.interface import Head

OLD = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
NEW = (
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
)
SECOND = 10**9


def read_text(folder: Path, text: str) -> Reading:
    path = folder / "BurstGPT.csv"
    path.write_text(text, "utf-8")
    return read(BurstGpt(), path)


def test_first_release(tmp_path: Path) -> None:
    (row,) = read_text(tmp_path, OLD + "5,ChatGPT,472,18,490,Conversation log\n").rows
    assert row["arrival_ns"] == 5 * SECOND
    assert (row["prompt_tokens"], row["output_tokens"], row["model"]) == (472, 18, "ChatGPT")
    assert row["labels"] == [("log_type", "Conversation log")]
    assert (row["status"], row["reported"], row["clock_kind"]) == ("completed", None, "monotonic")
    assert (row["request_id"], row["granularity"]) == ("2", "workload")


def test_third_release_has_sessions_and_how_long_the_whole_answer_took(tmp_path: Path) -> None:
    text = "19440110.0,1722ac82,43,GPT-4,906,446,1352,Conversation log\n,,,,,,,\n"
    reading = read_text(tmp_path, NEW + text)
    (row,) = reading.rows
    assert row["arrival_ns"] == 19_440_110 * SECOND
    assert row["labels"] == [("log_type", "Conversation log"), ("session", "1722ac82")]
    assert row["reported"] == [{"metric": "e2e", "value_ns": 43 * SECOND, "formula": FORMULA}]
    assert [reject.line for reject in reading.intake.rejects] == [3]


def test_a_response_of_no_tokens_is_a_failed_request(tmp_path: Path) -> None:
    text = "120.5,,2,GPT-4,300,0,300,API log\n121,,1,GPT-4,0,0,0,API log\n"
    failed, uncounted = read_text(tmp_path, NEW + text).rows
    assert [row["status"] for row in (failed, uncounted)] == ["failed", "failed"]
    assert failed["arrival_ns"] == 120_500_000_000
    assert (failed["prompt_tokens"], failed["output_tokens"]) == (300, 0)
    assert (failed["reported"], failed["quality"]) == (None, [])
    assert failed["labels"] == [("log_type", "API log")]
    assert (uncounted["prompt_tokens"], uncounted["quality"]) == (None, ["sentinel_dropped"])


@pytest.mark.parametrize(
    ("cells", "field"),
    [
        ("x,s,1,GPT-4,1,2,3,API log", "Timestamp"),
        ("1,s,soon,GPT-4,1,2,3,API log", "Elapsed time"),
        ("1,s,-1,GPT-4,1,2,3,API log", "Elapsed time"),
        ("1,s,1,GPT-4,1.5,2,3,API log", "Request tokens"),
        ("1,s,1,GPT-4,1,,3,API log", "Response tokens"),
    ],
)
def test_a_row_that_cannot_be_used_is_rejected(tmp_path: Path, cells: str, field: str) -> None:
    reading = read_text(tmp_path, f"{NEW}{cells}\n2,s,1,GPT-4,1,2,3,API log\n")
    assert [row["request_id"] for row in reading.rows] == ["3"]
    assert [(r.line, r.field) for r in reading.intake.rejects] == [(2, field)]


def test_both_are_recognised() -> None:
    for head in (OLD, NEW):
        assert BurstGpt().sniff(Head(head.encode())).matches
    azure = b"TIMESTAMP,ContextTokens,GeneratedTokens\n"
    assert not BurstGpt().sniff(Head(azure)).matches


def test_samples() -> None:
    first, third = (read(BurstGpt(), SAMPLES / "burstgpt" / f"burstgpt_{n}_doc.csv") for n in "13")
    assert [row["arrival_ns"] // SECOND for row in first.rows] == [5, 45, 118]
    assert [row["reported"][0]["value_ns"] // SECOND for row in third.rows] == [43, 2, 8, 3]
    assert first.intake.rejects == third.intake.rejects == []
