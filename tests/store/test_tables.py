import os
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from tests.store.fakes import FAKE, NOON_NS, FakeAdapter, line, log
from tests.store.kept import ON_DISK, files_below, lose_answer, rows_of
from tokengap.adapters.source import open_source
from tokengap.errors import KeyCollisionError, StoreError
from tokengap.schema import CLOCKS, REJECTS, STREAMS
from tokengap.store import tables
from tokengap.store.delta import Change, DeltaFiles
from tokengap.store.discover import Recognised, stamp_of
from tokengap.store.load import SourceSet, load_set
from tokengap.store.records import Loaded
from tokengap.store.standing import Standing
from tokengap.store.tables import Store, is_store, open_store, prepare_store
from tokengap.utc import DAY_NS


def loaded(path: str, scratch: Path, *, trace: str | None = None, version: int = 1) -> Loaded:
    source = open_source(path, scratch)
    adapter = FakeAdapter(version=version)
    file = Recognised(source, adapter, named=True, stamp=stamp_of(source))
    return load_set(SourceSet(adapter, (file,), trace), scratch, by_day=True)


def requests(store: Store) -> list[str]:
    tables = [rows_of(part.uri, "request_id") for part in store.live_parts()]
    return sorted(request for table in tables for request in table["request_id"].to_pylist())


def version(store: Store) -> int:
    number: int = store.streams.ensure().version()
    return number


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def store(place: str) -> Store:
    return prepare_store(place)


def test_a_store_not_made_yet_is_empty(store: Store) -> None:
    assert store.live_parts() == []
    assert store.rejects().equals(REJECTS.empty_table())
    assert store.clocks().equals(CLOCKS.empty_table())
    assert store.reject_counts() == {}
    assert not is_store(store.root)


def test_a_load_is_there_with_its_rejects_and_clocks(
    store: Store, scratch: Path, tmp_path: Path
) -> None:
    load = loaded(log(tmp_path / "a.log", line("r1"), "{"), scratch)
    assert store.commit([load], scratch, adapters=FAKE) == [Standing()]
    again = open_store(store.root)
    assert requests(again) == ["r1"]
    assert again.rejects().equals(load.rejects)
    assert again.clocks().equals(load.clocks)
    assert again.reject_counts() == {load.provenance.load_id: 1}
    [part] = again.live_parts()
    assert part.provenance == load.provenance
    assert part.day == "2025-11-29"
    assert "/streams/day=2025-11-29/" in part.uri


@ON_DISK
def test_a_load_over_midnight_has_a_part_per_day(
    store: Store, scratch: Path, tmp_path: Path
) -> None:
    lines = [line(f"r{day}", NOON_NS + day * DAY_NS) for day in range(3)]
    lines.append(line("r3", 5, 6, clock="monotonic"))
    store.commit([loaded(log(tmp_path / "a.log", *lines), scratch)], scratch, adapters=FAKE)
    found = {part.day: part.streams for part in store.live_parts()}
    assert found == {"2025-11-29": 1, "2025-11-30": 1, "2025-12-01": 1, "undated": 1}


@ON_DISK
def test_other_engines_read_the_store_as_it_is(store: Store, scratch: Path, tmp_path: Path) -> None:
    lines = (line("r1", NOON_NS, NOON_NS + 7, NOON_NS + 5), line("r2", 1, 4, clock="monotonic"))
    store.commit([loaded(log(tmp_path / "a.log", *lines), scratch)], scratch, adapters=FAKE)
    expected = [("r1", [7, -2], "2025-11-29"), ("r2", [3], "undated")]
    table = f"{store.root}/streams"
    delta = pl.read_delta(table).sort("request_id")
    assert delta.select("request_id", "gaps_ns", "day").rows() == expected
    assert set(delta.columns) == {*STREAMS.names, "day"}
    files = [part.uri for part in store.live_parts()]
    sql = f"SELECT request_id, gaps_ns, day FROM read_parquet({files}) ORDER BY request_id"
    assert duckdb.execute(sql).fetchall() == expected
    assert all("day" not in pq.ParquetFile(uri).schema_arrow.names for uri in files)


def test_a_second_load_of_a_source_changes_nothing(
    store: Store, scratch: Path, tmp_path: Path
) -> None:
    path = log(tmp_path / "a.log", line("r1"), "{")
    store.commit([loaded(path, scratch)], scratch, adapters=FAKE)
    before, files = store.live_parts(), files_below(store.root)
    commits = version(store)
    [found] = store.commit([loaded(path, scratch)], scratch, adapters=FAKE)
    assert found.already == before[0].provenance
    assert open_store(store.root).live_parts() == before
    assert version(store) == commits
    assert files_below(store.root) == files


def test_a_newer_load_replaces_the_older_in_one_commit(
    store: Store, scratch: Path, tmp_path: Path
) -> None:
    path = log(tmp_path / "a.log", line("r1"), "{")
    first = loaded(path, scratch)
    store.commit([first], scratch, adapters=FAKE)
    before = version(store)
    [found] = store.commit([loaded(path, scratch, version=2)], scratch, adapters=FAKE)
    assert found.replaces == (first.provenance,)
    assert version(store) == before + 1
    assert [part.provenance.adapter_version for part in store.live_parts()] == [2]
    assert store.rejects().num_rows == 1  # the new load's, not both
    assert store.clocks().num_rows == 1


