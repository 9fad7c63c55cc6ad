"""Two simulators' request traces, and that one of them agrees with what it was made from."""

from pathlib import Path

import pytest

from tests.adapters.reading import SAMPLES, read
from tokengap.adapters.formats.azure_llm import AzureLlm
from tokengap.adapters.formats.splitwise import Splitwise
from tokengap.adapters.interface import Head

SIM = "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
VIDUR = "arrived_at,num_prefill_tokens,num_decode_tokens\n"


def test_splitwise_sim() -> None:
    rows = read(Splitwise(), SAMPLES / "splitwise" / "test_trace.csv").rows
    assert [row["request_id"] for row in rows] == ["0", "1", "2"]
    assert [row["arrival_ns"] for row in rows] == [10**9, 3 * 10**9, 4 * 10**9]
    assert [row["prompt_tokens"] for row in rows] == [4096, 2048, 2048]
    assert [row["output_tokens"] for row in rows] == [32, 8, 16]
    assert {row["token_count_source"] for row in rows} == {"requested"}
    assert rows[0]["labels"] == [("application", "0")]


def test_vidur_names_no_request(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"{VIDUR}0.052,3180,8\n", "utf-8")
    (row,) = read(Splitwise(), path).rows
    assert (row["request_id"], row["arrival_ns"], row["labels"]) == ("2", 52_000_000, [])
    assert (row["prompt_tokens"], row["output_tokens"]) == (3180, 8)


def test_arrivals_of_a_vidur_trace_are_those_of_azures_from_the_first_on() -> None:
    vidur = read(Splitwise(), SAMPLES / "splitwise" / "vidur_code_first100.csv").rows
    azure = read(AzureLlm(), SAMPLES / "azure-llm" / "AzureLLMInferenceTrace_code.csv.gz").rows
    assert len(vidur) == 100
    for given, origin in zip(vidur, azure, strict=False):
        assert given["arrival_ns"] == origin["arrival_ns"] - azure[0]["arrival_ns"]
        assert given["prompt_tokens"] == origin["prompt_tokens"]
        assert given["output_tokens"] == origin["output_tokens"]


def test_bad_rows_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"{SIM}0,2,0,x,1,1,1\n,2,0,1,1,1,1\n2,2,0,1,1,1,1\n", "utf-8")
    reading = read(Splitwise(), path)
    assert [row["request_id"] for row in reading.rows] == ["2"]
    assert [(r.line, r.field) for r in reading.intake.rejects] == [
        (2, "arrival_timestamp"), (3, "request_id"),
    ]  # fmt: skip


@pytest.mark.parametrize("head", [SIM, VIDUR])
def test_each_is_recognised(head: str) -> None:
    assert Splitwise().sniff(Head(head.encode())).matches


def test_lengths_without_arrivals_are_not() -> None:
    lengths = b"num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n"
    assert Splitwise().sniff(Head(lengths)).missing == ("arrived_at",)
