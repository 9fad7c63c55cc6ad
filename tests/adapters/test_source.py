import gzip
import io
import os
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.source import Line, Source, open_source
from tokengap.errors import InputError

TEXT = b'{"a":1}\n\n{"b":2}\r\n{"c":3}'
LINES = [Line(1, 0, b'{"a":1}'), Line(3, 9, b'{"b":2}'), Line(4, 18, b'{"c":3}')]


def source(path: Path, data: bytes) -> Source:
    path.write_bytes(data)
    return Source(str(path), path)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_lines_have_their_number_and_place_in_the_unpacked_file(tmp_path: Path, pack: type) -> None:
    log = source(tmp_path / "name.without.ending", pack(TEXT))
    assert list(log.lines()) == LINES
    assert log.read() == TEXT
    assert log.head == TEXT


def test_gzip_members_one_after_the_other_are_one_file(tmp_path: Path) -> None:
    log = source(tmp_path / "a.gz", gzip.compress(b"1\n2\n") + gzip.compress(b"3\n"))
    assert [line.data for line in log.lines()] == [b"1", b"2", b"3"]


@given(data=st.text("ab\r\n ", max_size=60).map(str.encode), size=st.integers(1, 20))
def test_blocks_of_any_size_hold_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int
) -> None:
    log = source(tmp_path_factory.mktemp("log") / "log", data)
    blocks = list(log.blocks(size))
    assert b"".join(block.data for block in blocks) == data
    found = [line for block in blocks for line in block.lines()]
    expected = []
    offset = 0
    for number, text in enumerate(data.split(b"\n"), 1):
        if text.strip():
            expected.append(Line(number, offset, text.removesuffix(b"\r")))
        offset += len(text) + 1
    assert found == expected


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_a_cut_file_is_refused_with_its_name(tmp_path: Path, pack: type) -> None:
    packed = pack(b"".join(b'{"i": %d}\n' % i for i in range(200_000)))
    log = source(tmp_path / "cut.jsonl", packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"cut\.jsonl: the compressed file is cut or damaged"):
        list(log.lines())


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("runs/bench_low_rate.json.gz", "bench_low_rate"),
        ("profile_export.jsonl", "profile_export"),
        ("server.log.zst", "server"),
        ("v1.2", "v1.2"),
        ("-", "stdin"),
    ],
)
def test_a_run_is_named_after_its_file(name: str, stem: str) -> None:
    assert Source(name, Path(name)).stem == stem


def test_a_grown_file_is_known_by_its_beginning(tmp_path: Path) -> None:
    old, new = source(tmp_path / "old", b"1\n2\n"), source(tmp_path / "new", b"1\n2\n3\n")
    assert new.digest_of_first(old.size_bytes) == old.sha256
    assert new.digest_of_first(new.size_bytes) == new.sha256 != old.sha256


def test_standard_input_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT))))
    log = open_source("-", tmp_path)
    assert (log.name, list(log.lines())) == ("-", LINES)
    assert log.path.parent == tmp_path


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing-here: no such file"):
        open_source(str(tmp_path / "nothing-here"), tmp_path)


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    log = source(tmp_path / "empty", b"")
    assert (list(log.lines()), log.head, log.read()) == ([], b"", b"")


def test_named_pipe_is_copied_because_it_can_be_read_only_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b'{"a":1}\n',))
    writer.start()
    source = open_source(str(pipe), tmp_path)
    writer.join()
    assert source.read() == source.read() == b'{"a":1}\n'
    assert source.name == str(pipe)
