"""Azure's traces keep every digit of an arrival."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.adapters.reading import SAMPLES, Reading, Row, read, unpacked
from tokengap.adapters.formats.azure_llm import AzureLlm
from tokengap.adapters.interface import Head

HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def read_text(folder: Path, text: str) -> Reading:
    path = folder / "trace.csv"
    path.write_text(text, "utf-8")
    return read(AzureLlm(), path)


def one(folder: Path, time: str) -> Row:
    (row,) = read_text(folder, f"{HEAD}{time},4808,10\n").rows
    return row


def test_the_columns_of_a_row(tmp_path: Path) -> None:
    row = one(tmp_path, "2023-11-16 18:17:03.9799600")
    assert row["arrival_ns"] == 1_700_158_623_979_960_000  # 1700158623 s after 1970, in UTC
    assert (row["prompt_tokens"], row["output_tokens"]) == (4808, 10)
    assert (row["granularity"], row["status"]) == ("workload", "completed")
    assert (row["clock_kind"], row["vantage"]) == ("wall", "engine")
    assert (row["trace"], row["request_id"]) == ("trace", "2")
    assert row["source"] == f"{row['clock']}:2"
    unknown = ["first_token_ns", "last_token_ns", "gaps_ns", "sent_ns", "reported", "model"]
    assert [row[name] for name in unknown] == [None] * 6
    assert row["quality"] == []


@pytest.mark.parametrize(
    ("time", "ns"),
    [
        ("2024-05-12 00:00:00.001163+00:00", 1_715_472_000_001_163_000),
        ("2024-05-12 00:00:00+00:00", 1_715_472_000_000_000_000),
        ("2024-10-15T12:00:00.269Z", 1_728_993_600_269_000_000),
    ],
)
def test_later_years_write_times_in_their_own_ways(tmp_path: Path, time: str, ns: int) -> None:
    assert one(tmp_path, time)["arrival_ns"] == ns


def test_a_file_may_write_them_in_two_ways(tmp_path: Path) -> None:
    times = ("2024-05-12 00:00:00.001163+00:00", "2024-05-12 00:00:00+00:00")
    rows = read_text(tmp_path, HEAD + "".join(f"{time},1,2\n" for time in times)).rows
    assert [row["arrival_ns"] % 10**9 for row in rows] == [1_163_000, 0]


def test_images_are_counted_where_there_are_any(tmp_path: Path) -> None:
    head = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
    (row,) = read_text(tmp_path, f"{head}2024-10-15T12:00:05.819Z,1,949,126\n").rows
    assert row["labels"] == [("images", "1")]
    assert row["prompt_tokens"] == 949


def test_a_bad_row_costs_only_itself(tmp_path: Path) -> None:
    reading = read_text(
        tmp_path,
        f"{HEAD}2023-11-16 18:17:03,1,2\nsoon,1,2\n2023-11-16 18:17:04,,2\n"
        "2023-11-16 18:17:05,1,-2\n2023-11-16 18:17:06,1\n2023-11-16 18:17:07,3,4\n",
    )
    assert [row["request_id"] for row in reading.rows] == ["2", "7"]
    assert [(r.line, r.field, r.value) for r in reading.intake.rejects] == [
        (3, "TIMESTAMP", "soon"),
        (4, "ContextTokens", None),
        (5, "GeneratedTokens", "-2"),
        (6, None, None),
    ]


def test_columns_of_other_tables_are_not_taken_for_its_own() -> None:
    assert AzureLlm().sniff(Head(HEAD.encode())).matches
    burst = b"Timestamp,Model,Request tokens,Response tokens\n"
    assert AzureLlm().sniff(Head(burst)).missing[0] == "TIMESTAMP"


@pytest.mark.parametrize(
    ("name", "size"),
    [("AzureLLMInferenceTrace_code", 8819), ("AzureLLMInferenceTrace_conv_first2000", 2000)],
)
def test_samples_are_read_whole(name: str, size: int) -> None:
    path = SAMPLES / "azure-llm" / f"{name}.csv.gz"
    reading = read(AzureLlm(), path)
    assert (len(reading.rows), reading.intake.rejects) == (size, [])
    table = csv.DictReader(io.StringIO(unpacked(path).decode()))
    for row, logged in zip(reading.rows, table, strict=True):
        to_second, ticks = logged["TIMESTAMP"].split(".")
        second = datetime.fromisoformat(to_second).replace(tzinfo=UTC)
        assert row["arrival_ns"] == int(second.timestamp()) * 10**9 + int(ticks) * 100
        assert row["prompt_tokens"] == int(logged["ContextTokens"])
        assert row["output_tokens"] == int(logged["GeneratedTokens"])
