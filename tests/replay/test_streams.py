"""An outcome is a log: the canonical table, and what the query library finds in it."""

from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.replay.reference_runs import azure
from tests.replay.test_faults import LINK, PLAIN, one
from tokengap.library import read_catalogue
from tokengap.library.loader import load, refresh
from tokengap.replay import (
    FailingTransfers,
    LostWorker,
    Outcome,
    Pool,
    Pools,
    Transport,
    Workload,
    parity,
    replay,
)
from tokengap.replay.streams import clocks, streams
from tokengap.schema import CLOCKS, STAGES, STATUSES, STREAMS
from tokengap.store.connect import Declared, Tables, bind, connect

MS = 10**6


def table_of(outcome: Outcome) -> pa.Table:
    return pa.Table.from_batches(streams(outcome, "run"), STREAMS)


def library(table: pa.Table, folder: Path, relation: str) -> duckdb.DuckDBPyConnection:
    path = folder / "streams.parquet"
    pq.write_table(table, path)
    con, catalogue = connect(Declared()), read_catalogue()
    load(con, catalogue, relation)
    bind(con, Tables([str(path)]))
    refresh(con, catalogue, relation)
    return con


def stages_of(row: dict[str, object]) -> list[tuple[str, float, float, str]]:
    found: list[dict[str, object]] = row["stages"]  # type: ignore[assignment]
    return [(s["name"], s["start_ns"] / MS, s["end_ns"] / MS, s["worker"]) for s in found]  # type: ignore[operator, misc]


def test_a_split_request_is_one_row_with_its_stages() -> None:
    pools = Pools.split(1, 1, replace(LINK, overhead_ms=7))
    workload = Workload(np.array([3.0]), np.array([10]), np.array([3]), names=["x"])
    (row,) = table_of(replay(workload, pools, PLAIN)).to_pylist()
    # Arrival 3, prefilled until 13, overhead until 20, 10,000 bytes until 120, two steps.
    assert row["request_id"] == "x"
    assert (row["arrival_ns"], row["first_token_ns"]) == (3 * MS, 13 * MS)
    assert row["gaps_ns"] == [117 * MS, 10 * MS]
    assert (row["output_tokens"], row["min_gap_ns"]) == (3, 10 * MS)
    assert (row["status"], row["stream_close_ns"]) == ("completed", 140 * MS)
    assert (row["last_prefill_token"], row["handoff_source"], row["kv_bytes"]) == (1, "log", 10_000)
    assert (row["prefill_worker"], row["decode_worker"]) == ("prefill-0", "decode-0")
    assert stages_of(row) == [
        ("queue", 3, 3, "prefill-0"),
        ("prefill", 3, 13, "prefill-0"),
        ("kv_bootstrap", 13, 20, "prefill-0"),
        ("kv_transfer", 20, 120, "prefill-0"),
        ("decode_queue", 120, 120, "decode-0"),
        ("decode_first_step", 120, 130, "decode-0"),
    ]


def test_a_colocated_request_is_known_to_have_no_handoff() -> None:
    (row,) = table_of(replay(one(), Pools.colocated(), PLAIN)).to_pylist()
    assert (row["last_prefill_token"], row["handoff_source"]) == (None, "none")
    assert row["prefill_worker"] == row["decode_worker"] == "worker-0"
    assert stages_of(row) == [("queue", 0, 0, "worker-0"), ("prefill", 0, 10, "worker-0")]


@pytest.mark.parametrize(
    ("workload", "transport", "k", "source"),
    [
        (one(), LINK, 1, "log"),
        (one(), replace(LINK, withheld=True), 0, "log"),
        (one(answer=1), LINK, None, "none"),
        (one(), replace(LINK, stay_below_tokens=11), None, "none"),
        (replace(one(), leave_after_ms=np.array([50.0])), LINK, 1, "log"),
        (replace(one(), leave_after_ms=np.array([5.0])), LINK, None, None),
    ],
)
def test_what_is_known_of_a_handoff(
    workload: Workload, transport: Transport, k: int | None, source: str | None
) -> None:
    (row,) = table_of(replay(workload, Pools.split(1, 1, transport), PLAIN)).to_pylist()
    assert (row["last_prefill_token"], row["handoff_source"]) == (k, source)


