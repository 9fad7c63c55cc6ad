"""Rows made of columns are those that are made of streams one by one."""

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Events, count_source_code
from tokengap.adapters.rows import Stream, record_batches, reported, stage
from tokengap.adapters.shared.nested import Reported, Stage
from tokengap.adapters.shared.row_batches import RowBatches, Rows
from tokengap.adapters.shared.sieve import Sieve

STREAMS = [
    Stream(
        request_id="a",
        source="s:1",
        status="completed",
        clock="s",
        clock_kind="wall",
        vantage="engine",
        ids={"x": "a", "y": "1"},
        labels={"l": "v"},
        total_tokens=5,
        total_source="usage",
        first_ns=7,
        last_token_ns=9,
        stages=[stage("queue", 1, 4, clock="s"), stage("prefill", duration_ns=6)],
        reported=[reported("ttft", 3, "f"), reported("tpot", 4, "g")],
        marks=[("headers", 5)],
        quality=["end_not_seen", "clock_contradiction"],
    ),
    Stream(
        request_id="b",
        source="s:2",
        status="failed",
        error_kind="k",
        clock="s",
        clock_kind="wall",
        vantage="engine",
        stages=[],
        reported=[reported("tpot", 8, "g")],
    ),
    Stream(  # one body: one delivery
        request_id="c",
        source="s:4",
        status="completed",
        clock="s",
        clock_kind="wall",
        vantage="engine",
        total_tokens=2,
        total_source="usage",
        streamed=False,
        times_ns=[12],
        stages=[],
        reported=[],
    ),
    Stream(  # a body of which the time is not known
        request_id="d",
        source="s:5",
        status="completed",
        clock="s",
        clock_kind="wall",
        vantage="engine",
        streamed=False,
        workload=True,
        stages=None,
        reported=None,
    ),
]


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())


def texts(*values: str | None) -> pa.Array:
    return pa.array(values, pa.string())


def rows(sieve: Sieve) -> Rows:
    no = [False] * 5
    return Rows(
        np.array([1, 2, 3, 4, 5]),
        sieve,
        {
            "request_id": texts("a", "b", "bad", "c", "d"),
            "status": texts("completed", "failed", "failed", "completed", "completed"),
            "error_kind": texts(None, "k", None, None, None),
            "clock": "s",
            "clock_kind": "wall",
            "vantage": "engine",
            "granularity": texts(None, None, None, None, "workload"),
            "first_token_ns": ints(7, None, None, None, None),
            "last_token_ns": ints(9, None, None, None, None),
            "output_tokens": pa.array([5, None, 3, 2, None], pa.int32()),
        },
        ids={"x": texts("a", *[None] * 4), "y": texts("1", *[None] * 4)},
        labels={"l": texts("v", *[None] * 4)},
        stages=[
            Stage("queue", ints(1, 2, 1, None, None), ints(4, None, 2, 3, None), clock="s"),
            Stage("prefill", lasted_ns=ints(6, None, None, None, None)),
        ],
        reported=[
            Reported.of("ttft", "f", ints(3, None, None, None, None)),
            Reported.of("tpot", "g", ints(4, 8, 2, None, None)),
        ],
        marks={"headers": ints(5, None, 1, None, None)},
        notes={
            "end_not_seen": pa.array([True, None, True, False, False]),
            "clock_contradiction": pa.array([True, *no[1:]]),
            "smeared": pa.array(no),
        },
        bodies=pa.array([False, None, False, True, True]),
        body_ns=ints(None, None, None, 12, None),
        unlisted=pa.array([False, False, False, False, True]),
    )


def test_rows_are_those_of_streams() -> None:
    sieve = Sieve(5)
    sieve.put_aside(np.array([False, False, True, False, False]), "bad")
    batch = RowBatches("s", "trace").batch(rows(sieve))
    batch.validate(full=True)
    (expected,) = record_batches(STREAMS, "trace")
    assert batch.to_pylist() == expected.to_pylist()


def test_later_rows_do_not_change_earlier_ones() -> None:
    batches = RowBatches("s", "trace")
    first = batches.batch(rows(Sieve(5)))
    few = Rows(np.array([9]), Sieve(1), {"request_id": texts("z"), "status": "completed"})
    second = batches.batch(few)
    assert first.column("clock").to_pylist() == ["s"] * 5
    (row,) = second.to_pylist()
    assert (row["request_id"], row["source"], row["clock"]) == ("z", "s:9", None)
    assert (row["granularity"], row["stages"], row["reported"]) == ("aggregate", None, None)


def test_deliveries_of_each_row_and_records_without_one() -> None:
    delivered = Events(
        offsets=np.array([0, 2, 2, 3]),
        times_ns=np.array([10, 14, 20]),
        counts=np.array([0, 0, 1]),
        counts_source=np.full(3, count_source_code("events")),
        totals=np.full(3, -1),
        totals_source=np.full(3, -1),
        observed=np.array([True, False, True]),
        streamed=np.ones(3, bool),
    )
    facts = {"request_id": texts("a", "b", "c"), "status": "completed"}
    where = np.array([True, True, False])
    found = Rows(np.array([1, 2, 3]), Sieve(3), facts, delivered=delivered, where=where)
    batch = RowBatches("s", "trace").batch(found)
    a, b = batch.to_pylist()
    assert (a["first_token_ns"], a["gaps_ns"], a["output_tokens"]) == (10, [4], 2)
    assert (b["first_token_ns"], b["gaps_ns"], b["output_tokens"]) == (None, None, None)


def test_no_rows_at_all() -> None:
    none = Rows(np.array([], np.int64), Sieve(0), {"request_id": texts(), "status": "completed"})
    assert RowBatches("s", "trace").batch(none).num_rows == 0
