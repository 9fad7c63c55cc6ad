from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from tests.store.fakes import FAKE, NOON_NS, FakeAdapter, line, log
from tests.store.kept import ON_DISK, Kept, files_below, lose_answer, rows_of
from tokengap.errors import KeyCollisionError, StoreError
from tokengap.store import copies
from tokengap.store.compact import Merged, compact
from tokengap.store.delta import Change, DeltaFiles
from tokengap.store.verify import verify
from tokengap.utc import DAY_NS


@pytest.fixture
def kept(tmp_path: Path, place: str) -> Kept:
    return Kept(tmp_path, place)


def merge(kept: Kept, many_files: int = 3, target_bytes: int = 2**20) -> list[Merged]:
    """Merge; what was done to `streams`."""
    found = compact(kept.store, kept.scratch, many_files=many_files, target_bytes=target_bytes)
    return [merged for merged in found if merged.place not in kept.store.beside]


def rows(kept: Kept) -> pl.DataFrame:
    return pl.DataFrame(pa.concat_tables(map(rows_of, kept.files()))).sort("request_id")


def merged(kept: Kept) -> list[str]:
    return [name for name in files_below(f"{kept.root}/streams") if name.startswith("merged")]


def test_a_days_files_become_one_with_the_same_rows(kept: Kept) -> None:
    kept.days_logs(4)
    before, loads = rows(kept), [part.provenance for part in kept.store.live_parts()]
    assert merge(kept) == [Merged("2025-11-29", 4, 1)]
    assert len(kept.files()) == 1
    assert rows(kept).equals(before)
    assert before.height == 8
    parts = kept.store.live_parts()
    assert [part.provenance for part in parts] == loads
    assert [(part.first_row, part.streams, part.tokens) for part in parts] == [
        (0, 2, 4), (2, 2, 4), (4, 2, 4), (6, 2, 4),
    ]  # fmt: skip
    assert verify(kept.store) == []


@ON_DISK
def test_a_second_time_changes_nothing(kept: Kept) -> None:
    kept.days_logs(4)
    merge(kept)
    version, files = kept.version, kept.files()
    assert merge(kept) == []
    assert (kept.version, kept.files()) == (version, files)
    assert list(kept.scratch.glob("merged*")) == []


@ON_DISK
def test_a_day_with_few_files_is_left_alone(kept: Kept) -> None:
    kept.days_logs(3)
    assert merge(kept) == []
    assert len(kept.files()) == 3


@ON_DISK
def test_days_and_formats_are_not_mixed(kept: Kept) -> None:
    both = (*FAKE, FakeAdapter(name="other"))
    for day in range(2):
        for number in range(2):
            at_ns = NOON_NS + day * DAY_NS
            kept.write(f"{day}{number}", f"r{day}{number}", start_ns=at_ns)
            log(kept.logs / f"o{day}{number}.log", line(f"o{day}{number}", at_ns, key="other"))
    kept.ingest(adapters=both)
    assert merge(kept) == [Merged("2025-11-29", 4, 2), Merged("2025-11-30", 4, 2)]
    found = {
        (part.day, part.provenance.adapter, Path(part.uri).parent.name)
        for part in kept.store.live_parts()
    }
    assert found == {
        (day, name, f"day={day}")
        for day in ("2025-11-29", "2025-11-30")
        for name in ("fake", "other")
    }


@ON_DISK
def test_files_are_filled_to_the_target_and_no_further(kept: Kept) -> None:
    kept.days_logs(6)
    sizes = [file.size_bytes for file in kept.store.streams.files().values()]
    assert max(sizes) < 1.2 * min(sizes)
    # Two files are less than 2.5 of them, three are more: twice three become one.
    assert merge(kept, target_bytes=int(2.5 * min(sizes))) == [Merged("2025-11-29", 6, 2)]
    assert len(kept.requests()) == 12


@ON_DISK
def test_files_of_half_the_target_are_done(kept: Kept) -> None:
    kept.days_logs(6)
    smallest = min(file.size_bytes for file in kept.store.streams.files().values())
    assert merge(kept, target_bytes=2 * smallest) == []


@ON_DISK
def test_what_is_there_already_stays_known(kept: Kept) -> None:
    kept.days_logs(4)
    before = kept.ingest()
    merge(kept)
    after = kept.ingest()
    assert not after.changed
    assert after.outcomes == before.outcomes
    assert [(o.streams, o.tokens, o.rejects) for o in after.outcomes] == [
        (2, 4, 0), (2, 4, 1), (2, 4, 0), (2, 4, 1),
    ]  # fmt: skip


def test_a_newer_load_replaces_just_its_rows(kept: Kept) -> None:
    kept.days_logs(4)
    merge(kept)
    log(kept.logs / "01.log", line("a1"), line("b1"), "{", line("c1"))
    [outcome] = [o for o in kept.ingest().outcomes if o.action != "already loaded"]
    assert (outcome.action, outcome.reason, outcome.streams) == (
        "replaced", "the log has grown", 3,
    )  # fmt: skip
    expected = sorted([f"{kind}{number}" for kind in "ab" for number in range(4)] + ["c1"])
    assert kept.requests() == expected
    assert [part.first_row for part in kept.store.live_parts() if "merged" in part.uri] == [0, 2, 4]
    assert verify(kept.store) == []
    assert not kept.ingest().changed


