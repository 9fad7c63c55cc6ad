import gzip
import io
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.store.fakes import FAKE, FakeAdapter, line, log
from tokengap.adapters.interface import Adapter
from tokengap.errors import InputError, UnknownFormatError, UsageError
from tokengap.store.discover import Found
from tokengap.store.discover import discover as discover_with
from tokengap.store.ingest import ingest


def discover(
    *paths: Path | str,
    scratch: Path,
    adapters: Sequence[Adapter] = FAKE,
    format_name: str | None = None,
) -> Found:
    return discover_with(
        [str(path) for path in paths], scratch, format_name=format_name, adapters=adapters
    )


def names(found: Found, below: Path) -> list[str]:
    return [os.path.relpath(file.source.name, below) for file in found.files]


def test_a_folder_is_read_sorted_without_hidden_files(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in ("b/2.log", "b/1.log", "a.log", ".hidden.log", ".git/x.log", "c.log"):
        log(logs / name, line(name))
    found = discover(logs, scratch=tmp_path)
    assert names(found, logs) == ["a.log", "c.log", "b/1.log", "b/2.log"]
    assert not any(file.named for file in found.files)


def test_a_named_file_is_marked_as_named_even_if_hidden(tmp_path: Path) -> None:
    found = discover(log(tmp_path / ".hidden", line("r")), scratch=tmp_path)
    assert [file.named for file in found.files] == [True]


def test_what_nothing_recognises_in_a_folder_is_listed(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    log(logs / "a.log", line("r"))
    log(logs / "notes.txt", "hello")
    log(logs / "other.json", '{"fake": 1, "b": 2}')
    found = discover(logs, scratch=tmp_path)
    assert names(found, logs) == ["a.log"]
    assert [str(stranger) for stranger in found.unrecognised] == [
        (
            f"{logs}/notes.txt: no known format, looks like text that is not JSON, beginning "
            "'hello'; nearest: fake (but no fake, times)"
        ),
        (
            f"{logs}/other.json: no known format, looks like JSON with the keys b, fake; "
            "nearest: fake (but no times)"
        ),
    ]


def test_what_is_no_file_is_listed(tmp_path: Path) -> None:
    log(tmp_path / "logs" / "a.log", line("r"))
    (tmp_path / "logs" / "gone.log").symlink_to(tmp_path / "nowhere")
    found = discover(tmp_path / "logs", scratch=tmp_path)
    assert [str(stranger) for stranger in found.unrecognised] == [
        f"{tmp_path}/logs/gone.log: a broken link, or no regular file"
    ]


def test_an_unknown_file_named_by_the_user_is_an_error(tmp_path: Path) -> None:
    good = log(tmp_path / "good.log", line("r"))
    bad = log(tmp_path / "bad.json", '{"times": [], "b": 2}')
    with pytest.raises(
        UnknownFormatError, match=r"bad.json: .*keys b, times; nearest: fake \(but no fa"
    ):
        discover(good, bad, scratch=tmp_path)


def test_the_three_nearest_formats_are_shown(tmp_path: Path) -> None:
    adapters = [FakeAdapter(name) for name in ("one", "two", "three", "four")]
    adapters.append(FakeAdapter("near"))
    bad = log(tmp_path / "bad.json", '{"near": 1}')
    with pytest.raises(UnknownFormatError) as caught:
        discover(bad, scratch=tmp_path, adapters=adapters)
    shown = str(caught.value)
    nearest = "near (but no times); one (but no one, times); two (but no two, times)"
    assert f"nearest: {nearest}; `tokengap" in shown


def test_a_folder_without_any_known_file_is_an_error(tmp_path: Path) -> None:
    for number in range(12):
        log(tmp_path / "logs" / f"{number:02}.txt", "hello")
    with pytest.raises(UnknownFormatError) as caught:
        discover(tmp_path / "logs", scratch=tmp_path)
    shown = str(caught.value).splitlines()
    assert "logs: nothing to read" in shown[0]
    assert len(shown) == 1 + 10 + 1
    assert shown[-1].strip() == "and 2 more"


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(InputError, match="logs: no files to read"):
        discover(tmp_path / "logs", scratch=tmp_path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file"):
        discover(tmp_path / "nowhere", scratch=tmp_path)


def test_an_empty_file_named_by_the_user_is_an_error(tmp_path: Path) -> None:
    for name, content in (("empty.log", b""), ("empty.gz", gzip.compress(b""))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name} is empty"):
            discover(tmp_path / name, scratch=tmp_path, format_name="fake")


def test_two_formats_that_match_must_be_told_apart(tmp_path: Path) -> None:
    adapters = (FakeAdapter("fake"), FakeAdapter("other"))
    both = log(tmp_path / "both.log", '{"fake": 1, "other": 1, "times": []}')
    with pytest.raises(
        UnknownFormatError, match=r"both.log looks like fake and other; .*--format NAME"
    ):
        discover(both, scratch=tmp_path, adapters=adapters)
    found = discover(both, scratch=tmp_path, adapters=adapters, format_name="other")
    assert [file.adapter.name for file in found.files] == ["other"]


def test_a_named_format_is_believed_for_a_named_file_only(tmp_path: Path) -> None:
    odd = log(tmp_path / "logs" / "odd.log", '{"something": "else"}')
    log(tmp_path / "logs" / "good.log", line("r"))
    assert len(discover(odd, scratch=tmp_path, format_name="fake").files) == 1
    found = discover(tmp_path / "logs", scratch=tmp_path, format_name="fake")
    assert names(found, tmp_path / "logs") == ["good.log"]
    assert len(found.unrecognised) == 1


def test_a_format_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    path = log(tmp_path / "a.log", line("r"))
    with pytest.raises(UsageError, match="--format fakd: no such format; did you mean fake"):
        discover(path, scratch=tmp_path, format_name="fakd")
    with pytest.raises(UsageError, match="--format zzz: no such format; there are: fake"):
        discover(path, scratch=tmp_path, format_name="zzz")


def test_the_same_bytes_are_read_once(tmp_path: Path) -> None:
    first = log(tmp_path / "first.log", line("r"))
    copy = log(tmp_path / "copy.log", line("r"))
    other = log(tmp_path / "other.log", line("s"))  # of the same size
    found = discover(first, other, copy, first, scratch=tmp_path)
    assert names(found, tmp_path) == ["first.log", "other.log"]
    assert found.duplicates == [(copy, first), (first, first)]


def test_standard_input_is_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line("r").encode())))
    [file] = discover("-", scratch=tmp_path).files
    assert (file.source.name, file.source.stem, file.named) == ("-", "stdin", True)


