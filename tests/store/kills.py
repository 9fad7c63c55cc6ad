"""Writers of one store that are killed at random moments, with a reader beside them."""

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from tests.store import child
from tests.store.bucket import environment
from tests.store.fakes import NOON_NS, line, log
from tests.store.kept import Kept, rows_of
from tokengap.store.compact import compact
from tokengap.store.places import is_remote
from tokengap.store.records import uris
from tokengap.store.unnamed import vacuum
from tokengap.store.verify import verify
from tokengap.utc import DAY_NS

CHILDREN: Final = get_context("forkserver")
"""Processes of their own, from one that has imported what they need."""
CHILDREN.set_forkserver_preload([child.__name__])

LOGS: Final = 4
LONGEST_LIFE_S: Final = 0.5
LONGEST_LIFE_FAR_S: Final = 2.0
"""A writer needs about half of it to load and merge once, and is killed anywhere on the way."""
BETWEEN_LOOKS_S: Final = 0.01

Rows = Counter[tuple[str, str]]
"""How often each (trace, request) is there."""


@dataclass
class Slaughter:
    """Two writers of overlapping logs; one is killed again and again, at last both."""

    kept: Kept
    kills: int
    seed: int
    snapshots: int = 0
    versions: int = 0
    left_behind: int = 0
    """Files that killed writers put in their place and did not commit."""
    wrong: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    """Logs that were in the store at some moment: from then on they stay."""

    def run(self) -> None:
        """Kill, and look at every snapshot meanwhile; then load, merge and sweep in peace."""
        chance = random.Random(self.seed)  # noqa: S311  # no secret
        longest_s = LONGEST_LIFE_FAR_S if is_remote(self.kept.root) else LONGEST_LIFE_S
        logs = [self._log(number) for number in range(LOGS)]
        other = self._start("other", logs[1:])
        for number in range(self.kills):
            writer = self._start(f"killed{number}", logs[:-1])
            until = time.monotonic() + chance.uniform(0, longest_s)
            while time.monotonic() < until:
                self._look()
                time.sleep(BETWEEN_LOOKS_S)
            self._kill(writer)
        self._kill(other)
        self._look()
        self._finish()

    def _log(self, number: int) -> str:
        """A log over midnight, with a line that is none."""
        lines = [line(f"r{day}", NOON_NS + day * DAY_NS + number) for day in range(2)]
        return log(self.kept.logs / f"{number}.log", *lines, "{")

    def _start(self, name: str, logs: list[str]) -> BaseProcess:
        scratch = self.kept.folder / name
        arguments = (logs, self.kept.root, scratch, environment())
        process = CHILDREN.Process(target=child.churn, args=arguments)
        process.start()
        while process.is_alive() and not scratch.exists():  # until it is at work
            time.sleep(0.002)
        return process

    def _kill(self, process: BaseProcess) -> None:
        process.kill()
        process.join()
        if process.exitcode != -9:
            self.wrong.append(f"a writer ended by itself with {process.exitcode}")

    def _look(self) -> None:
        """Every log in the latest version is there as a whole, once, and none is lost again."""
        self.snapshots += 1
        rows = self._rows()
        there = {trace for trace, _ in rows}
        if rows != _whole(there):
            self.wrong.append(f"snapshot {self.snapshots} holds {sorted(rows.items())}")
        if not self._seen <= there:
            self.wrong.append(f"snapshot {self.snapshots} lost {sorted(self._seen - there)}")
        self._seen |= there

    def _rows(self) -> Rows:
        rows: Rows = Counter()
        for uri in uris(self.kept.store.live_parts()):
            columns = rows_of(uri, "trace", "request_id").to_pydict()
            rows.update(zip(columns["trace"], columns["request_id"], strict=True))
        return rows

    def _finish(self) -> None:
        store = self.kept.store
        self.kept.ingest()
        compact(store, self.kept.scratch, many_files=2)
        self._expect_all("after the last ingest", grace_ns=None)
        removed = vacuum(store, grace_ns=0)
        self.left_behind = sum(not file.named for file in removed)
        latest = store.streams.table()
        self.versions = latest.version() if latest else 0
        self._expect_all("after the vacuum", grace_ns=0)

    def _expect_all(self, when: str, grace_ns: int | None) -> None:
        store = self.kept.store
        problems = verify(store) if grace_ns is None else verify(store, grace_ns=grace_ns)
        self.wrong += [f"{when}: {problem.place}: {problem.says}" for problem in problems]
        if self._rows() != _whole({str(number) for number in range(LOGS)}):
            self.wrong.append(f"{when}: {sorted(self._rows().items())}")
        counts = (store.rejects().num_rows, store.clocks().num_rows)
        if counts != (LOGS, LOGS):
            self.wrong.append(f"{when}: {counts} rejects and clocks, not {LOGS} each")


def _whole(traces: set[str]) -> Rows:
    return Counter((trace, request) for trace in traces for request in ("r0", "r1"))


def slaughter(folder: Path, place: str, kills: int, seed: int) -> Slaughter:
    """Kill that many writers of a store at `place`; what was seen, and what was wrong with it."""
    found = Slaughter(Kept(folder, place), kills, seed)
    found.run()
    return found
