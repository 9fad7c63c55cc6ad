"""Stores of small logs, for the tests of what happens to them later."""

from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from tests.store.fakes import FAKE, NOON_NS, FakeAdapter, line, log
from tokengap.store.ingest import IngestSummary, ingest
from tokengap.store.records import uris
from tokengap.store.tables import Store

HOUR_NS: Final = 3600 * 10**9


class Kept:
    """A folder with logs, the store they go into, and a scratch folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir(exist_ok=True)
        self.path = folder / "store"
        self.logs = folder / "logs"

    @property
    def store(self) -> Store:
        """The store, without anything remembered of it."""
        return Store(str(self.path))

    def write(self, name: str, *requests: str, start_ns: int = NOON_NS, bad: int = 0) -> str:
        """A log of a stream of two tokens per request, and of lines that are none."""
        lines = [line(request, start_ns, start_ns + 7) for request in requests]
        return log(self.logs / f"{name}.log", *lines, *["{"] * bad)

    def ingest(self, *paths: str, adapters: tuple[FakeAdapter, ...] = FAKE) -> IngestSummary:
        """Load these paths, or all logs."""
        wanted = paths or (str(self.logs),)
        return ingest(wanted, str(self.path), self.scratch, adapters=adapters)

    def days_logs(self, count: int) -> None:
        """Load that many logs of one day; every other one has a line that is none."""
        for number in range(count):
            self.write(f"{number:02}", f"a{number}", f"b{number}", bad=number % 2)
        self.ingest()

    def requests(self) -> list[str]:
        """Request ids of every row that a reader of the latest version sees."""
        tables = [pq.read_table(uri, columns=["request_id"]) for uri in self.files()]
        return sorted(each for table in tables for each in table["request_id"].to_pylist())

    def files(self) -> list[str]:
        """Files of the latest version of `streams`."""
        return uris(self.store.live_parts())
