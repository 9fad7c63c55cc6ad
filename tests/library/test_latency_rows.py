from pathlib import Path

import polars as pl
import pytest

from tests.store.fakes import NOON_NS, line, log
from tests.store.kept import HOUR_NS, Kept
from tokengap.errors import StoreError
from tokengap.library import read_catalogue
from tokengap.library.inputs import bound, tables_of
from tokengap.library.latency_rows import DayRows, from_kept, keep_latency
from tokengap.store.compact import compact
from tokengap.store.connect import NOTHING_DECLARED, Declared
from tokengap.store.days import DAY_NS
from tokengap.store.ingest import ingest
from tokengap.store.latency import kept_days
from tokengap.store.prune import prune
from tokengap.store.tables import Store
from tokengap.store.unnamed import vacuum
from tokengap.store.verify import verify

SAMPLES = Path(__file__).parents[2] / "sample_traces"
CATALOGUE = read_catalogue()
MIDNIGHT_NS = NOON_NS + DAY_NS // 2


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """Logs of two days, 29 and 30 November."""
    kept = Kept(tmp_path)
    kept.write("first", "f1", "f2")
    kept.write("second", "s1", start_ns=NOON_NS + DAY_NS)
    kept.ingest()
    return kept


def make(kept: Kept, facts: Declared = NOTHING_DECLARED) -> list[DayRows]:
    return keep_latency(kept.store, CATALOGUE, facts, kept.scratch)


def rows(kept: Kept, *columns: str) -> list[tuple[object, ...]]:
    """What the files of the table `latency` hold."""
    files = [uri for found in kept_days(kept.store).values() for uri in found]
    return sorted(pl.read_parquet(files).select(columns or pl.all()).rows(), key=str)


def test_a_day_is_worked_out_once(kept: Kept) -> None:
    both = [("2025-11-29", 2), ("2025-11-30", 1)]
    assert make(kept) == [DayRows(day, requests, made=True) for day, requests in both]
    # The fakes are sent 100 ns before their first token; the second comes 7 ns after it.
    columns = ("request_id", "ttft_ns", "tpot_ns", "worst_gap_ns", "output_tokens", "status")
    assert rows(kept, *columns) == [
        (name, 100, 7.0, 7, 2, "completed") for name in ("f1", "f2", "s1")
    ]
    files = kept_days(kept.store)
    assert make(kept) == [DayRows(day, requests, made=False) for day, requests in both]
    assert kept_days(kept.store) == files
    assert verify(kept.store, grace_ns=0) == []


def test_late_data_is_worked_into_its_day_and_those_beside_it(kept: Kept) -> None:
    kept.write("far", "x1", start_ns=NOON_NS + 9 * DAY_NS)
    kept.ingest()
    make(kept)
    kept.write("late", "l1")
    kept.ingest()
    assert make(kept) == [
        DayRows("2025-11-29", 3, made=True),
        DayRows("2025-11-30", 1, made=True),
        DayRows("2025-12-08", 1, made=False),
    ]


def test_a_merger_makes_nothing_anew(kept: Kept) -> None:
    kept.write("third", "t1")
    kept.ingest()
    make(kept)
    assert compact(kept.store, kept.scratch, many_files=1) != []
    assert [day.made for day in make(kept)] == [False, False]


def test_other_declarations_are_other_rows(kept: Kept) -> None:
    make(kept)
    facts = Declared(last_prefill_token=1)
    assert [day.made for day in make(kept, facts)] == [True, True]
    assert rows(kept, "last_prefill_token") == [(1,), (1,), (1,)]
    assert [len(files) for files in kept_days(kept.store).values()] == [1, 1]


def test_a_stream_lies_on_the_day_of_its_part(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    # Sent 100 ns before the first token: on the day before, where that comes at midnight.
    log(kept.logs / "a.log", line("last", MIDNIGHT_NS), line("first", MIDNIGHT_NS + 100))
    log(kept.logs / "b.log", line("mono", 5, 9, clock="monotonic"))
    kept.ingest()
    assert [(day.day, day.rows) for day in make(kept)] == [
        ("2025-11-29", 1), ("2025-11-30", 1), ("undated", 1),
    ]  # fmt: skip
    assert rows(kept, "request_id") == [("first",), ("last",), ("mono",)]


def test_they_outlive_their_streams(kept: Kept) -> None:
    make(kept)
    before = rows(kept)
    prune(kept.store, "2025-11-30", kept.scratch, keep_latency=True)
    vacuum(kept.store, grace_ns=0)
    assert kept.requests() == ["s1"]
    assert rows(kept) == before
    assert [day.made for day in make(kept)] == [False, False]
    assert rows(kept) == before
    assert verify(kept.store, grace_ns=0) == []


def test_rows_of_other_loads_are_not_what_is_to_be_kept(kept: Kept) -> None:
    make(kept)
    kept.write("late", "l1", start_ns=NOON_NS + HOUR_NS)
    kept.ingest()
    with pytest.raises(StoreError, match="no latency rows of 2025-11-29 as it is now"):
        prune(kept.store, "2025-11-30", kept.scratch, keep_latency=True)


def test_without_being_kept_they_go_with_their_day(kept: Kept) -> None:
    make(kept)
    prune(kept.store, "2025-11-30", kept.scratch, keep_latency=False)
    assert list(kept_days(kept.store)) == ["2025-11-30"]


def test_real_logs_are_judged_alike_from_rows_and_from_streams(tmp_path: Path) -> None:
    # Both vantages, a raw and a summary file of one run, with and without a wall clock.
    logs = [str(SAMPLES / name) for name in ("aiperf", "aiperf-raw", "envoy-ai-gateway")]
    store = Store(str(tmp_path / "store"))
    ingest(logs, store.root, tmp_path)
    facts = Declared()
    keep_latency(store, CATALOGUE, facts, tmp_path)
    days = kept_days(store)
    assert len(days) > 1
    query = "SELECT * FROM _last_attempts ORDER BY trace, request_id, choice"
    tables, only = tables_of([], [store]), "_last_attempts"
    with bound(tables, CATALOGUE, facts, tmp_path, only=only) as con:
        expected = pl.from_arrow(con.sql(query).to_arrow_table())
    with from_kept(store, days, CATALOGUE, facts, tmp_path, only=only) as con:
        found = pl.from_arrow(con.sql(query).to_arrow_table())
    assert isinstance(expected, pl.DataFrame)
    assert isinstance(found, pl.DataFrame)
    assert expected.height > 0
    assert found.select(expected.columns).equals(expected)
