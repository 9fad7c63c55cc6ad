from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from deltalake import DeltaTable

from tests.store import child
from tests.store.bucket import environment
from tests.store.fakes import FAKE, FakeAdapter, line, log
from tests.store.kept import ON_DISK, files_below
from tokengap.errors import InputError, UnknownFormatError
from tokengap.store.ingest import IngestSummary
from tokengap.store.ingest import ingest as ingest_with
from tokengap.store.tables import Store, is_store, open_store
from tokengap.store.verify import verify

CHILDREN: Final = get_context("forkserver")
"""Processes of their own, from one that has imported what they need."""
CHILDREN.set_forkserver_preload([child.__name__])

BEFORE_STREAMS_ARE_LIVE = [
    ("PartWriter", "close", 1, "before"),
    ("PartWriter", "close", 1, "after"),
    ("DeltaFiles", "_create", 1, "after"),  # only a new store gets here
    ("DeltaFiles", "put", 1, "after"),  # rejects
    ("DeltaFiles", "_write", 1, "after"),
    ("DeltaFiles", "_write", 2, "after"),  # clocks
    ("DeltaFiles", "put", 3, "before"),  # streams
    ("DeltaFiles", "put", 3, "after"),
    ("DeltaFiles", "_write", 3, "before"),
]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def ingest(
    *paths: str,
    store: str,
    adapters: tuple[FakeAdapter, ...] = FAKE,
    trace: str | None = None,
) -> IngestSummary:
    with TemporaryDirectory() as scratch:
        return ingest_with(paths, store, Path(scratch), adapters=adapters, trace=trace)


def actions(summary: IngestSummary) -> list[tuple[str, str]]:
    return [(outcome.action, outcome.reason) for outcome in summary.outcomes]


pytestmark = pytest.mark.usefixtures("scratch")


def test_ingest_says_what_it_did(tmp_path: Path, place: str) -> None:
    a = log(tmp_path / "a.log", line("r1", 1, 5, 9), line("r2", 3), "{")
    b = log(tmp_path / "b.log", line("r1"))
    summary = ingest(a, b, store=place)
    found = [(o.names, o.action, o.reason, o.streams, o.tokens, o.rejects)
             for o in summary.outcomes]  # fmt: skip
    assert found == [(a, "loaded", "", 2, 4, 1), (b, "loaded", "", 1, 2, 0)]
    assert summary.changed


def test_a_second_ingest_changes_nothing_and_reads_nothing(tmp_path: Path, place: str) -> None:
    class Unreadable(FakeAdapter):
        def read(self, *_: object) -> None:  # type: ignore[override]
            raise AssertionError("read again")

    a = log(tmp_path / "a.log", line("r1"), "{")
    ingest(a, store=place)
    summary = ingest(a, store=place, adapters=(Unreadable(),))
    assert not summary.changed
    [outcome] = summary.outcomes
    assert (outcome.action, outcome.reason) == ("already loaded", "")
    assert (outcome.streams, outcome.tokens, outcome.rejects) == (1, 2, 1)


@ON_DISK
def test_a_copy_under_another_name_is_there_already(tmp_path: Path, place: str) -> None:
    a = log(tmp_path / "a.log", line("r1"))
    ingest(a, store=place)
    copy = log(tmp_path / "copy.log", line("r1"))
    assert actions(ingest(copy, store=place)) == [("already loaded", f"as {a}")]


@ON_DISK
def test_each_way_to_be_replaced_is_named(tmp_path: Path, place: str) -> None:
    store = place
    a = log(tmp_path / "a.log", line("r1"))
    assert actions(ingest(a, store=store)) == [("loaded", "")]
    assert actions(ingest(a, store=store, trace="x")) == [("replaced", "other options")]
    log(tmp_path / "a.log", line("r1"), line("r2"))
    assert actions(ingest(a, store=store, trace="x")) == [("replaced", "the log has grown")]
    newer = (FakeAdapter(version=2),)
    assert actions(ingest(a, store=store, trace="x", adapters=newer)) == [
        ("replaced", "fake reads it better now")
    ]
    assert [part.streams for part in open_store(store).live_parts()] == [2]


@ON_DISK
def test_one_bad_file_among_good_ones_keeps_all_out(tmp_path: Path, place: str) -> None:
    good = log(tmp_path / "good.log", line("r1"))
    bad = log(tmp_path / "bad.log", '{"fake": 1, "times": 3}')
    with pytest.raises(InputError, match=r"bad.log: not one stream"):
        ingest(good, bad, store=place)
    unknown = log(tmp_path / "unknown.log", "hello")
    with pytest.raises(UnknownFormatError):
        ingest(good, unknown, store=place)
    assert files_below(place) == []


@ON_DISK
def test_a_folder_keeps_files_of_rejects_only_for_the_report(tmp_path: Path, place: str) -> None:
    log(tmp_path / "logs" / "bad.log", '{"fake": 1, "times": 3}')
    with pytest.raises(InputError, match=r"bad.log: not one stream"):
        ingest(str(tmp_path / "logs"), store=place)
    log(tmp_path / "logs" / "good.log", line("r1"))
    for changed in (True, False):
        summary = ingest(str(tmp_path / "logs"), store=place)
        assert summary.changed is changed
        found = [(outcome.streams, outcome.rejects) for outcome in summary.outcomes]
        assert found == [(0, 1), (1, 0)]