@ON_DISK
def test_an_older_version_finds_its_own_files(store: Store, scratch: Path, tmp_path: Path) -> None:
    path = log(tmp_path / "a.log", line("r1"))
    store.commit([loaded(path, scratch)], scratch, adapters=FAKE)
    older = version(store)
    store.commit([loaded(path, scratch, trace="new")], scratch, adapters=FAKE)
    then = pl.read_delta(f"{store.root}/streams", version=older)
    now = pl.read_delta(f"{store.root}/streams")
    assert then["trace"].to_list() == ["a"]
    assert now["trace"].to_list() == ["new"]


@ON_DISK
def test_going_back_to_the_older_load_works(store: Store, scratch: Path, tmp_path: Path) -> None:
    path = log(tmp_path / "a.log", line("r1"), "{")
    for number in (1, 2, 1):
        store.commit([loaded(path, scratch, version=number)], scratch, adapters=FAKE)
    assert [part.provenance.adapter_version for part in store.live_parts()] == [1]
    assert store.rejects().num_rows == 1


def test_loads_of_one_call_are_one_commit(store: Store, scratch: Path, tmp_path: Path) -> None:
    loads = [loaded(log(tmp_path / f"{name}.log", line(name)), scratch) for name in "abc"]
    store.commit(loads, scratch, adapters=FAKE)
    table = store.streams.ensure()
    assert (table.version(), len(table.file_uris())) == (1, 3)
    [note] = [entry["tokengap"] for entry in table.history() if "tokengap" in entry]
    assert "a.log" in str(note)


def test_a_key_the_store_holds_is_refused_before_anything_is_written(
    store: Store, scratch: Path, tmp_path: Path
) -> None:
    store.commit(
        [loaded(log(tmp_path / "a.log", line("r1")), scratch, trace="t")], scratch, adapters=FAKE
    )
    files = files_below(store.root)
    other = loaded(log(tmp_path / "b.log", line("r1", 1, 2), "{"), scratch, trace="t")
    with pytest.raises(KeyCollisionError, match=r"a.log:1 and .*b.log:1|b.log:1 and .*a.log:1"):
        store.commit([other], scratch, adapters=FAKE)
    assert files_below(store.root) == files
    assert store.rejects().num_rows == 0


def test_a_replaced_load_does_not_collide_with_its_successor(
    store: Store, scratch: Path, tmp_path: Path
) -> None:
    path = log(tmp_path / "a.log", line("r1"))
    store.commit([loaded(path, scratch)], scratch, adapters=FAKE)
    log(tmp_path / "a.log", line("r1"), line("r2"))
    store.commit([loaded(path, scratch)], scratch, adapters=FAKE)
    assert requests(store) == ["r1", "r2"]


def race(monkeypatch: pytest.MonkeyPatch, other: Loaded, scratch: Path, root: str) -> None:
    """Another writer commits `other` just before the next commit to `streams`."""
    write = DeltaFiles._write
    raced: list[bool] = []

    def late(self: DeltaFiles, table: DeltaTable, change: Change) -> None:
        if self.uri.endswith("/streams") and not raced:
            raced.append(True)
            Store(root).commit([other], scratch, adapters=FAKE)
        write(self, table, change)

    monkeypatch.setattr(DeltaFiles, "_write", late)


