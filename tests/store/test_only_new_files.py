import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.fakes import FakeAdapter, line
from tests.store.kept import Kept
from tokengap.adapters import source
from tokengap.store import records
from tokengap.store.records import FileId


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """Two logs of one size, in the store."""
    kept = Kept(tmp_path)
    kept.write("a", "a1")
    kept.write("b", "b1")
    kept.ingest()
    return kept


@pytest.fixture
def hashed(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are hashed as a whole from now on."""
    names: list[str] = []
    original: Callable[[Path], str] = source._sha256

    def noted(path: Path) -> str:
        names.append(path.stem)
        return original(path)

    monkeypatch.setattr(source, "_sha256", noted)
    assert kept.requests() == ["a1", "b1"]  # before this, they were
    return names


def rewrite(kept: Kept, name: str, old: str, new: str, *, mtime_ns: int | None = None) -> None:
    """Change a log; its time of change is then the old one plus `mtime_ns`, else what it is."""
    path = kept.logs / f"{name}.log"
    then_ns = path.stat().st_mtime_ns
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    if mtime_ns is not None:
        os.utime(path, ns=(0, then_ns + mtime_ns))


def test_what_was_read_is_not_hashed_again(kept: Kept, hashed: list[str]) -> None:
    assert not kept.ingest().changed
    assert hashed == []
    kept.write("c", "c1")
    summary = kept.ingest()
    assert [outcome.action for outcome in summary.outcomes] == [
        "already loaded", "already loaded", "loaded",
    ]  # fmt: skip
    assert hashed == ["c"]
    assert kept.requests() == ["a1", "b1", "c1"]


def test_a_file_that_was_touched_is_hashed(kept: Kept, hashed: list[str]) -> None:
    rewrite(kept, "a", "a1", "a1", mtime_ns=1)
    assert not kept.ingest().changed
    assert hashed == ["a"]


def test_the_first_bytes_are_compared(kept: Kept, hashed: list[str]) -> None:
    rewrite(kept, "a", "a1", "x1", mtime_ns=0)
    assert kept.ingest().changed
    assert hashed == ["a"]
    assert kept.requests() == ["a1", "b1", "x1"]  # another log, for it does not begin as the old


def test_a_file_of_another_name_is_hashed(kept: Kept, hashed: list[str]) -> None:
    path = kept.logs / "a.log"
    path.rename(path.with_stem("z"))
    assert not kept.ingest().changed
    assert hashed == ["z"]


def test_a_log_that_grew_is_hashed_and_read(kept: Kept, hashed: list[str]) -> None:
    path = kept.logs / "a.log"
    path.write_text(path.read_text("utf-8") + line("a2") + "\n", "utf-8")
    assert kept.ingest().changed
    assert hashed == ["a"]
    assert kept.requests() == ["a1", "a2", "b1"]


def test_what_is_read_in_another_way_is_read_again(kept: Kept) -> None:
    summary = kept.ingest(adapters=(FakeAdapter(version=2),))
    assert {(outcome.action, outcome.reason) for outcome in summary.outcomes} == {
        ("replaced", "fake reads it better now")
    }


def test_loads_from_before_this_was_kept_are_hashed(
    kept: Kept, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    footer = records.from_footer

    def older(uri: str, said: bytes) -> list[records.Part]:
        def aged(file: FileId) -> FileId:
            return replace(file, mtime_ns=None)

        return [
            replace(
                part,
                provenance=replace(
                    part.provenance, files=tuple(aged(file) for file in part.provenance.files)
                ),
            )
            for part in footer(uri, said)
        ]

    monkeypatch.setattr("tokengap.store.parts.from_footer", older)
    assert not kept.ingest().changed
    assert sorted(hashed) == ["a", "b"]


def test_a_set_is_known_as_a_whole_or_read_as_a_whole(tmp_path: Path) -> None:
    kept, joining = Kept(tmp_path), (FakeAdapter(joins_files=True),)
    kept.write("a", "a1")
    kept.write("b", "b1")
    assert [outcome.streams for outcome in kept.ingest(adapters=joining).outcomes] == [2]
    assert not kept.ingest(adapters=joining).changed
    kept.write("c", "c1")
    [outcome] = kept.ingest(adapters=joining).outcomes
    assert (outcome.action, outcome.reason, outcome.streams) == (
        "replaced", "read together with more files", 3,
    )  # fmt: skip
    assert kept.requests() == ["a1", "b1", "c1"]
    # A part of the set alone is there, too.
    assert not kept.ingest(str(kept.logs / "b.log"), adapters=joining).changed