def test_a_store_is_told_from_a_folder_of_logs(tmp_path: Path) -> None:
    path = log(tmp_path / "all" / "a.log", line("r"))
    ingest([path], str(tmp_path / "all" / "store"), tmp_path, adapters=FAKE)
    found = discover(tmp_path / "all" / "store", scratch=tmp_path)
    assert (found.stores, found.files) == ([str(tmp_path / "all" / "store")], [])
    found = discover(tmp_path / "all", scratch=tmp_path)
    assert names(found, tmp_path / "all") == ["a.log"]
    assert [str(stranger) for stranger in found.unrecognised] == [
        f"{tmp_path}/all/store: a store inside the folder; name it to read it"
    ]


def test_a_folder_called_streams_does_not_make_a_store(tmp_path: Path) -> None:
    log(tmp_path / "logs" / "streams" / "a.log", line("r"))
    assert len(discover(tmp_path / "logs", scratch=tmp_path).files) == 1


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Logs in a folder with what is none, a hidden one, folders and a store."""
    logs = tmp_path / "logs"
    for name in ("a-1.log", "a-2.log", "b-1.log", ".a-3.log", "old/a-4.log", "old/deep/a-5.log"):
        log(logs / name, line(name))
    log(logs / "a-notes.txt", "hello")
    ingest([log(tmp_path / "c.log", line("c"))], str(logs / "a-store"), tmp_path, adapters=FAKE)
    return logs


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a-?.log", ["a-1.log", "a-2.log"]),
        ("[ab]-1.log", ["a-1.log", "b-1.log"]),
        ("o*", ["old/a-4.log", "old/deep/a-5.log"]),
        ("**/a-*.log", ["a-1.log", "a-2.log", "old/a-4.log", "old/deep/a-5.log"]),
        ("**", ["a-1.log", "a-2.log", "b-1.log", "old/a-4.log", "old/deep/a-5.log"]),
        ("*/a-*", ["old/a-4.log"]),
        (".a*", [".a-3.log"]),
    ],
)
def test_a_pattern_finds_files(many: Path, pattern: str, expected: list[str]) -> None:
    found = discover(many / pattern, scratch=many.parent)
    assert names(found, many) == expected
    assert not any(file.named for file in found.files)
    assert (found.stores, found.duplicates) == ([], [])


def test_what_a_pattern_finds_and_nothing_reads_is_listed(many: Path) -> None:
    log(many / "a-2.log", '{"fake": 1, "b": 2}')
    (many / "a-link.log").symlink_to(many / "nowhere")
    found = discover(many / "a-*", scratch=many.parent)
    assert names(found, many) == ["a-1.log"]
    assert [(Path(left.name).name, left.why.split(",")[0]) for left in found.unrecognised] == [
        ("a-store", "a store; name it to read it"),
        ("a-2.log", "no known format"),
        ("a-link.log", "a broken link"),
        ("a-notes.txt", "no known format"),
    ]


def test_a_pattern_finds_nothing_inside_a_store(many: Path) -> None:
    found = discover(many / "a-1.log", many / "**" / "*.parquet", scratch=many.parent)
    assert names(found, many) == ["a-1.log"]
    assert [Path(left.name).name for left in found.unrecognised] == ["a-store"]


def test_a_pattern_that_finds_nothing_is_an_error(many: Path) -> None:
    with pytest.raises(InputError, match=r"x-\*.log: no file matches this pattern"):
        discover(many / "a-1.log", many / "x-*.log", scratch=many.parent)


def test_a_file_of_that_very_name_is_no_pattern(many: Path) -> None:
    named = log(many / "a-[12].log", line("r"))
    found = discover(named, scratch=many.parent)
    assert [(file.source.name, file.named) for file in found.files] == [(named, True)]
