from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from tests.store.fakes import NOON_NS, FakeAdapter, line, log
from tests.store.kept import HOUR_NS, ON_DISK, Kept, lose_answer
from tokengap.errors import StoreError
from tokengap.store import parts
from tokengap.store.compact import compact
from tokengap.store.contents import contents
from tokengap.store.delta import Change, DeltaFiles
from tokengap.store.prune import Pruned, prune
from tokengap.store.unnamed import vacuum
from tokengap.store.verify import verify
from tokengap.utc import DAY_NS


@pytest.fixture
def kept(tmp_path: Path, place: str) -> Kept:
    """A log over midnight between 29 and 30 November, one of each day, and one on no wall clock."""
    kept = Kept(tmp_path, place)
    log(kept.logs / "both.log", line("b1"), line("b2", NOON_NS + DAY_NS, NOON_NS + DAY_NS + 7), "{")
    kept.write("first", "f1")
    kept.write("second", "s1", start_ns=NOON_NS + DAY_NS)
    log(kept.logs / "mono.log", line("m1", 5, 9, clock="monotonic"))
    kept.ingest()
    return kept


def pruned(kept: Kept, before: str = "2025-11-30") -> list[Pruned]:
    return prune(kept.store, before, kept.scratch, keep_latency=False)


def test_days_before_the_date_go_and_others_stay(kept: Kept) -> None:
    assert pruned(kept, "2025-11-29") == []
    assert pruned(kept) == [Pruned("2025-11-29", streams=2, tokens=4)]
    assert kept.requests() == ["b2", "m1", "s1"]
    assert pruned(kept) == []
    assert verify(kept.store) == []


@ON_DISK
def test_what_has_no_day_has_no_age(kept: Kept) -> None:
    assert [day.day for day in pruned(kept, "9999-12-31")] == ["2025-11-29", "2025-11-30"]
    assert kept.requests() == ["m1"]


def test_pruned_loads_are_not_loaded_again(kept: Kept) -> None:
    pruned(kept)
    summary = kept.ingest()
    assert not summary.changed
    found = {Path(o.names).stem: (o.reason, o.streams, o.rejects) for o in summary.outcomes}
    assert found == {
        "both": ("rows were pruned for their age", 1, 1),
        "first": ("rows were pruned for their age", 0, 0),
        "second": ("", 1, 0),
        "mono": ("", 1, 0),
    }
    assert kept.requests() == ["b2", "m1", "s1"]


@ON_DISK
def test_show_tells_what_was_pruned(kept: Kept) -> None:
    pruned(kept)
    first, second, undated = contents(kept.store).days.values()
    assert (first.loads, first.pruned_loads, first.streams, first.first_origin_ns) == (
        0,
        2,
        0,
        None,
    )
    assert (second.loads, second.pruned_loads, second.streams) == (2, 0, 2)
    assert (undated.loads, undated.pruned_loads) == (1, 0)


@ON_DISK
def test_a_log_that_grew_later_replaces_what_is_left_of_it(kept: Kept) -> None:
    pruned(kept)
    path = kept.logs / "both.log"
    path.write_text(path.read_text("utf-8") + line("b3") + "\n", "utf-8")
    kept.ingest()
    assert kept.requests() == ["b1", "b2", "b3", "m1", "s1"]
    assert pruned(kept) == [Pruned("2025-11-29", streams=2, tokens=4)]
    assert len(kept.files()) == 4  # what is pruned of a day is one file again
    assert kept.requests() == ["b2", "m1", "s1"]


@ON_DISK
def test_the_bytes_go_with_vacuum_and_not_before(kept: Kept) -> None:
    version = DeltaTable(kept.path / "streams").version()
    pruned(kept)
    then = pl.read_delta(str(kept.path / "streams"), version=version)
    assert then.height == 5
    removed = vacuum(kept.store, grace_ns=0)
    assert len(removed) == 2
    assert kept.requests() == ["b2", "m1", "s1"]


def test_rows_that_come_meanwhile_go_too(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    write = DeltaFiles._write
    raced: list[bool] = []

    def late(self: DeltaFiles, table: DeltaTable, change: Change) -> None:
        if not raced:
            raced.append(True)
            kept.write("late", "l1")
            kept.ingest()
        write(self, table, change)

    monkeypatch.setattr(DeltaFiles, "_write", late)
    assert pruned(kept) == [Pruned("2025-11-29", streams=3, tokens=6)]
    assert kept.requests() == ["b2", "m1", "s1"]


@ON_DISK
def test_a_pruning_whose_answer_is_lost_is_done(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_answer(monkeypatch, "streams")
    pruned(kept)
    assert kept.requests() == ["b2", "m1", "s1"]
    assert verify(kept.store) == []


@ON_DISK
def test_latency_rows_that_are_not_there_cannot_be_kept(kept: Kept) -> None:
    with pytest.raises(
        StoreError, match=r"no latency rows of 2025-11-29 .*`tokengap store latency`"
    ):
        prune(kept.store, "2025-11-30", kept.scratch, keep_latency=True)
    assert len(kept.requests()) == 5


@ON_DISK
def test_a_newer_reader_of_the_format_brings_the_rows_back(kept: Kept) -> None:
    pruned(kept)
    kept.ingest(adapters=(FakeAdapter(version=2),))
    assert kept.requests() == ["b1", "b2", "f1", "m1", "s1"]
    assert verify(kept.store) == []


def test_when_a_load_was_read_outlives_mergers_and_prunings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(tmp_path)
    kept.write("first", "f1")
    kept.write("second", "s1")
    monkeypatch.setattr(parts, "now_ns", lambda: NOON_NS + HOUR_NS)
    kept.ingest()
    compact(kept.store, kept.scratch, many_files=1)
    assert [part.loaded_ns for part in kept.store.live_parts()] == [NOON_NS + HOUR_NS] * 2
    monkeypatch.setattr(parts, "now_ns", lambda: NOON_NS + 2 * HOUR_NS)
    kept.write("second", "s1", "s2")
    kept.ingest()  # what stays of the merged file is rewritten
    prune(kept.store, "2025-11-30", kept.scratch, keep_latency=False)
    found = {
        Path(part.provenance.files[0].name).stem: part.loaded_ns for part in kept.store.live_parts()
    }
    assert found == {"first": NOON_NS + HOUR_NS, "second": NOON_NS + 2 * HOUR_NS}