def test_a_store_is_not_ingested(tmp_path: Path, place: str) -> None:
    ingest(log(tmp_path / "a.log", line("r1")), store=place)
    with pytest.raises(InputError, match="store: a store; ingest reads logs"):
        ingest(place, store=f"{place}-other")


def started(*arguments: object) -> BaseProcess:
    process = CHILDREN.Process(target=child.load_and_die, args=arguments)
    process.start()
    return process


def run_until_killed(*arguments: object) -> None:
    process = started(*arguments)
    process.join()
    assert process.exitcode == -9


@ON_DISK
@pytest.mark.parametrize(("owner", "method", "number", "when"), BEFORE_STREAMS_ARE_LIVE)
def test_a_first_load_that_is_killed_leaves_nothing_visible(
    tmp_path: Path, place: str, owner: str, method: str, number: int, when: str
) -> None:
    path, store = log(tmp_path / "a.log", line("r1"), "{"), place
    run_until_killed(
        path, store, tmp_path / "scratch", environment(), 1, owner, method, number, when
    )
    left = Store(store)
    assert (left.live_parts(), left.rejects().num_rows, left.clocks().num_rows) == ([], 0, 0)
    summary = ingest(path, store=store)
    assert actions(summary) == [("loaded", "")]
    assert (left.rejects().num_rows, left.clocks().num_rows) == (1, 1)


@pytest.mark.parametrize(
    ("owner", "method", "number", "when"),
    [point for point in BEFORE_STREAMS_ARE_LIVE if point[1] != "_create"],
)
@ON_DISK
def test_a_newer_load_that_is_killed_leaves_the_older_one(
    tmp_path: Path, place: str, owner: str, method: str, number: int, when: str
) -> None:
    path, store = log(tmp_path / "a.log", line("r1"), "{"), place
    ingest(path, store=store)
    old = Store(store)
    before = (old.live_parts(), old.rejects(), old.clocks())
    run_until_killed(
        path, store, tmp_path / "scratch", environment(), 2, owner, method, number, when
    )
    assert (old.live_parts(), old.rejects(), old.clocks()) == before


@ON_DISK
def test_a_load_that_is_killed_after_its_commit_is_there(tmp_path: Path, place: str) -> None:
    path, store = log(tmp_path / "a.log", line("r1"), "{"), place
    run_until_killed(
        path, store, tmp_path / "scratch", environment(), 1, "DeltaFiles", "_write", 3, "after"
    )
    assert actions(ingest(path, store=store)) == [("already loaded", "")]
    assert open_store(store).rejects().num_rows == 1


@ON_DISK
def test_vacuum_removes_what_a_killed_load_left(tmp_path: Path, place: str) -> None:
    path, store = log(tmp_path / "a.log", line("r1")), place
    ingest(path, store=store)
    [live] = [Path(part.uri).name for part in open_store(store).live_parts()]
    run_until_killed(
        path, store, tmp_path / "scratch", environment(), 2, "DeltaFiles", "put", 2, "after"
    )
    assert len(files_below(f"{store}/streams")) == 2
    DeltaTable(f"{store}/streams").vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True
    )
    assert files_below(f"{store}/streams") == [live]


def test_loads_of_one_source_by_several_processes_count_once(tmp_path: Path, place: str) -> None:
    path, store = log(tmp_path / "a.log", line("r1"), "{"), place
    never = ("PartWriter", "close", 0, "before")
    children = []
    for number in range(3):
        scratch = tmp_path / f"scratch{number}"
        scratch.mkdir()
        children.append(started(path, store, scratch, environment(), 1, *never))
    for process in children:
        process.join()
    assert [process.exitcode for process in children] == [0, 0, 0]
    assert is_store(store)
    found = open_store(store)
    assert [part.streams for part in found.live_parts()] == [1]
    assert (found.rejects().num_rows, found.clocks().num_rows) == (1, 1)
    assert len(files_below(f"{store}/streams")) == 1


@pytest.mark.parametrize("before", [0, 1])
def test_overlapping_patterns_at_once_load_each_file_once(
    tmp_path: Path, place: str, before: int
) -> None:
    logs = tmp_path / "logs"
    files = [log(logs / f"{n}.log", line(f"r{n}"), line(f"s{n}"), "{") for n in range(8)]
    for path in files[:before]:
        ingest(path, store=place)
    go = CHILDREN.Barrier(2)
    children = [
        CHILDREN.Process(
            target=child.load_when_told,
            args=([f"{logs}/{which}.log"], place, tmp_path / f"scratch{which}", go, environment()),
        )
        for which in ("[0-5]", "[2-7]")
    ]
    for process in children:
        process.start()
    for process in children:
        process.join()
    assert [process.exitcode for process in children] == [0, 0]
    found = open_store(place)
    parts = found.live_parts()
    assert sorted(part.provenance.names for part in parts) == files
    assert [part.streams for part in parts] == [2] * 8
    assert (found.rejects().num_rows, found.clocks().num_rows) == (8, 8)
    assert len(files_below(f"{place}/streams")) == 8
    assert verify(found, grace_ns=0) == []
