"""Mooncake's traces: milliseconds, lengths, and nothing of the prompts."""

from pathlib import Path

import pytest

from tests.adapters.reading import SAMPLES, Reading, read, read_lines, records
from tokengap.adapters.formats.mooncake import Mooncake
from tokengap.adapters.interface import Head

LINE = {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}
SAMPLE = SAMPLES / "mooncake" / "conversation_trace_first400.jsonl.gz"


def read_one(folder: Path, **changed: object) -> Reading:
    return read_lines(Mooncake(), folder, [LINE | changed])


def test_the_columns_of_a_row(tmp_path: Path) -> None:
    (row,) = read_one(tmp_path).rows
    assert row["arrival_ns"] == 27_482_000_000
    assert (row["prompt_tokens"], row["output_tokens"]) == (6955, 52)
    assert (row["request_id"], row["granularity"], row["labels"]) == ("1", "workload", [])
    assert (row["clock_kind"], row["token_count_source"]) == ("monotonic", "usage")


def test_a_fraction_of_a_millisecond_and_a_session_are_kept(tmp_path: Path) -> None:
    (row,) = read_one(tmp_path, timestamp=0.5, session_id="a").rows
    assert (row["arrival_ns"], row["labels"]) == (500_000, [("session", "a")])


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"timestamp": "27482"}, "timestamp"),
        ({"timestamp": 1e300}, "timestamp"),
        ({"input_length": -1}, "input_length"),
        ({"output_length": 1.5}, "output_length"),
    ],
)
def test_a_bad_line_is_rejected(tmp_path: Path, changed: dict[str, object], field: str) -> None:
    reading = read_lines(Mooncake(), tmp_path, [LINE | changed, LINE])
    assert [row["request_id"] for row in reading.rows] == ["2"]
    assert [(r.line, r.field) for r in reading.intake.rejects] == [(1, field)]


def test_seconds_of_another_data_set_are_not_taken_for_milliseconds() -> None:
    line = b'{"timestamp": 1, "input_length": 2, "output_length": 3, "hash_ids": []'
    assert Mooncake().sniff(Head(line + b"}\n")).matches
    qwen = line + b', "chat_id": 1, "parent_chat_id": -1}\n'
    assert Mooncake().sniff(Head(qwen)).missing == ("lines without chat_id",)


def test_sample() -> None:
    reading = read(Mooncake(), SAMPLE)
    assert reading.intake.rejects == []
    logged = records(SAMPLE)
    assert len(logged) == len(reading.rows) == 400
    for row, line in zip(reading.rows, logged, strict=True):
        assert row["arrival_ns"] == line["timestamp"] * 10**6
        assert row["prompt_tokens"] == line["input_length"]
        assert row["output_tokens"] == line["output_length"]
        # so that their number is no loss
        assert len(line["hash_ids"]) == -(-line["input_length"] // 512)
