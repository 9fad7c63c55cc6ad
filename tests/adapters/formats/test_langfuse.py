from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Row, read, read_lines
from tokengap.adapters.formats.langfuse import Langfuse
from tokengap.adapters.interface import Head

MS = 1_000_000
# 2026-11-29T11:30:10Z
START_NS = 1_795_951_810 * 1_000_000_000
BUILT = SAMPLES / "langfuse" / "observations_built.json"

OBSERVATION: dict[str, Any] = {
    "id": "o1",
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "type": "GENERATION",
    "startTime": "2026-11-29T12:30:10.000+01:00",
    "completionStartTime": "2026-11-29T11:30:10.250Z",
    "endTime": "2026-11-29T11:30:10.500Z",
    "model": "m",
    "level": "DEFAULT",
    "environment": "prod",
    "usageDetails": {"input": 7, "output": 20, "input_cached_tokens": 4, "total": 27},
    "latency": 0.5,
    "timeToFirstToken": 0.25,
    "input": {"messages": "secret"},
    "statusMessage": "secret",
}


def one(folder: Path, **changed: object) -> Row:
    (row,) = read_lines(Langfuse(), folder, [OBSERVATION | changed]).rows
    return row


def told(row: Row) -> list[tuple[str, int]]:
    return [(entry["metric"], entry["value_ns"]) for entry in row["reported"]]


def test_the_columns_of_a_generation(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["vantage"], row["clock_kind"], row["granularity"]) == (
        "client",
        "wall",
        "aggregate",
    )
    assert row["sent_ns"] == START_NS
    assert row["first_token_ns"] == START_NS + 250 * MS
    assert (row["stream_close_ns"], row["last_token_ns"]) == (START_NS + 500 * MS, None)
    assert (row["prompt_tokens"], row["cached_prompt_tokens"], row["output_tokens"]) == (7, 4, 20)
    assert (row["status"], row["quality"]) == ("completed", ["end_not_seen"])
    assert dict(row["ids"]) == {"trace_id": "0af7651916cd43dd8448eb211c80319c"}
    assert dict(row["labels"]) == {"environment": "prod"}
    assert told(row) == []
    assert "secret" not in str(row)


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ({"usageDetails": None, "usage": {"input": 1, "output": 2}}, (1, 2)),
        ({"usageDetails": None, "promptTokens": 3, "completionTokens": 4}, (3, 4)),
        ({"usageDetails": None}, (None, None)),
    ],
)
def test_the_older_names_of_the_counts(
    tmp_path: Path, changed: dict[str, object], counts: tuple[int | None, int | None]
) -> None:
    row = one(tmp_path, **changed)
    assert (row["prompt_tokens"], row["output_tokens"]) == counts


def test_without_a_first_chunk_its_time_is_only_reported(tmp_path: Path) -> None:
    row = one(tmp_path, completionStartTime=None)
    assert row["first_token_ns"] is None
    assert told(row) == [("ttft", 250 * MS)]


def test_a_generation_without_an_end_is_still_running(tmp_path: Path) -> None:
    row = one(tmp_path, endTime=None)
    assert (row["status"], row["stream_close_ns"], row["quality"]) == ("in_flight", None, [])
    assert told(row) == [("e2e", 500 * MS)]


def test_an_error_is_a_failure_whatever_its_message(tmp_path: Path) -> None:
    row = one(tmp_path, level="ERROR")
    assert (row["status"], row["error_kind"]) == ("failed", "error")


def test_stamps_out_of_order_are_kept_and_told(tmp_path: Path) -> None:
    row = one(tmp_path, completionStartTime="2026-11-29T11:30:09.750Z")
    assert row["first_token_ns"] == START_NS - 250 * MS
    assert row["quality"] == ["clock_contradiction", "end_not_seen"]


def test_what_is_no_call_of_a_model_is_passed_over(tmp_path: Path) -> None:
    span = {"id": "s", "type": "SPAN", "startTime": OBSERVATION["startTime"]}
    reading = read_lines(Langfuse(), tmp_path, [span, OBSERVATION])
    assert [row["request_id"] for row in reading.rows] == ["o1"]
    assert reading.intake.rejects == []


def test_pages_of_the_api_one_after_another(tmp_path: Path) -> None:
    pages = [
        {"data": [OBSERVATION, OBSERVATION | {"id": "o2"}], "meta": {"page": 1}},
        {"data": [OBSERVATION | {"id": "o3"}, {"id": "bad"}], "meta": {"page": 2}},
    ]
    reading = read_lines(Langfuse(), tmp_path, pages)
    assert [row["request_id"] for row in reading.rows] == ["o1", "o2", "o3"]
    assert [reject.line for reject in reading.intake.rejects] == [2]


def test_a_trace_id_that_is_not_opentelemetrys_joins_nothing(tmp_path: Path) -> None:
    assert dict(one(tmp_path, traceId="my-trace")["ids"]) == {}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"startTime": "2026-11-29T11:30:10"}, "startTime"),
        ({"startTime": 1795951810.0}, "startTime"),
        ({"endTime": "soon"}, "endTime"),
        ({"usageDetails": {"output": 1.5}}, "usageDetails.output"),
        ({"usageDetails": {"output": 2**64}}, None),
        ({"completionStartTime": None, "timeToFirstToken": 1e300}, "ttft"),
    ],
)
def test_an_observation_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, changed: dict[str, object], field: str | None
) -> None:
    reading = read_lines(Langfuse(), tmp_path, [OBSERVATION, OBSERVATION | changed])
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert reject.line == 2
    assert field is None or reject.field == field


def test_a_key_that_comes_twice_is_refused(tmp_path: Path) -> None:
    reading = read_lines(Langfuse(), tmp_path, ['{"id": "a", "id": "b", "type": "SPAN"}'])
    assert [reject.field for reject in reading.intake.rejects] == ["id"]


def test_the_page_built_from_the_apis_reference() -> None:
    (row,) = read(Langfuse(), BUILT).rows
    assert row["first_token_ns"] - row["sent_ns"] == 422 * MS
    assert row["stream_close_ns"] - row["sent_ns"] == 677 * MS


def test_json_with_a_start_time_is_not_taken_for_it() -> None:
    for text in (
        b'{"startTime": "2026-11-29T11:30:10Z", "endTime": "2026-11-29T11:30:11Z"}',
        b'{"data": [{"startTime": "2026-11-29T11:30:10Z"}], "meta": {}}',
    ):
        assert not Langfuse().sniff(Head(text)).matches
