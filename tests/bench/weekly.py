"""How long the weekly report takes beside one plain read of the same columns, over a year of rows.

    python -m tests.bench.weekly [--requests 10000000] [--weeks 52]

Writes the latency rows of a year, makes the report of its last week in a process of its own, and
then lets DuckDB add up the same columns in the same process: of the weeks that the report shows,
and of all. No time is asserted: the exit code says whether the counts are right and memory stayed
under 2 GiB.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

import duckdb
import msgspec
from rich.console import Console
from rich.table import Table

from tests.bench.kept_year import SLO_FILE, write_year
from tokengap.findings.weekly import weekly
from tokengap.library import read_catalogue
from tokengap.slo.services import read_services
from tokengap.store.connect import MEMORY_LIMIT
from tokengap.store.latency import kept_days
from tokengap.store.sql import parquet_scan
from tokengap.store.tables import Store, open_store
from tokengap.weekly.calendar import parse_week
from tokengap.weekly.model import Weekly

RUNS: Final = 3
WEEK: Final = parse_week("2026-W48")
MEMORY_MIB: Final = 2048
TEXTS: Final = (
    "trace", "request_id", "vantage", "deployment", "status", "ttft_reason", "tpot_reason",
    "worst_gap_reason", "e2e_reason", "judged_handoff_reason", "model", "tenant", "slo_class",
    "decode_worker",
)  # fmt: skip
NUMBERS: Final = (
    "attempt", "began_ns", "prompt_tokens", "output_tokens", "ttft_ns", "ttft_low_ns",
    "ttft_high_ns", "tpot_ns", "tpot_low_span_ns", "tpot_low_tokens", "tpot_high_span_ns",
    "tpot_high_tokens", "worst_gap_ns", "worst_gap_low_ns", "worst_gap_high_ns", "e2e_ns",
    "e2e_low_ns", "e2e_high_ns", "choices",
)  # fmt: skip
"""What of a kept row the report needs, for the objectives of `SLO_FILE`."""

PROMISES: Final = sum(len(service.goals) for service in read_services(SLO_FILE).services)
COUNTS: Final = """
WITH judged AS (
    SELECT
        status,
        ttft_ns <= 450e6 AS in_time,
        NOT in_time OR tpot_low_span_ns > 30e6 * tpot_low_tokens
            OR worst_gap_low_ns > CASE slo_class WHEN 'premium' THEN 300e6 ELSE 400e6 END AS misses,
        status NOT IN ('in_flight', 'cancelled') OR (status = 'cancelled' AND misses) AS offered,
    FROM rows
    WHERE slo_class <> 'batch'
)

SELECT
    count(*) FILTER (offered),
    count(*) FILTER (offered AND in_time),
    count(*) FILTER (status = 'completed' AND NOT misses),
FROM judged
"""
"""Of chat in one week: offered, in time with the first token, and good."""


Made = TypeVar("Made")


class Reading(msgspec.Struct):
    """Seconds of the report and of the reads, and what came of them."""

    report_s: float
    shown_s: float
    all_s: float
    shown_rows: int
    all_rows: int
    peak_mib: float
    counted: tuple[int, ...]
    expected: tuple[int, ...]


def measure(path: str, scratch: Path) -> Reading:
    """Make the report, then read what it read."""
    store, slo, catalogue = (
        open_store(path),
        read_services(SLO_FILE),
        read_catalogue(),
    )
    report_s, found = _median(lambda: weekly(store, slo, WEEK, catalogue, scratch))
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    shown = str(found.services[0].trend[0].week.first)
    shown_s, shown_rows = _median(lambda: _read(_files(store, shown)))
    all_s, all_rows = _median(lambda: _read(_files(store, "")))
    return Reading(
        report_s=report_s,
        shown_s=shown_s,
        all_s=all_s,
        shown_rows=shown_rows,
        all_rows=all_rows,
        peak_mib=peak_mib,
        counted=_counted(found),
        expected=_expected(_files(store, str(WEEK.first))),
    )


def _median(work: Callable[[], Made]) -> tuple[float, Made]:
    """Seconds, and what was made."""
    times, made = [], []
    for _ in range(RUNS):
        started = time.perf_counter()
        made.append(work())
        times.append(time.perf_counter() - started)
    return statistics.median(times), made[-1]


def _files(store: Store, first: str) -> list[str]:
    """Rows of the days from this one on."""
    return [f.uri for day, files in kept_days(store).items() if day >= first for f in files]


def _read(files: Iterable[str]) -> int:
    """Read all these columns once, in as much memory as the report may have; how many rows."""
    sums = [f"max({name})" for name in TEXTS] + [f"sum({name})" for name in NUMBERS]
    with duckdb.connect(config={"memory_limit": MEMORY_LIMIT}) as con:
        query = f"SELECT count(*), {', '.join(sums)} FROM {parquet_scan(list(files))}"
        (count, *_) = con.execute(query).fetchall()[0]
    return int(count)


def _counted(found: Weekly) -> tuple[int, ...]:
    chat = found.services[0]
    compared = sum(p.change.matched is not None for each in found.services for p in each.promises)
    return chat.offered, chat.promise["ttft"].kept.met, chat.whole.met, compared


def _expected(files: list[str]) -> tuple[int, ...]:
    with duckdb.connect() as con:
        con.execute(f"CREATE VIEW rows AS FROM {parquet_scan(files)}")
        (counts,) = con.execute(COUNTS).fetchall()
    return *counts, PROMISES


def main() -> int:
    """Run the benchmark; 1 if a count was wrong or memory too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000_000)
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--write", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--read", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write_year(str(given.write / "store"), WEEK, given.weeks, given.requests, given.write)
        return 0
    if given.read:
        reading = measure(str(given.read / "store"), given.read)
        sys.stdout.buffer.write(msgspec.json.encode(reading))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        size = ["--requests", str(given.requests), "--weeks", str(given.weeks)]
        command = [sys.executable, "-m", "tests.bench.weekly", *size]
        subprocess.run([*command, "--write", folder], check=True)
        done = subprocess.run([*command, "--read", folder], check=True, capture_output=True)
    reading = msgspec.json.decode(done.stdout, type=Reading)
    _print(reading)
    return int(reading.counted != reading.expected or reading.peak_mib > MEMORY_MIB)


def _print(reading: Reading) -> None:
    table = Table("", "rows", "seconds", "the report takes")
    table.add_row("weekly report", "", f"{reading.report_s:.2f}", "")
    for what, rows, seconds in (
        ("one read of the weeks it shows", reading.shown_rows, reading.shown_s),
        ("one read of all weeks", reading.all_rows, reading.all_s),
    ):
        ratio = f"{reading.report_s / seconds:.1f} times"
        table.add_row(what, f"{rows:,}", f"{seconds:.2f}", ratio)
    console = Console(width=120)
    console.print(table)
    console.print(f"peak {reading.peak_mib:.0f} MiB, of {MEMORY_MIB} at most")
    if reading.counted != reading.expected:
        console.print(f"WRONG: {reading.counted}, not {reading.expected}", style="red")


if __name__ == "__main__":
    sys.exit(main())
