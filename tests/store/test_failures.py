import gzip
import os
import shutil
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from tests.store import child
from tests.store.fakes import FakeAdapter, line, log
from tests.store.kept import Kept, files_below
from tokengap.adapters.interface import Intake
from tokengap.adapters.source import Source
from tokengap.errors import InputError
from tokengap.store.verify import verify

CHILDREN: Final = get_context("forkserver")
CHILDREN.set_forkserver_preload([child.__name__])

WRITES: Final = [
    ("PartWriter", "close", 1),  # encoding
    ("Beside", "_put", 1),  # rejects
    ("Beside", "_put", 2),  # clocks
    ("DeltaFiles", "put", 1),
    ("DeltaFiles", "put", 2),
    ("DeltaFiles", "put", 3),  # streams
    ("DeltaFiles", "_write", 1),  # the commit of rejects
    ("DeltaFiles", "_write", 2),
    ("DeltaFiles", "_write", 3),
]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    kept = Kept(tmp_path)
    kept.write("a", "a1", bad=1)
    return kept


def state(kept: Kept) -> tuple[list[str], int, int, list[str]]:
    """What a reader sees, and what lies in `streams`."""
    store = kept.store
    files = files_below(f"{kept.root}/streams")
    return kept.requests(), store.rejects().num_rows, store.clocks().num_rows, files


def load_on_a_full_disk(kept: Kept, *point: Any) -> str:
    """What the ingest of a log says that cannot be written at that point."""
    path, says = kept.write("b", "b1", "b2", bad=1), kept.folder / "says"
    arguments = (path, kept.root, kept.scratch, says, *point)
    process = CHILDREN.Process(target=child.load_on_a_full_disk, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0
    return says.read_text("utf-8")


@pytest.mark.parametrize("point", WRITES)
def test_a_full_disk_is_said_and_changes_nothing(kept: Kept, point: tuple[str, str, int]) -> None:
    kept.ingest()
    before = state(kept)
    said = load_on_a_full_disk(kept, *point)
    assert "cannot be written" in said
    assert "File too large" in said or "os error 27" in said
    assert state(kept) == before
    assert list(kept.scratch.glob("*.partial")) == []
    assert verify(kept.store, grace_ns=0) == []
    kept.ingest()
    assert kept.requests() == ["a1", "b1", "b2"]
    assert (kept.store.rejects().num_rows, kept.store.clocks().num_rows) == (2, 2)


@pytest.mark.parametrize("point", [("DeltaFiles", "_create", 1), *WRITES])
def test_a_first_load_on_a_full_disk_can_be_loaded_later(
    kept: Kept, point: tuple[str, str, int]
) -> None:
    (kept.logs / "a.log").unlink()
    said = load_on_a_full_disk(kept, *point)
    assert "cannot be" in said
    assert state(kept) == ([], 0, 0, [])
    kept.ingest()
    assert kept.requests() == ["b1", "b2"]
    assert verify(kept.store, grace_ns=0) == []


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_a_cut_gz_among_good_ones_is_named(kept: Kept, share: float) -> None:
    kept.ingest()
    before = state(kept)
    kept.write("b", "b1")
    whole = gzip.compress("".join(f"{line(f'c{n}')}\n" for n in range(5000)).encode())
    cut = kept.logs / "c.log.gz"
    cut.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(InputError, match=r"c.log.gz: .*cut or damaged"):
        kept.ingest()
    assert state(kept) == before


@pytest.mark.parametrize("opened", range(1, 7))
def test_a_file_that_may_not_be_read_is_named(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, opened: int
) -> None:
    kept.ingest()
    before = state(kept)
    kept.write("b", "b1")
    kept.write("c", "c1")
    original, opens = Path.open, list[str]()

    def guarded(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self.name == "c.log":
            opens.append(self.name)
            if len(opens) >= opened:
                raise PermissionError(13, "Permission denied", str(self))
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", guarded)
    with pytest.raises(InputError, match=r"c.log: cannot be read \(.*Permission denied"):
        kept.ingest()
    assert len(opens) >= opened
    assert state(kept) == before


class Vanishing(FakeAdapter):
    """Reads a log while somebody removes the folder."""

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        folder = sources[0].path.parent
        yield from super().read(sources, intake)
        shutil.rmtree(folder)


def test_a_folder_that_vanishes_is_named(kept: Kept) -> None:
    kept.ingest()
    before = state(kept)
    for name in ("b", "c"):
        log(kept.folder / "other" / f"{name}.log", line(name))
    with pytest.raises(InputError, match=r"other/b.log: cannot be read \(.*No such file"):
        kept.ingest(str(kept.folder / "other"), adapters=(Vanishing(),))
    assert state(kept) == before
    with pytest.raises(InputError, match=r"other: no such file"):
        kept.ingest(str(kept.folder / "other"))


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="not Linux")  # noqa: PTH110
def test_a_file_with_a_broken_disk_below_is_named(kept: Kept) -> None:
    with pytest.raises(InputError, match=r"/proc/self/mem: cannot be read \(.*error"):
        kept.ingest(str(kept.logs), "/proc/self/mem")
    assert not kept.path.exists()
