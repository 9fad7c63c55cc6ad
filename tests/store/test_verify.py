import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.store.fakes import line, log
from tests.store.kept import HOUR_NS, Kept
from tokengap.store.compact import compact
from tokengap.store.delta import Change, NewFile
from tokengap.store.parts import FOOTER_KEY
from tokengap.store.records import Part, footer
from tokengap.store.verify import verify


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A store of four loads, in one file but for one."""
    kept = Kept(tmp_path)
    kept.days_logs(3)
    compact(kept.store, kept.scratch, many_files=2)
    kept.write("03", "a3")
    kept.ingest()
    return kept


def single(kept: Kept) -> Path:
    """The file of one load."""
    [uri] = [uri for uri in kept.files() if "merged" not in uri]
    return Path(uri)


def merged(kept: Kept) -> Path:
    [uri] = [uri for uri in kept.files() if "merged" in uri]
    return Path(uri)


def problems(kept: Kept) -> list[tuple[str, str]]:
    return [(problem.place, problem.says) for problem in verify(kept.store)]


def test_a_store_is_well(kept: Kept) -> None:
    assert problems(kept) == []


def test_a_flipped_bit_is_found(kept: Kept) -> None:
    file = merged(kept)
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)
    assert problems(kept) == [
        (str(file), "its bytes are not those that were committed; restore the file")
    ]


def test_a_short_file_is_found(kept: Kept) -> None:
    file, size_bytes = single(kept), single(kept).stat().st_size
    file.write_bytes(file.read_bytes()[:-1])
    assert problems(kept) == [
        (str(file), f"{size_bytes - 1} bytes, {size_bytes} were committed; restore the file")
    ]


def test_a_missing_file_is_found_in_every_table(kept: Kept) -> None:
    files = [single(kept)]
    files += [Path(table.live()[0]) for table in kept.store.beside.values()]
    for file in files:
        file.unlink()
    assert problems(kept) == [
        (str(file), "the file is missing; restore it, or load its sources again") for file in files
    ]


def test_a_file_that_no_commit_names_is_found_after_the_grace(kept: Kept) -> None:
    stray = single(kept).with_name("stray.parquet")
    shutil.copy(single(kept), stray)
    assert verify(kept.store, grace_ns=HOUR_NS) == []
    [problem] = verify(kept.store, grace_ns=0)
    assert problem.place == str(stray)
    assert "no commit names it" in problem.says


def commit(kept: Kept, table: pa.Table, parts: list[Part], rows: int) -> str:
    """Commit a file that a faulty writer made, in place of the single one."""
    path = kept.scratch / "faulty.parquet"
    pq.write_table(table.replace_schema_metadata({FOOTER_KEY: footer(parts)}), path)
    old, streams = single(kept), kept.store.streams
    file = streams.put(path, rows, "2025-11-29")
    streams.commit(lambda _: Change((NewFile(file.uri, rows, file.day),), (str(old),)))
    return file.uri


def one(kept: Kept) -> tuple[pa.Table, Part]:
    [part] = [part for part in kept.store.live_parts() if "merged" not in part.uri]
    return pq.read_table(part.uri), part


def test_other_rows_than_committed_are_found(kept: Kept) -> None:
    table, part = one(kept)
    uri = commit(kept, pa.concat_tables([table, table]), [part], rows=1)
    assert problems(kept) == [
        (uri, "2 rows, its commit says 1 row"),
        (uri, "1 row of no load"),
    ]


def test_an_unknown_column_is_found(kept: Kept) -> None:
    table, part = one(kept)
    uri = commit(kept, table.append_column("extra", pa.array([1])), [part], rows=1)
    assert problems(kept) == [(uri, "column extra is none of this table, or of another type")]


def test_a_column_of_another_type_is_found(kept: Kept) -> None:
    table, part = one(kept)
    index = table.schema.get_field_index("sent_ns")
    floats = table.set_column(index, "sent_ns", table["sent_ns"].cast(pa.float64(), safe=False))
    uri = commit(kept, floats, [part], rows=1)
    assert problems(kept) == [(uri, "column sent_ns is none of this table, or of another type")]


def test_rows_of_another_load_are_found(kept: Kept) -> None:
    table, part = one(kept)
    stranger = pq.read_table(merged(kept)).slice(0, 1)
    uri = commit(kept, stranger, [part], rows=1)
    [(place, says)] = problems(kept)
    source = stranger["source"][0].as_py().rsplit(":", 1)[0]
    assert place == uri
    assert says == f"rows of {source} among those of {part.provenance.names}"
    assert table["source"] != stranger["source"]


def test_other_tokens_than_stated_are_found(kept: Kept) -> None:
    table, part = one(kept)
    index = table.schema.get_field_index("output_tokens")
    three = pa.array([3], pa.int32())
    uri = commit(kept, table.set_column(index, table.schema.field(index), three), [part], rows=1)
    assert problems(kept) == [(uri, f"3 tokens of {part.provenance.names}, it says 2")]


def test_a_load_without_its_rejects_is_found(kept: Kept) -> None:
    rejects = kept.store.tables[1]
    [uri] = rejects.live()
    rejects.commit(lambda _: Change(remove=(uri,)))
    assert problems(kept) == [(str(kept.logs / "01.log"), "0 rejects, its commit says 1")]


def test_a_load_without_some_of_its_parts_is_found(kept: Kept) -> None:
    name = log(kept.logs / "two.log", line("x1"), line("x2", 1000, 1009), "{")
    kept.ingest(name)
    [uri] = [part.uri for part in kept.store.live_parts() if part.day == "1970-01-01"]
    kept.store.streams.commit(lambda _: Change(remove=(uri,)))
    assert problems(kept) == [
        (name, "1 streams, its commit says 2"), (name, "2 tokens, its commit says 4"),
    ]  # fmt: skip
