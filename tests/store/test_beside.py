from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.store.kept import ON_DISK, Kept
from tokengap.errors import StoreError
from tokengap.store.beside import Beside
from tokengap.store.compact import Merged, compact
from tokengap.store.delta import Change, DeltaFiles
from tokengap.store.unnamed import unseen
from tokengap.store.verify import verify


@pytest.fixture
def kept(tmp_path: Path, place: str) -> Kept:
    """Six loads with a relation of clocks each; every other one has a line that is none."""
    kept = Kept(tmp_path, place)
    kept.days_logs(6)
    return kept


def merge(kept: Kept, many_files: int = 3, target_bytes: int = 2**20) -> list[Merged]:
    found = compact(kept.store, kept.scratch, many_files=many_files, target_bytes=target_bytes)
    return [merged for merged in found if merged.place in kept.store.beside]


def told(kept: Kept) -> tuple[list[object], list[object], dict[str, int]]:
    """All rejects, all relations of clocks, and the rejects by load."""
    store = kept.store
    rows = [sorted(map(str, table.to_pylist())) for table in (store.rejects(), store.clocks())]
    return list(rows[0]), list(rows[1]), store.reject_counts()


def test_files_of_many_loads_become_one_with_the_same_rows(kept: Kept) -> None:
    before = told(kept)
    assert [len(rows) for rows in before] == [3, 6, 3]
    assert merge(kept) == [Merged("clocks", 6, 1)]  # three files of rejects are not many
    assert merge(kept, many_files=2) == [Merged("rejects", 3, 1)]
    assert told(kept) == before
    assert merge(kept, many_files=1) == []
    assert list(kept.scratch.glob("merged*")) == []
    assert verify(kept.store, grace_ns=0) == []


def test_a_merged_file_is_merged_again_with_more(kept: Kept) -> None:
    merge(kept, many_files=1)
    kept.write("more", "m1", bad=2)
    kept.ingest()
    before = told(kept)
    assert merge(kept, many_files=1) == [Merged("rejects", 2, 1), Merged("clocks", 2, 1)]
    assert told(kept) == before
    assert [len(rows) for rows in before] == [5, 7, 4]


@ON_DISK
def test_large_files_are_left_alone(kept: Kept) -> None:
    largest = max(file.size_bytes for file in kept.store.beside["clocks"].files().values())
    assert merge(kept, target_bytes=largest) == []
    assert merge(kept, target_bytes=3 * largest - 20) == [
        Merged("clocks", 6, 2)
    ]  # three of about the same size reach it


@ON_DISK
def test_an_older_version_still_finds_its_own(kept: Kept) -> None:
    kept.write("00", "a0", "b0", "more", bad=4)
    kept.ingest()
    version, before = kept.version, told(kept)
    compact(kept.store, kept.scratch, many_files=1)
    swept = [file for table in kept.store.beside.values() for file in unseen(table, 0)]
    assert [file.named for file in swept] == [True] * 11
    for file in swept:
        Path(file.uri).unlink()
    then = kept.store.at(version)
    assert sorted(map(str, then.rejects().to_pylist())) == before[0]
    first = kept.store.at(1)
    assert (first.rejects().num_rows, first.clocks().num_rows) == (3, 6)


@ON_DISK
def test_a_load_that_is_there_is_not_brought_again(kept: Kept) -> None:
    merge(kept, many_files=1)
    before = told(kept)
    rejects = kept.store.beside["rejects"]
    load_id = next(iter(before[2]))
    rejects.add({load_id: rejects.of([load_id])}, kept.scratch)
    assert told(kept) == before


@ON_DISK
def test_a_load_meanwhile_is_kept(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    write, raced = DeltaFiles._write, list[bool]()

    def late(self: DeltaFiles, table: DeltaTable, change: Change) -> None:
        if isinstance(self, Beside) and not raced:
            raced.append(True)
            kept.write("late", "l1", bad=1)
            kept.ingest()
        write(self, table, change)

    monkeypatch.setattr(DeltaFiles, "_write", late)
    merge(kept, many_files=1)
    assert [len(rows) for rows in told(kept)] == [4, 7, 4]
    assert verify(kept.store, grace_ns=0) == []


@ON_DISK
def test_a_merged_file_without_its_footer_is_named(kept: Kept) -> None:
    merge(kept)
    [uri] = kept.store.beside["clocks"].live()
    pq.write_table(pq.read_table(uri), uri)
    with pytest.raises(StoreError, match=f"{uri}: no rows that tokengap merged"):
        kept.store.clocks()
