"""Stores of small logs, for the tests of what happens to them later."""

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from tests.store.fakes import FAKE, NOON_NS, FakeAdapter, line, log
from tokengap.store.delta import Change, DeltaFiles
from tokengap.store.ingest import IngestSummary, ingest
from tokengap.store.places import file_system
from tokengap.store.records import uris
from tokengap.store.tables import Store

HOUR_NS: Final = 3600 * 10**9
ON_DISK: Final = pytest.mark.parametrize("place", ["disk"], indirect=True)
"""Of tests that would say nothing new of a bucket, or reach into the files themselves."""


def rows_of(uri: str, *columns: str) -> pa.Table:
    """What a file holds, wherever it is; of all columns, unless some are named."""
    filesystem, path = file_system(uri)
    return pq.read_table(filesystem.open_input_file(path), columns=list(columns) or None)


def files_below(place: str) -> list[str]:
    """Names of the data files there, whether a commit names them or not."""
    filesystem, path = file_system(place)
    found = filesystem.get_file_info(pafs.FileSelector(path, recursive=True, allow_not_found=True))
    paths = (info.path for info in found if info.path.endswith(".parquet"))
    return sorted(path.rsplit("/", 1)[-1] for path in paths if "/_delta_log/" not in path)


def lose_answer(monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    """The next commit to a table is sent twice, for its answer is lost: done, told as refused."""
    write = DeltaFiles._write
    lost: list[bool] = []

    def late(self: DeltaFiles, version: DeltaTable, change: Change) -> None:
        write(self, version, change)
        if self.uri.endswith(f"/{table}") and not lost:
            lost.append(True)
            raise CommitFailedError("it is there already")

    monkeypatch.setattr(DeltaFiles, "_write", late)


class Kept:
    """A folder with logs, the store they go into (at `place`), and a scratch folder."""

    def __init__(self, folder: Path, place: str = "") -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir(exist_ok=True)
        self.root = place or str(folder / "store")
        self.path = Path(self.root)
        self.logs = folder / "logs"

    @property
    def store(self) -> Store:
        """The store, without anything remembered of it."""
        return Store(self.root)

    def write(self, name: str, *requests: str, start_ns: int = NOON_NS, bad: int = 0) -> str:
        """A log of a stream of two tokens per request, and of lines that are none."""
        lines = [line(request, start_ns, start_ns + 7) for request in requests]
        return log(self.logs / f"{name}.log", *lines, *["{"] * bad)

    def ingest(self, *paths: str, adapters: tuple[FakeAdapter, ...] = FAKE) -> IngestSummary:
        """Load these paths, or all logs."""
        wanted = paths or (str(self.logs),)
        return ingest(wanted, self.root, self.scratch, adapters=adapters)

    def days_logs(self, count: int) -> None:
        """Load that many logs of one day; every other one has a line that is none."""
        for number in range(count):
            self.write(f"{number:02}", f"a{number}", f"b{number}", bad=number % 2)
        self.ingest()

    def requests(self) -> list[str]:
        """Request ids of every row that a reader of the latest version sees."""
        tables = [rows_of(uri, "request_id") for uri in self.files()]
        return sorted(each for table in tables for each in table["request_id"].to_pylist())

    def files(self) -> list[str]:
        """Files of the latest version of `streams`."""
        return uris(self.store.live_parts())

    @property
    def version(self) -> int:
        """The latest version of `streams`."""
        number: int = self.store.streams.ensure().version()
        return number