def test_of_two_racing_loads_of_one_source_one_counts(
    store: Store, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(tmp_path / "a.log", line("r1"), "{")
    race(monkeypatch, loaded(path, scratch), scratch, store.root)
    [found] = store.commit([loaded(path, scratch)], scratch, adapters=FAKE)
    assert found.already is not None
    assert requests(store) == ["r1"]
    assert store.rejects().num_rows == 1
    assert len(files_below(store.streams.uri)) == 1  # the loser's is gone


def test_racing_loads_of_different_sources_both_count(
    store: Store, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    race(monkeypatch, loaded(log(tmp_path / "b.log", line("r2")), scratch), scratch, store.root)
    load = loaded(log(tmp_path / "a.log", line("r1")), scratch)
    assert store.commit([load], scratch, adapters=FAKE) == [Standing()]
    assert requests(store) == ["r1", "r2"]


def test_racing_loads_with_the_same_key_do_not_both_count(
    store: Store, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = loaded(log(tmp_path / "a.log", line("r1")), scratch, trace="t")
    second = loaded(log(tmp_path / "b.log", line("r1", 1, 2)), scratch, trace="t")
    race(monkeypatch, first, scratch, store.root)
    with pytest.raises(KeyCollisionError):
        store.commit([second], scratch, adapters=FAKE)
    assert [part.provenance for part in store.live_parts()] == [first.provenance]
    assert len(files_below(store.streams.uri)) == 1


@ON_DISK
@pytest.mark.parametrize("table", ["streams", "rejects"])
def test_a_load_whose_answer_is_lost_counts_once(
    store: Store, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    lose_answer(monkeypatch, table)
    load = loaded(log(tmp_path / "a.log", line("r1"), "{"), scratch)
    store.commit([load], scratch, adapters=FAKE)
    assert requests(store) == ["r1"]
    assert store.rejects().num_rows == 1
    assert len(files_below(store.streams.uri)) == 1


@ON_DISK
def test_a_table_that_never_stands_still_is_an_error(
    store: Store, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise CommitFailedError("another writer")

    monkeypatch.setattr(DeltaFiles, "_write", refused)
    load = loaded(log(tmp_path / "a.log", line("r1")), scratch)
    with pytest.raises(StoreError, match="other writers keep changing it"):
        store.commit([load], scratch, adapters=FAKE)
    assert store.live_parts() == []
    assert files_below(store.root) == []


def test_an_error_after_the_commit_does_not_take_it_back(
    store: Store, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = DeltaFiles._write

    def then_interrupted(self: DeltaFiles, table: DeltaTable, change: Change) -> None:
        write(self, table, change)
        if self.uri.endswith("/streams"):
            raise KeyboardInterrupt

    monkeypatch.setattr(DeltaFiles, "_write", then_interrupted)
    load = loaded(log(tmp_path / "a.log", line("r1")), scratch)
    with pytest.raises(KeyboardInterrupt):
        store.commit([load], scratch, adapters=FAKE)
    assert requests(open_store(store.root)) == ["r1"]


@ON_DISK
def test_a_damaged_part_is_named(store: Store, scratch: Path, tmp_path: Path) -> None:
    store.commit([loaded(log(tmp_path / "a.log", line("r1")), scratch)], scratch, adapters=FAKE)
    [part] = store.live_parts()
    os.truncate(part.uri, 100)
    with pytest.raises(StoreError, match=f"{part.uri}: no part that tokengap wrote"):
        open_store(store.root).live_parts()


@ON_DISK
def test_a_damaged_table_is_an_error(store: Store, scratch: Path, tmp_path: Path) -> None:
    store.commit([loaded(log(tmp_path / "a.log", line("r1")), scratch)], scratch, adapters=FAKE)
    for entry in (tmp_path / "store" / "streams" / "_delta_log").glob("*.json"):
        entry.write_text("nonsense", encoding="utf-8")
    with pytest.raises(StoreError, match="streams: not a readable Delta table"):
        open_store(store.root).live_parts()


def test_only_a_store_can_be_opened(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no store .*`tokengap ingest` makes one"):
        open_store(str(tmp_path))


def test_a_place_taken_by_something_else_is_refused(tmp_path: Path) -> None:
    log(tmp_path / "logs" / "a.log", line("r1"))
    with pytest.raises(StoreError, match="logs: neither empty nor a store"):
        prepare_store(str(tmp_path / "logs"))
    with pytest.raises(StoreError, match=r"a.log: a file; name a folder"):
        prepare_store(str(tmp_path / "logs" / "a.log"))
    (tmp_path / "logs" / "streams").mkdir()
    with pytest.raises(StoreError, match="logs: neither empty nor a store"):
        prepare_store(str(tmp_path / "logs"))
    (tmp_path / "empty").mkdir()
    assert prepare_store(str(tmp_path / "empty")).live_parts() == []


def test_a_store_that_another_writer_is_making_is_taken(tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "store" / "streams" / "day=2026-01-01").mkdir(parents=True)
    store = prepare_store(str(tmp_path / "store"))
    store.commit([loaded(log(tmp_path / "a.log", line("r1")), scratch)], scratch, adapters=FAKE)
    assert requests(open_store(str(tmp_path / "store"))) == ["r1"]


def test_a_store_made_between_two_looks_is_taken(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([False])
    monkeypatch.setattr(tables, "is_store", lambda path: next(looks, None) or is_store(path))
    store = Store(str(tmp_path / "store"))
    store.commit(
        [loaded(log(tmp_path / "a.log", line("r1"), "{"), scratch)], scratch, adapters=FAKE
    )
    assert {path.name for path in (tmp_path / "store").iterdir()} > {"streams", "rejects"}
    assert prepare_store(str(tmp_path / "store")).live_parts() == store.live_parts()


@pytest.mark.parametrize("name", ["a blank", "ümlaut", "day=3", "run[1]*", "#?+", "it's"])
def test_a_store_may_have_any_name(tmp_path: Path, scratch: Path, name: str) -> None:
    store = prepare_store(str(tmp_path / name))
    path = log(tmp_path / "a.log", line("r1"), "{")
    for number in (1, 2):
        store.commit([loaded(path, scratch, version=number)], scratch, adapters=FAKE)
    assert requests(open_store(str(tmp_path / name))) == ["r1"]
    assert [part.provenance.adapter_version for part in store.live_parts()] == [2]
    assert store.rejects().num_rows == 1


def test_a_name_that_delta_misreads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="misreads a %"):
        prepare_store(str(tmp_path / "100%25"))
