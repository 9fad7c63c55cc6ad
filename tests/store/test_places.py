"""Of stores in buckets: what only they have. What every store does is tested where it is done."""

import os
import sys
from pathlib import Path

import duckdb
import pytest

from tests.store.bucket import BUCKET
from tests.store.kept import Kept, files_below
from tokengap.errors import InputError, StoreError
from tokengap.store.compact import compact
from tokengap.store.delta import DeltaFiles
from tokengap.store.discover import discover
from tokengap.store.parts import read_all, read_parts
from tokengap.store.places import asking, file_system, open_to
from tokengap.store.sql import parquet_scan
from tokengap.store.tables import open_store, prepare_store
from tokengap.store.unnamed import vacuum
from tokengap.store.verify import verify

NOBODY = "http://127.0.0.1:9"


def overwrite(uri: str, content: bytes) -> None:
    filesystem, path = file_system(uri)
    with filesystem.open_output_stream(path) as file:
        file.write(content)


def content_of(uri: str) -> bytes:
    filesystem, path = file_system(uri)
    with filesystem.open_input_stream(path) as file:
        content: bytes = file.read()
    return content


@pytest.fixture
def kept(tmp_path: Path, remote: str) -> Kept:
    kept = Kept(tmp_path, remote)
    kept.days_logs(4)
    return kept


def test_duckdb_reads_a_bucket_without_an_extension(kept: Kept) -> None:
    files = kept.files()
    with duckdb.connect(config={"autoload_known_extensions": False}) as con:
        open_to(con, files)
        open_to(con, files)
        query = f"SELECT request_id FROM {parquet_scan(files)} ORDER BY ALL"
        assert [request for (request,) in con.execute(query).fetchall()] == kept.requests()
        loaded = "SELECT extension_name FROM duckdb_extensions() WHERE loaded"
        assert "httpfs" not in {name for (name,) in con.execute(loaded).fetchall()}


def test_many_footers_are_read_as_one_by_one(kept: Kept) -> None:
    files = kept.files()
    assert read_all(files) == {file: read_parts(file) for file in files}


def test_damage_in_a_bucket_is_found(kept: Kept) -> None:
    flipped, short, *_ = kept.files()
    content = content_of(flipped)
    overwrite(flipped, content[:100] + bytes([content[100] ^ 1]) + content[101:])
    size_bytes = len(content_of(short))
    overwrite(short, content_of(short)[:-1])
    assert [(problem.place, problem.says) for problem in verify(kept.store)] == [
        (flipped, "its bytes are not those that were committed; restore the file"),
        (short, f"{size_bytes - 1} bytes, {size_bytes} were committed; restore the file"),
    ]


def test_what_no_commit_names_goes_from_a_bucket(kept: Kept) -> None:
    before = files_below(kept.root)
    stray = f"{kept.root}/streams/day=2025-11-29/stray.parquet"
    overwrite(stray, b"four")
    assert vacuum(kept.store) == []
    assert [(file.uri, file.size_bytes) for file in vacuum(kept.store, grace_ns=0)] == [(stray, 4)]
    assert files_below(kept.root) == before


def test_what_was_merged_goes_from_a_bucket(kept: Kept) -> None:
    merged = {*kept.files(), *kept.store.beside["clocks"].live()}
    compact(kept.store, kept.scratch, many_files=3)
    assert {file.uri for file in vacuum(kept.store, grace_ns=0)} == merged
    assert verify(kept.store, grace_ns=0) == []
    assert len(kept.requests()) == 8


def test_a_writer_that_wants_no_safety_gets_it(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_S3_ALLOW_UNSAFE_RENAME", "true")
    monkeypatch.setenv("AWS_CONDITIONAL_PUT", "disabled")
    write = DeltaFiles._write
    raced: list[bool] = []

    def late(self: DeltaFiles, table: object, change: object) -> None:
        if not raced:
            raced.append(True)
            kept.write("other", "o")
            kept.ingest(str(kept.logs / "other.log"))
        write(self, table, change)  # type: ignore[arg-type]

    monkeypatch.setattr(DeltaFiles, "_write", late)
    kept.ingest(kept.write("one", "n"))
    assert {"n", "o"} <= set(kept.requests())
    assert len(kept.requests()) == 10


def test_an_upload_that_fails_is_an_error(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    store, file = kept.store, kept.folder / "new.parquet"
    file.write_bytes(b"four")
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOBODY)
    with pytest.raises(StoreError, match="cannot be written"):
        store.streams.put(file, 1, "2025-11-29")


def test_a_service_that_goes_away_is_told_from_an_error_of_the_query(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = kept.files()
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOBODY)
    with duckdb.connect() as con:
        open_to(con, files)
        with pytest.raises(StoreError, match=r"cannot be reached \(.*NETWORK.*is http://127"):
            ask(con, f"FROM {parquet_scan(files)}")
        with pytest.raises(duckdb.Error):
            ask(con, "FROM nowhere")


def ask(con: duckdb.DuckDBPyConnection, query: str) -> None:
    with asking():
        con.execute(query)


def test_a_path_in_a_bucket_is_a_store(kept: Kept) -> None:
    assert discover([kept.root], kept.scratch).stores == [kept.root]
    with pytest.raises(InputError, match="elsewhere: no store; `tokengap ingest` makes one"):
        discover([f"{kept.root}/elsewhere"], kept.scratch)
    with pytest.raises(StoreError, match=r"elsewhere: no store .*`tokengap ingest` makes one"):
        open_store(f"{kept.root}/elsewhere")


def test_a_slash_at_the_end_is_the_same_store(kept: Kept) -> None:
    assert open_store(f"{kept.root}/").live_parts() == kept.store.live_parts()


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("s3://nowhere/store", "there is no bucket nowhere at http://127"),
        ("gs://bucket/store", r"a store is a folder or s3://bucket/prefix"),
        ("s3a://bucket/store", r"a store is a folder or s3://bucket/prefix"),
        ("s3://", "expected s3://bucket/prefix"),
        ("s3://Bucket/store", "expected s3://bucket/prefix"),
        (f"s3://{BUCKET}//store", "expected s3://bucket/prefix"),
        (f"s3://{BUCKET}/a store", "expected s3://bucket/prefix"),
        (f"s3://{BUCKET}/100%", "expected s3://bucket/prefix"),
        (f"s3://{BUCKET}/a?b", "expected s3://bucket/prefix"),
    ],
)
@pytest.mark.usefixtures("remote")
def test_a_place_that_can_be_none_is_refused(uri: str, says: str) -> None:
    for look in (prepare_store, open_store):
        with pytest.raises(StoreError, match=says):
            look(uri)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("AWS_ENDPOINT_URL", NOBODY, rf"cannot be reached .*Could not connect.* is {NOBODY} right"),
        ("AWS_ENDPOINT_URL", "localhost:9000", "expected https://HOST or http://HOST:PORT"),
        ("AWS_ALLOW_HTTP", "", "is not encrypted; use https, or set AWS_ALLOW_HTTP=true"),
        ("AWS_ACCESS_KEY_ID", "", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("AWS_SECRET_ACCESS_KEY", "", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ],
)
def test_what_the_environment_lacks_is_said(
    remote: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(StoreError, match=says):
        prepare_store(remote)


def test_the_service_may_be_named_for_s3_alone(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", os.environ["AWS_ENDPOINT_URL"])
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOBODY)
    assert len(kept.requests()) == 8


def test_without_the_extra_the_message_names_it(
    remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokengap.store.far", None)
    with pytest.raises(StoreError, match=r"pip install 'tokengap\[s3\]'"):
        prepare_store(remote)
