from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.store.fakes import FAKE, NOON_NS, FakeAdapter, line, log
from tokengap.adapters.interface import Intake
from tokengap.adapters.source import Source
from tokengap.errors import InputError, KeyCollisionError
from tokengap.store.ingest import ingest
from tokengap.store.load import Loads
from tokengap.store.load import load as load_with
from tokengap.store.parts import read_parts

JOINING = (FakeAdapter(joins_files=True),)


def load(
    *paths: str,
    scratch: Path,
    trace: str | None = None,
    adapters: tuple[FakeAdapter, ...] = FAKE,
    format_name: str | None = None,
) -> Loads:
    return load_with(paths, scratch, trace=trace, adapters=adapters, format_name=format_name)


def rows(loads: Loads) -> list[tuple[str, str, str]]:
    tables = [pq.read_table(part.uri) for part in loads.parts]
    return [
        (row["trace"], row["request_id"], row["source"])
        for table in tables
        for row in table.select(["trace", "request_id", "source"]).to_pylist()
    ]


def test_a_log_becomes_one_part(tmp_path: Path) -> None:
    path = log(tmp_path / "run.log", line("r1", 100, 107, 110), line("r2", 5), "{broken")
    loads = load(path, scratch=tmp_path)
    [loaded] = loads.loaded
    [source] = loaded.sources
    identity = f"fake:{source.sha256[:16]}"
    assert rows(loads) == [("run", "r1", f"{identity}:1"), ("run", "r2", f"{identity}:2")]
    assert (loaded.streams, loaded.tokens) == (2, 4)
    assert loaded.rejects.select(["source", "source_name", "line"]).to_pylist() == [
        {"source": identity, "source_name": path, "line": 3}
    ]
    assert loaded.clocks["id"].to_pylist() == ["host"]
    [part] = loaded.parts
    assert read_parts(part.uri) == [part]
    assert part.day is None
    assert [file.name for file in part.provenance.files] == [path]
    assert part.provenance.files[0].size_bytes == source.path.stat().st_size


def test_the_trace_can_be_named(tmp_path: Path) -> None:
    path = log(tmp_path / "run.log", line("r1"))
    loads = load(path, scratch=tmp_path, trace="monday")
    assert [row[0] for row in rows(loads)] == ["monday"]
    assert loads.loaded[0].provenance.options == {"trace": "monday"}


def test_each_file_is_a_load_of_its_own(tmp_path: Path) -> None:
    paths = [log(tmp_path / f"{name}.log", line(name)) for name in "ba"]
    loads = load(*paths, scratch=tmp_path)
    assert [row[:2] for row in rows(loads)] == [("b", "b"), ("a", "a")]
    assert len(loads.loaded) == 2


def test_files_of_a_joining_format_are_one_load(tmp_path: Path) -> None:
    paths = [log(tmp_path / f"{name}.log", line(name)) for name in "ba"]
    loads = load(*paths, scratch=tmp_path, adapters=JOINING)
    assert [row[:2] for row in rows(loads)] == [("b", "b"), ("b", "a")]
    assert [file.name for file in loads.loaded[0].provenance.files] == paths


def test_a_named_file_of_rejects_only_is_an_error(tmp_path: Path) -> None:
    good = log(tmp_path / "good.log", line("r"))
    bad = log(tmp_path / "bad.log", "one", "two", "three", "four")
    with pytest.raises(InputError) as caught:
        load(good, bad, scratch=tmp_path, format_name="fake")
    shown = str(caught.value).splitlines()
    assert "bad.log: not one stream could be read as fake, 4 records were rejected" in shown[0]
    assert "expected: lines of a made-up log" in shown[0]
    assert [each.strip() for each in shown[1:-1]] == [
        f"{bad}:{number}: no line of this log: JSONDecodeError" for number in (1, 2, 3)
    ]
    assert shown[-1].strip() == (
        f"{bad}: it does not look like fake, but like text that is not JSON, beginning 'one'; "
        "nearest: fake (but no fake, times)"
    )


