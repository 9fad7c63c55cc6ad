import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.store.fakes import NOON_NS, line, log
from tests.store.kept import HOUR_NS, ON_DISK, Kept, lose_answer, rows_of
from tokengap.errors import StoreError
from tokengap.library import read_catalogue
from tokengap.library.from_kept import from_kept
from tokengap.library.inputs import bound, tables_of
from tokengap.library.latency_rows import (
    RELATION,
    DayRows,
    facts_of,
    keep_latency,
    kept_files,
    worked_out,
)
from tokengap.slo.model import Service
from tokengap.store.compact import compact
from tokengap.store.connect import NOTHING_DECLARED, Declared, Window
from tokengap.store.delta import Change, DeltaFiles
from tokengap.store.ingest import ingest
from tokengap.store.latency import kept_days
from tokengap.store.prune import prune
from tokengap.store.tables import Store
from tokengap.store.unnamed import vacuum
from tokengap.store.verify import verify
from tokengap.utc import DAY_NS

SAMPLES = Path(__file__).parents[2] / "sample_traces"
CATALOGUE = read_catalogue()
MIDNIGHT_NS = NOON_NS + DAY_NS // 2


@pytest.fixture
def kept(tmp_path: Path, place: str) -> Kept:
    """Logs of two days, 29 and 30 November."""
    kept = Kept(tmp_path, place)
    kept.write("first", "f1", "f2")
    kept.write("second", "s1", start_ns=NOON_NS + DAY_NS)
    kept.ingest()
    return kept


def make(kept: Kept, *facts: Declared) -> list[DayRows]:
    return keep_latency(kept.store, CATALOGUE, facts or [NOTHING_DECLARED], kept.scratch)


def told(rows: list[DayRows]) -> list[tuple[str, int, bool]]:
    return [(row.day, row.rows, row.made) for row in rows]


def rows(kept: Kept, *columns: str) -> list[tuple[object, ...]]:
    """What the files of the table `latency` hold."""
    files = [file.uri for found in kept_days(kept.store).values() for file in found]
    return sorted(pl.concat(map(frame, files)).select(columns or pl.all()).rows(), key=str)


def frame(uri: str) -> pl.DataFrame:
    return pl.DataFrame(rows_of(uri))


def test_a_day_is_worked_out_once(kept: Kept) -> None:
    both = [("2025-11-29", 2), ("2025-11-30", 1)]
    assert told(make(kept)) == [(day, requests, True) for day, requests in both]
    # The fakes are sent 100 ns before their first token; the second comes 7 ns after it.
    columns = ("request_id", "ttft_ns", "tpot_ns", "worst_gap_ns", "output_tokens", "status")
    assert rows(kept, *columns) == [
        (name, 100, 7.0, 7, 2, "completed") for name in ("f1", "f2", "s1")
    ]
    files = kept_days(kept.store)
    assert told(make(kept)) == [(day, requests, False) for day, requests in both]
    assert kept_days(kept.store) == files
    assert verify(kept.store, grace_ns=0) == []
    only = "_last_attempts"
    with from_kept(make(kept), CATALOGUE, Declared(), kept.scratch, only=only) as con:
        found = con.execute(f"SELECT request_id, ttft_ns FROM {only} ORDER BY ALL").fetchall()
    assert found == [("f1", 100), ("f2", 100), ("s1", 100)]


