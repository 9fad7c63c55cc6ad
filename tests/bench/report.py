"""What a page costs over the audit it is made of, as logs grow.

    python -m tests.bench.report [--tokens 1000000 10000000 100000000]

Writes streams with planted stalls of every cause as parts of a store, and audits each size in a
process of its own: the audit alone, then the page on top of it. The ratio is the page's own time to
the audit's; the last column is how much more a ten times larger log costs. No time is asserted: the
exit code says whether every planted stall was found.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from tests.planted import LIMIT_NS, planted
from tokengap.findings import audit
from tokengap.library import SHARED, load, read_catalogue, refresh
from tokengap.report.page import page
from tokengap.report.whole import compose
from tokengap.slo import Objective
from tokengap.store.connect import Declared, Tables, bind, connect

SIZES: Final = (1_000_000, 10_000_000, 100_000_000)
LIMITS: Final = (
    Objective("tpot", LIMIT_NS, "--limit"),
    Objective("worst_gap", LIMIT_NS, "--limit"),
)


class Reading(msgspec.Struct):
    """One size: seconds of audit and page, and what came of them."""

    streams: int
    stalls: int
    audit_s: float
    page_s: float
    page_bytes: int
    peak_mib: float
    is_right: bool


def measure(tokens: int, folder: Path) -> Reading:
    """Write so many tokens, audit them, and make the page."""
    parts, streams, stalls = [], 0, 0
    for number, (table, truth) in enumerate(planted(tokens)):
        parts.append(str(folder / f"{number}.parquet"))
        pq.write_table(table, parts[-1])
        streams, stalls = streams + table.num_rows, stalls + len(truth)
    begun = time.perf_counter()
    con = connect(Declared(), folder)
    catalogue = read_catalogue().storing(SHARED)
    load(con, catalogue)
    bind(con, Tables(parts))
    refresh(con, catalogue)
    found = audit(con, LIMITS)
    audited = time.perf_counter()
    text = page(compose(con, found))
    done = time.perf_counter()
    return Reading(
        streams=streams,
        stalls=stalls,
        audit_s=audited - begun,
        page_s=done - audited,
        page_bytes=len(text.encode()),
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
        is_right=sum(row["gaps"] for row in found.causes) == stalls,
    )


def in_own_process(tokens: int) -> Reading:
    """The reading of one size, so that no peak hides another."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.bench.report", "--one", str(tokens), folder]
        done = subprocess.run(command, check=True, capture_output=True)
    return msgspec.json.decode(done.stdout, type=Reading)


def main() -> int:
    """Run the benchmark; 1 if a planted stall was missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=SIZES)
    parser.add_argument("--one", nargs=2, metavar=("TOKENS", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        reading = measure(int(given.one[0]), Path(given.one[1]))
        sys.stdout.buffer.write(msgspec.json.encode(reading))
        return 0
    readings = {tokens: in_own_process(tokens) for tokens in given.tokens}
    _print(readings)
    return int(not all(reading.is_right for reading in readings.values()))


def _print(readings: dict[int, Reading]) -> None:
    table = Table("tokens", "streams", "stalls", "audit s", "page s", "ratio", "page MB",
                  "peak MiB", "page cost, times the one before")  # fmt: skip
    before: Reading | None = None
    for tokens, reading in readings.items():
        grown = "" if before is None else f"{reading.page_s / before.page_s:.1f}"
        table.add_row(
            f"{tokens:,}", f"{reading.streams:,}", f"{reading.stalls:,}", f"{reading.audit_s:.2f}",
            f"{reading.page_s:.2f}", f"{reading.page_s / reading.audit_s:.2f}",
            f"{reading.page_bytes / 1e6:.2f}", f"{reading.peak_mib:.0f}", grown,
        )  # fmt: skip
        before = reading
    Console(width=140).print(table)


if __name__ == "__main__":
    sys.exit(main())
