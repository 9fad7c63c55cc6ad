from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tests.adapters.reading import Row, times
from tokengap.adapters import rows
from tokengap.adapters.deliveries import Events, count_source_code
from tokengap.adapters.rows import Stream, assemble, record_batches, stage
from tokengap.schema import STREAMS

MS = 1_000_000


def one(stream: Stream, trace: str = "run") -> Row:
    (batch,) = record_batches([stream], trace)
    (row,) = batch.to_pylist()
    assert isinstance(row, dict)
    return row


def test_facts_keep_their_column_and_what_is_not_known_is_null() -> None:
    row = one(
        Stream(
            "r",
            "sse:12:3",
            "failed",
            clock="c",
            clock_kind="monotonic",
            times_ns=[5 * MS, 9 * MS],
            ids={"x_request_id": "u"},
            labels={"turn": "2"},
            error_kind="E",
            sent_ns=0,
            marks=[("error", 9 * MS)],
            quality=["end_not_seen"],
            stages=[{"name": "queue", "duration_ns": 4}],
        )
    )
    assert list(row) == STREAMS.names
    assert (row["trace"], row["request_id"], row["source"]) == ("run", "r", "sse:12:3")
    assert (row["attempt"], row["choice"], row["vantage"]) == (0, 0, "client")
    assert row["ids"] == [("x_request_id", "u")]
    assert row["labels"] == [("turn", "2")]
    assert row["marks"] == [{"kind": "error", "t_ns": 9 * MS}]
    assert row["quality"] == ["end_not_seen", "tokens_are_events"]
    assert times(row) == [5 * MS, 9 * MS]
    assert row["stages"][0]["duration_ns"] == 4
    assert row["stages"][0]["start_ns"] is None
    unknown = ["planned_ns", "received_ns", "stream_close_ns", "model", "prompt_tokens", "reported"]
    assert [row[name] for name in unknown] == [None] * len(unknown)


def test_a_stream_may_name_a_trace_of_its_own() -> None:
    assert one(Stream("r", "s", "completed", trace="run.2"))["trace"] == "run.2"


@pytest.mark.parametrize("given", [[10, 20, 50], (10, 20, 50), np.array([10, 20, 50])])
def test_times_may_be_a_sequence_or_an_array(given: list[int]) -> None:
    row = one(Stream("r", "s", "completed", times_ns=given))
    assert (row["first_token_ns"], row["gaps_ns"]) == (10, [10, 30])


def test_a_body_that_was_not_streamed_is_noted() -> None:
    assert one(Stream("r", "s", "completed", times_ns=[1], streamed=False))["quality"] == [
        "not_streamed"
    ]


def test_no_stream_gives_no_batch() -> None:
    assert list(record_batches([], "run")) == []


def test_batches_are_cut_by_events_and_hold_every_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BATCH_EVENTS", 5)
    monkeypatch.setattr(rows, "BATCH_STREAMS", 3)
    # 3 + 3 events reach 5; then three streams without events; then the rest.
    sizes = [3, 3, 0, 0, 0, 1]
    made = [
        Stream(str(i), "s", "completed", times_ns=[MS * k for k in range(size)])
        for i, size in enumerate(sizes)
    ]
    batches = list(record_batches(made, "run"))
    assert [batch.num_rows for batch in batches] == [2, 3, 1]
    found = [row for batch in batches for row in batch.to_pylist()]
    assert [row["request_id"] for row in found] == ["0", "1", "2", "3", "4", "5"]
    assert [len(times(row)) for row in found] == sizes


def test_an_aggregate_source_keeps_its_first_and_last_time() -> None:
    stream = Stream("a", "s:0", "completed", first_ns=5, last_token_ns=9, total_tokens=3)
    row = one(replace(stream, total_source="usage"))
    assert (row["first_token_ns"], row["last_token_ns"], row["gaps_ns"]) == (5, 9, None)
    assert (row["granularity"], row["output_tokens"]) == ("aggregate", 3)


def test_what_a_delivery_is_can_be_the_formats_to_say() -> None:
    step = Stream("a", "s:0", "completed", times_ns=[1, 2], step=True)
    workload = Stream("b", "s:1", "completed", arrival_ns=1, workload=True)
    assert [one(stream)["granularity"] for stream in (step, workload)] == ["step", "workload"]


def test_a_stage_lasts_from_its_start_to_its_end() -> None:
    assert stage("prefill", 3, 10)["duration_ns"] == 7
    assert stage("queue", duration_ns=4)["start_ns"] is None
    with pytest.raises(ValueError, match="no stage is called warm_up"):
        stage("warm_up")


def test_a_fact_is_a_column_or_one_value_and_gives_way_where_it_is_null() -> None:
    events = Events(
        offsets=np.array([0, 2, 3]),
        times_ns=np.array([10, 14, 20]) * MS,
        counts=np.zeros(3, np.int64),
        counts_source=np.full(2, count_source_code("events")),
        totals=np.array([3, -1]),  # of two events
        totals_source=np.array([count_source_code("usage"), -1]),
        observed=np.ones(2, bool),
        streamed=np.ones(2, bool),
    )
    facts = {
        "request_id": pa.array(["a", "b"]),
        "status": "completed",
        "ids": [],
        "first_token_ns": pa.array([None, 19 * MS]),
        "granularity": None,
    }
    notes = {"count_mismatch": np.array([False, True]), "smeared": np.array([False, True])}
    batch = assemble(facts, events, notes)
    batch.validate(full=True)
    a, b = batch.to_pylist()
    assert [(row["status"], row["ids"], row["model"]) for row in (a, b)] == [
        ("completed", [], None)
    ] * 2
    assert (a["request_id"], a["first_token_ns"], a["granularity"]) == ("a", 10 * MS, "chunk")
    assert (b["request_id"], b["first_token_ns"]) == ("b", 19 * MS)
    assert a["quality"] == ["count_mismatch"]
    assert b["quality"] == ["count_mismatch", "smeared", "tokens_are_events"]