@ON_DISK
def test_rows_whose_commit_is_answered_late_are_there(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_answer(monkeypatch, "latency")
    assert [day.rows for day in make(kept)] == [2, 1]
    assert rows(kept, "request_id") == [("f1",), ("f2",), ("s1",)]
    assert verify(kept.store, grace_ns=0) == []


@ON_DISK
def test_late_data_is_worked_into_its_day_and_those_beside_it(kept: Kept) -> None:
    kept.write("far", "x1", start_ns=NOON_NS + 9 * DAY_NS)
    kept.ingest()
    make(kept)
    kept.write("late", "l1")
    kept.ingest()
    assert told(make(kept)) == [
        ("2025-11-29", 3, True),
        ("2025-11-30", 1, True),
        ("2025-12-08", 1, False),
    ]


@ON_DISK
def test_a_merger_makes_nothing_anew(kept: Kept) -> None:
    kept.write("third", "t1")
    kept.ingest()
    make(kept)
    assert compact(kept.store, kept.scratch, many_files=1) != []
    assert [day.made for day in make(kept)] == [False, False]


@ON_DISK
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


@ON_DISK
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


@ON_DISK
def test_rows_of_other_loads_are_not_what_is_to_be_kept(kept: Kept) -> None:
    make(kept)
    kept.write("late", "l1", start_ns=NOON_NS + HOUR_NS)
    kept.ingest()
    with pytest.raises(StoreError, match="no latency rows of 2025-11-29 as it is now"):
        prune(kept.store, "2025-11-30", kept.scratch, keep_latency=True)


@ON_DISK
def test_without_being_kept_they_go_with_their_day(kept: Kept) -> None:
    make(kept)
    prune(kept.store, "2025-11-30", kept.scratch, keep_latency=False)
    assert list(kept_days(kept.store)) == ["2025-11-30"]


STREAM, GATEWAY = Declared(vantage="client"), Declared(handoff="gateway")


@ON_DISK
def test_rows_of_several_declarations_stand_beside_each_other(kept: Kept) -> None:
    assert [row.made for row in make(kept, STREAM, GATEWAY)] == [True] * 4
    assert [len(files) for files in kept_days(kept.store).values()] == [2, 2]
    assert rows(kept, "handoff_boundary", "request_id") == [
        (boundary, name) for boundary in ("gateway", "stream") for name in ("f1", "f2", "s1")
    ]
    assert [row.made for row in make(kept, GATEWAY, STREAM)] == [False] * 4
    # What is judged of the rows does not change them.
    window = replace(GATEWAY, window=Window(0, 1))
    assert not any(row.made for row in make(kept, window))


@ON_DISK
def test_rows_that_nobody_asks_for_go_when_their_day_changes(kept: Kept) -> None:
    make(kept, STREAM, GATEWAY)
    assert not any(row.made for row in make(kept, STREAM))
    assert [len(files) for files in kept_days(kept.store).values()] == [2, 2]
    kept.write("late", "l1")
    kept.ingest()
    assert [row.made for row in make(kept, STREAM)] == [True, True]
    assert [len(files) for files in kept_days(kept.store).values()] == [1, 1]


@ON_DISK
def test_rows_that_two_made_at_once_are_there_once(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, raced = DeltaFiles.commit, list[bool]()

    def late(self: DeltaFiles, plan: Callable[[list[str]], Change]) -> list[str]:
        if not raced:
            raced.append(True)
            make(kept)
        return commit(self, plan)

    monkeypatch.setattr(DeltaFiles, "commit", late)
    assert [row.made for row in make(kept)] == [True, True]
    assert [len(files) for files in kept_days(kept.store).values()] == [1, 1]


@ON_DISK
def test_what_there_is_of_a_day_can_be_looked_up(kept: Kept) -> None:
    make(kept, STREAM)
    kept.write("far", "x1", start_ns=NOON_NS + 9 * DAY_NS)
    kept.ingest()

    def found(facts: Declared, *span: str) -> list[tuple[str, int, bool]]:
        asked = kept_files(kept.store, CATALOGUE, facts, (span[0], span[1]) if span else None)
        return [(row.day, row.rows, row.is_lacking) for row in asked]

    assert found(STREAM) == [("2025-11-29", 2, False), ("2025-11-30", 1, False),
                             ("2025-12-08", 0, True)]  # fmt: skip
    assert found(STREAM, "2025-11-30", "2025-12-07") == [("2025-11-30", 1, False)]
    assert found(GATEWAY, "2025-11-29", "2025-11-30") == [
        ("2025-11-29", 0, True), ("2025-11-30", 0, True),
    ]  # fmt: skip


@ON_DISK
def test_a_pruned_day_has_what_it_has(kept: Kept) -> None:
    make(kept, STREAM)
    prune(kept.store, "2025-11-30", kept.scratch, keep_latency=True)
    first, second = kept_files(kept.store, CATALOGUE, GATEWAY)
    assert (first.rows, first.pruned, first.as_declared) == (2, True, False)
    assert frame(first.uri or "")["handoff_boundary"].to_list() == ["stream"] * 2
    assert second.is_lacking
    assert [(row.rows, row.made) for row in make(kept, GATEWAY)] == [(2, False), (1, True)]
    assert [row.as_declared for row in make(kept, STREAM)] == [True, True]
    prune(kept.store, "2025-11-30", kept.scratch, keep_latency=False)
    first, _ = kept_files(kept.store, CATALOGUE, STREAM)
    assert (first.uri, first.pruned, first.is_lacking) == (None, True, False)


@ON_DISK
def test_what_comes_after_a_pruning_is_worked_into_what_was_kept(kept: Kept) -> None:
    make(kept, STREAM, GATEWAY)
    prune(kept.store, "2025-11-30", kept.scratch, keep_latency=True)
    for number, expected in enumerate((3, 4)):
        kept.write(f"late{number}", f"l{number}")
        kept.ingest(str(kept.logs / f"late{number}.log"))
        first, _ = kept_files(kept.store, CATALOGUE, STREAM)
        assert (first.uri, first.pruned, first.is_lacking) == (None, True, True)
        assert told(make(kept, STREAM))[0] == ("2025-11-29", expected, True)
        assert told(make(kept, STREAM))[0] == ("2025-11-29", expected, False)
    # The others cannot be made again: they stay as they were, until they are asked for.
    assert len(kept_days(kept.store)["2025-11-29"]) == 2
    prune(kept.store, "2025-11-30", kept.scratch, keep_latency=True)
    first, _ = kept_files(kept.store, CATALOGUE, STREAM)
    names = pl.read_parquet(first.uri or "")["request_id"].to_list()
    assert sorted(names) == ["f1", "f2", "l0", "l1"]
    assert told(make(kept, STREAM))[0] == ("2025-11-29", 4, False)
    assert verify(kept.store, grace_ns=0) == []


@ON_DISK
def test_rows_of_a_day_that_nothing_is_left_of_go(kept: Kept) -> None:
    make(kept)
    kept.write("first", "f1", "f2", start_ns=NOON_NS + DAY_NS)
    path = kept.logs / "first.log"
    kept.store.streams.commit(
        lambda live: Change(remove=tuple(uri for uri in live if "day=2025-11-29" in uri))
    )
    kept.ingest(str(path))
    assert told(make(kept)) == [("2025-11-30", 3, True)]
    assert list(kept_days(kept.store)) == ["2025-11-30"]


@ON_DISK
def test_an_older_version_is_worked_out_beside_the_store(kept: Kept) -> None:
    make(kept)
    version = kept.store.version
    kept.write("late", "l1", start_ns=NOON_NS + DAY_NS)
    kept.ingest()
    make(kept)  # both days anew: what the older version had is gone
    before = kept_days(kept.store)
    then = kept.store.at(version)
    with pytest.raises(StoreError, match="an older version is only read"):
        keep_latency(then, CATALOGUE, [NOTHING_DECLARED], kept.scratch)
    found = worked_out(then, CATALOGUE, NOTHING_DECLARED, kept.scratch)
    assert told(found) == [("2025-11-29", 2, True), ("2025-11-30", 1, True)]
    assert all(Path(row.uri or "").parent == kept.scratch for row in found)
    again = worked_out(then, CATALOGUE, NOTHING_DECLARED, kept.scratch, ("2025-11-30",) * 2)
    assert told(again) == [("2025-11-30", 1, True)]
    assert kept_days(kept.store) == before
    now = worked_out(kept.store, CATALOGUE, NOTHING_DECLARED, kept.scratch)
    assert told(now) == [("2025-11-29", 2, False), ("2025-11-30", 2, False)]


def test_answers_to_one_attempt_are_counted(tmp_path: Path) -> None:
    stream = '{{"request_id":"{}","choice":{},"t_ns":5,"kind":"text","n_tokens":1}}'
    answers = [("r1", 0), ("r1", 1), ("r2", 0)]
    path = log(tmp_path / "events.jsonl", *(stream.format(*answer) for answer in answers))
    store = Store(str(tmp_path / "store"))
    ingest([path], store.root, tmp_path)
    [row] = keep_latency(store, CATALOGUE, [NOTHING_DECLARED], tmp_path)
    kept = frame(row.uri or "").select("request_id", "choice", "choices")
    assert sorted(kept.rows()) == [("r1", 0, 2), ("r1", 1, 2), ("r2", 0, 1)]


@ON_DISK
def test_rows_from_before_a_column_lack_it(kept: Kept) -> None:
    first, second = make(kept)
    older = kept.scratch / "older.parquet"
    frame(first.uri or "").drop("choices", "tenant").write_parquet(older)
    files = [replace(first, uri=str(older)), second]
    with from_kept(files, CATALOGUE, NOTHING_DECLARED, kept.scratch, only=RELATION) as con:
        query = f"SELECT request_id, choices, ttft_ns FROM {RELATION} ORDER BY 1"
        assert con.execute(query).fetchall() == [
            ("f1", None, 100),
            ("f2", None, 100),
            ("s1", 1, 100),
        ]
    only = "_judged"
    stored = CATALOGUE.storing(["_last_attempts"])
    with from_kept(files, stored, NOTHING_DECLARED, kept.scratch, only=only) as con:
        assert con.execute(f"SELECT count(*) FROM {only}").fetchone() == (3,)
        with pytest.raises(duckdb.Error, match="tenant"):
            con.execute(f"SELECT tenant FROM {only}")  # it has no more than of streams


def test_a_service_is_judged_as_its_file_declares() -> None:
    service = Service("chat", (), vantage="gateway", origin="received", handoff="relay")
    base = Declared(last_prefill_token=1, same_clock=True)
    assert facts_of(service, base) == Declared(
        last_prefill_token=1, same_clock=True, vantage="gateway", origin="received", handoff="relay"
    )


def test_real_logs_are_judged_alike_from_rows_and_from_streams(tmp_path: Path) -> None:
    # Both vantages, a raw and a summary file of one run, with and without a wall clock.
    logs = [str(SAMPLES / name) for name in ("aiperf", "aiperf-raw", "envoy-ai-gateway")]
    store = Store(str(tmp_path / "store"))
    ingest(logs, store.root, tmp_path)
    facts = Declared()
    kept = keep_latency(store, CATALOGUE, [facts], tmp_path)
    assert len(kept) > 1
    query = "SELECT * FROM _last_attempts ORDER BY trace, request_id, choice"
    tables, only = tables_of([], [store]), "_last_attempts"
    with bound(tables, CATALOGUE, facts, tmp_path, only=only) as con:
        expected = pl.from_arrow(con.sql(query).to_arrow_table())
    with from_kept(kept, CATALOGUE, facts, tmp_path, only=only) as con:
        found = pl.from_arrow(con.sql(query).to_arrow_table())
    assert isinstance(expected, pl.DataFrame)
    assert isinstance(found, pl.DataFrame)
    assert expected.height > 0
    assert found.select(expected.columns).equals(expected)


@ON_DISK
def test_a_full_disk_is_said_and_leaves_no_rows(kept: Kept) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, unlimited[1]))
    try:
        with pytest.raises(StoreError, match=r"scratch: cannot be written \(.*; make room"):
            make(kept)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert kept_days(kept.store) == {}
    assert len(make(kept)) == 2
