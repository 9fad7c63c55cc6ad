import os
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.store.fakes import FakeAdapter
from tests.store.kept import HOUR_NS, Kept
from tokengap.store import unnamed
from tokengap.store.compact import compact
from tokengap.store.unnamed import GRACE_NS, total_bytes, vacuum
from tokengap.store.verify import verify


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    kept = Kept(tmp_path)
    kept.days_logs(2)
    return kept


def stray(kept: Kept, table: str, age_ns: int) -> Path:
    """A file that a killed writer left so long ago."""
    file = kept.path / table / "stray.parquet"
    file.write_bytes(b"four")
    written_ns = time.time_ns() - age_ns
    os.utime(file, ns=(written_ns, written_ns))
    return file


def there(kept: Kept) -> set[Path]:
    return {path for path in kept.path.rglob("*.parquet") if "_delta_log" not in path.parts}


def test_what_no_commit_names_goes_after_the_grace(kept: Kept) -> None:
    before = there(kept)
    young = stray(kept, "streams", GRACE_NS - HOUR_NS)
    old = stray(kept, "rejects", GRACE_NS + HOUR_NS)
    [found] = vacuum(kept.store)
    assert (found.uri, found.size_bytes, found.named) == (str(old), 4, False)
    assert there(kept) == {*before, young}
    assert vacuum(kept.store) == []


def test_a_dry_run_removes_nothing(kept: Kept) -> None:
    old = stray(kept, "streams", 2 * GRACE_NS)
    assert [file.uri for file in vacuum(kept.store, dry_run=True)] == [str(old)]
    assert old.exists()


def test_what_was_merged_or_replaced_stays_for_the_grace(kept: Kept) -> None:
    merged = [Path(uri) for uri in kept.files()]
    compact(kept.store, kept.scratch, many_files=1)
    replaced = [Path(uri) for uri in kept.files()]
    kept.ingest(adapters=(FakeAdapter(version=2),))
    # However long ago the files were written: they have gone out of the table only now.
    for file in (*merged, *replaced):
        os.utime(file, ns=(0, 0))
    assert vacuum(kept.store) == []
    gone = vacuum(kept.store, grace_ns=0)
    of_streams = {Path(file.uri) for file in gone if "/streams/" in file.uri}
    assert of_streams == {*merged, *replaced}
    assert all(file.named for file in gone)
    assert total_bytes(gone) > 0
    assert {*map(Path, kept.files())} <= there(kept)
    assert verify(kept.store, grace_ns=0) == []
    assert len(kept.requests()) == 4


def test_a_file_committed_while_looking_is_not_unnamed(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = unnamed._files

    def then_another_ingests(table: object) -> object:
        found = look(table)  # type: ignore[arg-type]
        kept.ingest()
        return found

    kept.write("late", "z")
    monkeypatch.setattr(unnamed, "_files", then_another_ingests)
    assert vacuum(kept.store, grace_ns=0) == []
    assert "z" in kept.requests()


def test_a_store_without_commits_has_nothing_to_remove(tmp_path: Path) -> None:
    assert vacuum(Kept(tmp_path).store, grace_ns=0) == []


@pytest.mark.parametrize("name", ["a blank", "ümlaut", "run[1]*", "#?+"])
def test_in_a_store_of_any_name_only_the_right_files_go(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    kept = Kept(folder)
    kept.days_logs(2)
    compact(kept.store, kept.scratch, many_files=1)
    old = stray(kept, "streams", 0)
    # It, and the two files that were merged of `streams` and of `clocks`.
    assert len(vacuum(kept.store, grace_ns=0)) == 1 + 2 + 2
    assert not old.exists()
    assert verify(kept.store, grace_ns=0) == []
    assert len(kept.requests()) == 4
    assert DeltaTable(kept.path / "streams").version() == 2