def test_a_file_of_rejects_only_in_a_folder_is_kept_for_the_report(tmp_path: Path) -> None:
    log(tmp_path / "logs" / "bad.log", '{"fake": "x", "times": 3}')
    log(tmp_path / "logs" / "good.log", line("r"))
    loads = load(str(tmp_path / "logs"), scratch=tmp_path)
    found = [(loaded.streams, loaded.rejects.num_rows) for loaded in loads.loaded]
    assert found == [(0, 1), (1, 0)]


def test_a_folder_of_rejects_only_is_an_error(tmp_path: Path) -> None:
    log(tmp_path / "logs" / "bad.log", '{"fake": "x", "times": 3}')
    with pytest.raises(InputError, match=r"bad.log: not one stream .* 1 record was rejected"):
        load(str(tmp_path / "logs"), scratch=tmp_path)


def test_a_valid_log_without_requests_is_no_error(tmp_path: Path) -> None:
    class Silent(FakeAdapter):
        def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
            del sources, intake
            return iter(())

    loads = load(log(tmp_path / "a.log", line("r")), scratch=tmp_path, adapters=(Silent(),))
    assert [loaded.streams for loaded in loads.loaded] == [0]
    assert rows(loads) == []


def test_two_runs_that_hold_the_same_key_are_refused(tmp_path: Path) -> None:
    paths = [log(tmp_path / run / "out.log", line("other"), line("r", n, n + 1)) for n, run in
             enumerate(("monday", "tuesday"))]  # fmt: skip
    with pytest.raises(KeyCollisionError) as caught:
        load(*paths, scratch=tmp_path)
    shown = str(caught.value)
    assert f"{paths[0]}:1" in shown
    assert f"{paths[1]}:1" in shown
    assert "trace out, request_id other, attempt 0, choice 0, vantage client" in shown
    assert "--trace NAME" in shown


def test_a_log_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    class Writing(FakeAdapter):
        def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
            yield from super().read(sources, intake)
            with sources[0].path.open("a") as file:
                file.write(line("later"))

    path = log(tmp_path / "live.log", line("r"))
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"live\.log: changed while it was read"):
        load(path, scratch=tmp_path, adapters=(Writing(),))
    assert set(tmp_path.iterdir()) == before


def test_a_log_that_vanishes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    class Removing(FakeAdapter):
        def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
            sources[0].path.unlink()
            yield from super().read(sources, intake)

    path = log(tmp_path / "gone.log", line("r"))
    with pytest.raises(InputError, match=r"gone\.log: cannot be read"):
        load(path, scratch=tmp_path, adapters=(Removing(),))
    assert list(tmp_path.iterdir()) == []


def test_a_store_gives_its_live_parts_beside_logs(tmp_path: Path) -> None:
    stored = log(tmp_path / "stored.log", line("r1", NOON_NS))
    fresh = log(tmp_path / "fresh.log", line("r1", NOON_NS))
    store = str(tmp_path / "store")
    ingest([stored], store, tmp_path, adapters=FAKE)
    loads = load(fresh, store, scratch=tmp_path)
    assert [row[:2] for row in rows(loads)] == [("stored", "r1"), ("fresh", "r1")]
    assert [[part.day for part in parts] for parts in loads.stored] == [["2025-11-29"]]


def test_two_stores_that_hold_the_same_key_are_refused(tmp_path: Path) -> None:
    path = log(tmp_path / "run.log", line("r1"))
    stores = [str(tmp_path / name) for name in ("one", "two")]
    for store in stores:
        ingest([path], store, tmp_path, adapters=FAKE)
    assert len(load(stores[0], scratch=tmp_path).parts) == 1
    with pytest.raises(KeyCollisionError):
        load(*stores, scratch=tmp_path)


def test_a_log_and_a_store_that_holds_it_are_refused(tmp_path: Path) -> None:
    path = log(tmp_path / "run.log", line("r1"))
    store = str(tmp_path / "store")
    ingest([path], store, tmp_path, adapters=FAKE)
    with pytest.raises(KeyCollisionError, match=r"run.log:1 and .*run.log:1 hold the same stream"):
        load(path, store, scratch=tmp_path)
