from pathlib import Path

import pytest

from tests.store.kept import Kept
from tokengap.errors import StoreError
from tokengap.store.compact import compact
from tokengap.store.contents import contents
from tokengap.store.prune import prune
from tokengap.store.tables import open_store
from tokengap.store.unnamed import vacuum


@pytest.fixture
def grown(tmp_path: Path) -> Kept:
    """Version 1 holds a log with a line that is none; version 2 a newer one of it, with more."""
    kept = Kept(tmp_path)
    kept.write("a", "a1", bad=1)
    kept.ingest()
    kept.write("a", "a1", "a2", bad=2)
    log = kept.logs / "a.log"
    log.write_text(log.read_text("utf-8").replace("a1", "b1"), "utf-8")  # no longer the same
    kept.write("b", "c1")
    kept.ingest()
    return kept


def test_a_store_is_read_as_of_an_older_version(grown: Kept) -> None:
    latest = grown.store
    assert (latest.version, latest.at(None), latest.streams.version) == (2, latest, None)
    then, now = latest.at(1), latest.at(2)
    assert (then.version, now.version) == (1, 2)
    assert [part.streams for part in then.live_parts()] == [1]
    assert sorted(part.streams for part in now.live_parts()) == [1, 1, 2]
    assert (then.rejects().num_rows, latest.rejects().num_rows) == (1, 3)
    assert (then.clocks().num_rows, latest.clocks().num_rows) == (1, 3)
    assert contents(then).version == 1
    assert open_store(latest.root, version=1).live_parts() == then.live_parts()


def test_an_older_version_is_not_written_to(grown: Kept) -> None:
    then = grown.store.at(2)
    for change in (
        lambda: then.commit([], grown.scratch),
        lambda: compact(then, grown.scratch, many_files=0),
        lambda: prune(then, "2030-01-01", grown.scratch, keep_latency=False),
        lambda: vacuum(then, grace_ns=0),
    ):
        with pytest.raises(StoreError, match="an older version is only read; open the latest one"):
            change()
    assert len(grown.store.live_parts()) == 3


@pytest.mark.parametrize("version", [3, 99, -1])
def test_a_version_that_never_was_is_said(grown: Kept, version: int) -> None:
    with pytest.raises(StoreError, match=f"no version {version}; the latest is 2"):
        open_store(grown.store.root, version=version)


def test_a_version_that_was_vacuumed_is_said(grown: Kept) -> None:
    compact(grown.store, grown.scratch, many_files=1)
    vacuum(grown.store, grace_ns=0)
    says = "version 2 cannot be read any more: `store vacuum` removes.*; name a later one"
    with pytest.raises(StoreError, match=says):
        grown.store.at(2).live_parts()
    assert sum(part.streams for part in grown.store.at(3).live_parts()) == 4