def test_a_pass_that_was_lost_keeps_its_stages_and_the_handoff_comes_later() -> None:
    pools = Pools.split(1, 1, LINK)
    outcome = replay(one(answer=3), pools, PLAIN, faults=[FailingTransfers(60, 60)])
    (row,) = table_of(outcome).to_pylist()
    # Lost at 60 with 5,000 bytes sent; 11 tokens until 71 give the second token, then 110 ms.
    assert row["gaps_ns"] == [61 * MS, 120 * MS]
    assert row["last_prefill_token"] == 2
    assert row["kv_bytes"] == 11_000
    assert row["marks"] == [
        {"kind": "transfer_failed", "t_ns": 60 * MS},
        {"kind": "cache_lost", "t_ns": 60 * MS},
    ]
    names = [name for name, *_ in stages_of(row)]
    assert names[:4] == ["queue", "prefill", "kv_bootstrap", "queue"]
    assert names[4:] == [
        "prefill", "kv_bootstrap", "kv_transfer", "decode_queue", "decode_first_step",
    ]  # fmt: skip


def test_a_preempted_request_says_so() -> None:
    two = Workload(np.zeros(2), np.array([10, 10]), np.array([8, 8]))
    outcome = replay(two, Pools.colocated(kv_capacity_tokens=24), PLAIN)
    # 20 tokens; two steps bring 24, a third does not fit: the newer one is computed again later.
    marks = table_of(outcome)["marks"].to_pylist()
    assert marks == [[], [{"kind": "preempted", "t_ns": 40 * MS}]]
    assert outcome.wasted.preemptions == 1


def test_every_status_is_one_of_the_table() -> None:
    pools = replace(Pools.colocated(max_queue=1), first_token_deadline_ms=15)
    crowd = Workload(np.zeros(4), np.full(4, 10), np.full(4, 6), np.array([np.inf, 12, 99, 99]))
    table = table_of(replay(crowd, pools, PLAIN, faults=[LostWorker("worker-0", 33)]))
    assert table.schema == STREAMS
    assert set(table["status"].to_pylist()) <= set(STATUSES)
    assert {stage["name"] for row in table["stages"].to_pylist() for stage in row} <= set(STAGES)
    assert clocks().schema == CLOCKS


def test_the_library_finds_in_a_replay_what_the_replay_knows(tmp_path: Path) -> None:
    workload = azure("2.0").first(200)
    pools = Pools.split(1, 1, Transport(819_200, 25e9, overhead_ms=2))
    outcome = replay(workload, pools, parity.model("vllm-tp2", "vllm-tp2"))
    checks = library(table_of(outcome), tmp_path, "check_identities")
    assert checks.execute("SELECT count(*) FROM check_identities").fetchone() == (0,)
    con = library(table_of(outcome), tmp_path, "handoff_gaps")
    query = "SELECT request_id, ttft_ns, worst_gap_ns FROM request_latency"
    found = {int(name): (ttft, worst) for name, ttft, worst in con.execute(query).fetchall()}
    latency = outcome.latency
    assert found == {
        place: (latency.ttft_ns[place], latency.worst_gap_ns[place]) for place in range(200)
    }
    gaps = con.execute("SELECT request_id, handoff_gap_ns FROM handoff_gaps").fetchall()
    assert {int(name): gap for name, gap in gaps} == dict(enumerate(latency.first_gap_ns))


def test_stalls_of_a_replay_are_blamed_on_the_prefills_that_made_them(tmp_path: Path) -> None:
    outcome = replay(
        azure("2.0").first(150), Pools(Pool(tp=2)), parity.model("vllm-tp2", "vllm-tp2")
    )
    con = library(table_of(outcome), tmp_path, "gap_causes")
    limits = "[{'statistic': 'worst_gap', 'limit_ns': 150000000}]"
    causes = con.execute(
        f"SELECT cause, count(*) FROM gap_causes(objectives := {limits}) GROUP BY cause"
    ).fetchall()
    assert {cause for cause, _ in causes} == {"prefill_interference"}