@ON_DISK
def test_all_of_a_merged_file_can_be_replaced(kept: Kept) -> None:
    kept.days_logs(4)
    merge(kept)
    summary = kept.ingest(adapters=(FakeAdapter(version=2),))
    assert {outcome.action for outcome in summary.outcomes} == {"replaced"}
    assert len(kept.requests()) == 8
    assert len(kept.files()) == 4


@ON_DISK
def test_a_key_in_a_merged_file_is_not_free(kept: Kept) -> None:
    kept.days_logs(4)
    merge(kept)
    # trace and request as in 02.log, which is not read again
    other = log(kept.folder / "other" / "02.log", line("a2", NOON_NS, NOON_NS + 8))
    with pytest.raises(KeyCollisionError, match=r"02.log:1"):
        kept.ingest(other)
    assert len(kept.requests()) == 8


@ON_DISK
def test_the_version_before_can_still_be_read(kept: Kept) -> None:
    kept.days_logs(4)
    version, before = kept.version, rows(kept)
    merge(kept)
    then = pl.read_delta(str(kept.path / "streams"), version=version).sort("request_id")
    assert then.drop("day").equals(before)


@ON_DISK
def test_the_log_says_that_no_row_changed(kept: Kept) -> None:
    kept.days_logs(4)
    merge(kept)
    entries = sorted((kept.path / "streams" / "_delta_log").glob("*.json"))
    text = entries[-1].read_text("utf-8")
    assert text.count('"dataChange":false') == 5  # four files go, one comes
    assert '"dataChange":true' not in text


def race(monkeypatch: pytest.MonkeyPatch, kept: Kept, then: str) -> None:
    """Another writer comes in just before the merger's commit."""
    write = DeltaFiles._write
    raced: list[bool] = []

    def late(self: DeltaFiles, table: DeltaTable, change: Change) -> None:
        if change.same_rows and not raced:
            raced.append(True)
            kept.ingest() if then == "ingest" else merge(kept)
        write(self, table, change)

    monkeypatch.setattr(DeltaFiles, "_write", late)


def test_an_ingest_meanwhile_is_kept(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.days_logs(4)
    kept.write("new", "n")
    race(monkeypatch, kept, "ingest")
    assert merge(kept) == [Merged("2025-11-29", 4, 1)]
    assert len(kept.requests()) == 9
    assert len(kept.files()) == 2


def test_rows_that_are_replaced_meanwhile_do_not_come_back(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.days_logs(4)
    kept.write("02", "a2", "b2", "c2")
    race(monkeypatch, kept, "ingest")
    assert merge(kept) == [Merged("2025-11-29", 4, 1)]
    assert sorted(kept.requests()).count("a2") == 1
    assert "c2" in kept.requests()
    assert len(merged(kept)) == 1  # the refused one is gone


@ON_DISK
def test_a_merger_whose_answer_is_lost_is_done(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.days_logs(4)
    lose_answer(monkeypatch, "streams")
    merge(kept)
    assert len(kept.files()) == 1
    assert len(kept.requests()) == 8
    assert verify(kept.store, grace_ns=0) == []


def test_of_two_mergers_one_counts(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.days_logs(4)
    race(monkeypatch, kept, "merge")
    assert merge(kept) == []
    assert len(kept.files()) == 1
    assert len(merged(kept)) == 1


@ON_DISK
def test_a_table_that_never_stands_still_is_an_error(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.days_logs(4)

    def refused(*_: object) -> None:
        raise CommitFailedError("another writer")

    monkeypatch.setattr(DeltaFiles, "_write", refused)
    with pytest.raises(StoreError, match="other writers keep changing it"):
        merge(kept)
    assert len(list((kept.path / "streams").rglob("*.parquet"))) == 4


@ON_DISK
def test_a_damaged_file_is_not_merged(kept: Kept) -> None:
    kept.days_logs(4)
    uri = kept.files()[1]
    table = pq.read_table(uri)
    facts = pq.read_metadata(uri).metadata
    short = table.slice(0, 1).replace_schema_metadata(facts)
    pq.write_table(short, uri)
    with pytest.raises(StoreError, match="rows are missing; see `tokengap store verify`"):
        merge(kept)
    assert len(kept.files()) == 4
    assert list(kept.scratch.glob("merged*")) == []


@ON_DISK
def test_rows_keep_their_order_over_batches(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "BATCH_ROWS", 2)
    for name in ("x", "y"):
        kept.write(name, *(f"{name}{number}" for number in range(5)))
    kept.ingest()
    merge(kept, many_files=1)
    kept.write("x", *(f"x{number}" for number in range(6)))
    kept.ingest()
    [file] = [uri for uri in kept.files() if "merged" in uri]
    assert pq.read_table(file)["request_id"].to_pylist() == [f"y{number}" for number in range(5)]


@ON_DISK
def test_columns_that_came_later_are_null(kept: Kept) -> None:
    kept.days_logs(4)
    for uri in kept.files():
        facts = pq.read_metadata(uri).metadata
        older = pq.read_table(uri).drop_columns(["kv_bytes"]).replace_schema_metadata(facts)
        pq.write_table(older, uri)
    merge(kept)
    [file] = kept.files()
    assert pq.read_table(file)["kv_bytes"].to_pylist() == [None] * 8
