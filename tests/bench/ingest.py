"""How long each adapter takes beside a bare parse of the same bytes.

    python -m tests.bench.ingest [--mib 64] [ADAPTER ...]

Makes a large log of every format from its sample, with ids of its own in each copy, and reads it in
a process of its own. The bare parse reads the same file. For JSON it is orjson over the lines, or
over the document, and over every piece of JSON that is kept as text in them, such as the events of
an answer, which were cut out before; for a table it is polars, and orjson over the lists in its
cells; for other text a search for `name=value`.

Both run in turn, with the collector off as when tokengap loads a file, and the best of several runs
counts: seconds, and seconds of all cores in brackets. Peak memory is that of the first reading. No
time is asserted: the exit code says whether every stream was there.
"""

import argparse
import gc
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import orjson
import polars as pl
from rich.console import Console
from rich.table import Table

from tests.bench.recipes import RECIPES, WITHOUT, Log
from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Adapter, Intake
from tokengap.adapters.source import Source
from tokengap.store.discover import discover
from tokengap.store.load import load_set, source_sets

RUNS: Final = 3
TARGET_RATIO: Final = 3.0
_EVENT: Final = "data: "
_PAIR: Final = re.compile(rb"(\w+)=([^\s,)]+)")


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and of all cores."""

    wall_s: float
    cores_s: float

    def beside(self, other: "Took") -> str:
        return f"{self.wall_s / other.wall_s:.2f} ({self.cores_s / other.cores_s:.2f})"

    def __str__(self) -> str:
        return f"{self.wall_s:.2f} ({self.cores_s:.2f})"


@dataclass(frozen=True)
class Reading:
    """What one adapter did with one log. wrong: what it should have found and did not."""

    size_mib: float
    streams: int
    bare: Took
    read: Took
    loaded: Took
    peak_mib: float
    wrong: str


def timed(work: Callable[[], object], runs: int = 1) -> Took:
    """Best of some runs, each of both by itself."""
    best_wall = best_cores = float("inf")
    for _ in range(runs):
        wall, cores = time.perf_counter(), time.process_time()
        work()
        best_cores = min(best_cores, time.process_time() - cores)
        best_wall = min(best_wall, time.perf_counter() - wall)
    return Took(best_wall, best_cores)


def embedded(value: object) -> Iterator[str]:
    """JSON that is kept as text: whole, or in the events of an answer."""
    if isinstance(value, str):
        if _is_json(value):
            yield value
        elif _EVENT in value:
            events = (line.removeprefix(_EVENT) for line in value.splitlines())
            yield from filter(_is_json, events)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from embedded(item)


def _is_json(text: str) -> bool:
    if text[:1] not in ("{", "["):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def csv_parse(path: Path) -> Callable[[], object]:
    """The baseline for a table."""
    frame = pl.read_csv(path)
    texts = [frame[name] for name, kind in frame.schema.items() if kind == pl.String]
    inner = [cell for column in texts for cell in column if cell is not None and _is_json(cell)]

    def parse() -> None:
        pl.read_csv(path)
        for text in inner:
            orjson.loads(text)

    return parse


def bare_parse(log: Log, path: Path) -> Callable[[], object]:
    """The baseline for a log."""
    if log.kind == "csv":
        return csv_parse(path)
    if log.kind == "text":
        return lambda: _PAIR.findall(path.read_bytes())

    def texts() -> list[bytes]:
        data = path.read_bytes()
        if b"Infinity" in data:
            data = data.replace(b"Infinity", b"null")
        return data.splitlines() if log.kind == "lines" else [data]

    inner = [text for outer in texts() for text in embedded(orjson.loads(outer))]

    def parse() -> None:
        for outer in texts():
            orjson.loads(outer)
        for text in inner:
            orjson.loads(text)

    return parse


def counted(adapter: Adapter, log: Log, path: Path) -> tuple[int, int]:
    """Streams and rejects of one reading."""
    source = Source(str(path), path)
    intake = Intake(source.stem, adapter.name, log.mapping)
    streams = sum(batch.num_rows for batch in adapter.read([source], intake))
    return streams, len(intake.rejects)


def load(adapter: Adapter, log: Log, path: Path, scratch: Path) -> None:
    """Read the log into Parquet parts."""
    found = discover([str(path)], scratch, format_name=adapter.name)
    for files in source_sets(found.files, mapping=log.mapping):
        for part in load_set(files, scratch).parts:
            Path(part.uri).unlink()


def measure(adapter: Adapter, size: int, folder: Path) -> Reading:
    """Read one copy of the sample, then many."""
    gc.disable()
    log = RECIPES[adapter.name]()
    path, _ = log.write(folder, 0)
    one = counted(adapter, log, path)
    path, copies = log.write(folder, size)
    found = counted(adapter, log, path)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    expected = tuple(copies * count for count in one)
    bare = bare_parse(log, path)
    bare_took, took, loaded = [], [], []
    for _ in range(RUNS):
        bare_took.append(timed(bare))
        took.append(timed(lambda: counted(adapter, log, path)))
        loaded.append(timed(lambda: load(adapter, log, path, folder)))
    return Reading(
        size_mib=path.stat().st_size / 2**20,
        streams=found[0],
        bare=_best(bare_took),
        read=_best(took),
        loaded=_best(loaded),
        peak_mib=peak_mib,
        wrong="" if found == expected else f"{found} streams and rejects, expected {expected}",
    )


def _best(found: list[Took]) -> Took:
    return Took(min(took.wall_s for took in found), min(took.cores_s for took in found))


def in_own_process(name: str, size: int) -> Reading:
    """The reading of one adapter, so that no peak hides another."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.bench.ingest", name, "--bytes", str(size),
                   "--folder", folder]  # fmt: skip
        done = subprocess.run(command, check=True, capture_output=True)
    return msgspec.json.decode(done.stdout, type=Reading)


def main() -> int:
    """Run the benchmark; 1 if streams are missing or too many."""
    adapters = {a.name: a for a in ADAPTERS if a.name not in WITHOUT}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("adapters", nargs="*", metavar="ADAPTER", help=", ".join(adapters))
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.folder:
        reading = measure(adapters[given.adapters[0]], given.bytes, given.folder)
        sys.stdout.buffer.write(msgspec.json.encode(reading))
        return 0
    readings = {name: in_own_process(name, given.mib << 20) for name in given.adapters or adapters}
    _print(readings)
    return int(any(reading.wrong for reading in readings.values()))


def _print(readings: dict[str, Reading]) -> None:
    columns = ("MiB", "streams", "bare parse", "read", "to bare", "into parts", "peak MiB")
    table = Table("", *columns)
    for name, reading in readings.items():
        table.add_row(
            name,
            f"{reading.size_mib:.0f}",
            f"{reading.streams:,}",
            str(reading.bare),
            str(reading.read),
            reading.read.beside(reading.bare),
            str(reading.loaded),
            f"{reading.peak_mib:.0f}",
        )
    console = Console(width=120)
    console.print(table)
    console.print(f"target: at most {TARGET_RATIO:g} times a bare parse")
    for name, reading in readings.items():
        if reading.wrong:
            console.print(f"WRONG: {name}: {reading.wrong}", style="red")


if __name__ == "__main__":
    sys.exit(main())
