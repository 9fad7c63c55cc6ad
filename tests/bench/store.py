"""How long strict ingest takes beside DuckDB's bare parse of the same file.

    python tests/bench/store.py [--lines 4000000]

Writes a log of events with three bad lines in it, then times in one process, with all cores: all
of `tokengap ingest`, from the file to a committed store, and DuckDB's JSON reader over the same
columns, unchecked, into a table and as an aggregate only. No time is asserted: the exit code says
whether just the bad lines were quarantined and every other token counted.
"""

import argparse
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Final

import duckdb
from rich.console import Console
from rich.table import Table

from tokengap.store.ingest import ingest
from tokengap.store.tables import open_store

RUNS: Final = 3
TARGET_RATIO: Final = 3.5
ALIVE: Final = 64
"""Streams under way at once: their lines are interleaved."""
FIRST_BAD_LINE: Final = 1_000_000
BAD: Final = (
    lambda line: line.replace(',"kind"', '.0,"kind"'),
    lambda line: line.replace('"t_ns":', '"t_ns":true,"x":'),
    lambda line: line.replace('"n_tokens":1', '"n_tokens":1,"n_tokens":2'),
)
COLUMNS: Final = {
    "request_id": "VARCHAR", "attempt": "INTEGER", "choice": "INTEGER", "index": "BIGINT",
    "t_ns": "BIGINT", "kind": "VARCHAR", "n_tokens": "INTEGER", "vantage": "VARCHAR",
    "clock": "VARCHAR", "finish_reason": "VARCHAR",
}  # fmt: skip


def stream_lines(chance: random.Random) -> Iterator[tuple[str, str]]:
    """Start and end of each line of one stream; its time goes between them."""
    start = f'{{"request_id":"req-{chance.getrandbits(64):016x}","attempt":0,"choice":0,'
    end = ',"vantage":"client","clock":"host-a"'
    yield f'{start}"t_ns":', f',"kind":"sent"{end}}}\n'
    for index in range(chance.randint(50, 300)):
        yield f'{start}"index":{index},"t_ns":', f',"kind":"text","n_tokens":1{end}}}\n'
    yield f'{start}"t_ns":', f',"kind":"done"{end},"finish_reason":"stop"}}\n'


def write_log(path: Path, lines: int) -> tuple[int, list[int]]:
    """Write the log; how many good token lines it has, and which lines are bad."""
    chance = random.Random(1)  # noqa: S311  # no secret
    first_bad = min(FIRST_BAD_LINE, max(lines // 2, 1))
    alive = [stream_lines(chance) for _ in range(ALIVE)]
    bad: list[int] = []
    t_ns, tokens = 10**18, 0
    with path.open("w", encoding="ascii", buffering=1 << 20) as log:
        for number in range(1, lines + 1):
            t_ns += chance.randint(50_000, 300_000)
            at = number % ALIVE
            parts = next(alive[at], None)
            if parts is None:
                alive[at] = stream_lines(chance)
                parts = next(alive[at])
            line = f"{parts[0]}{t_ns}{parts[1]}"
            is_token = '"kind":"text"' in parts[1]
            if is_token and number >= first_bad and len(bad) < len(BAD):
                line = BAD[len(bad)](line)
                bad.append(number)
            else:
                tokens += is_token
            log.write(line)
    return tokens, bad


def seconds(work: Callable[[], object]) -> float:
    """Median of `RUNS`."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def duckdb_parses(log: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    """DuckDB's reader into a table, and into one row of sums and counts."""
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
    rows = (
        f"read_json('{log}', format = 'newline_delimited', columns = {{{columns}}}, "
        "ignore_errors = true)"
    )
    sums = ", ".join(
        f'count("{name}")' if kind == "VARCHAR" else f'sum("{name}")'
        for name, kind in COLUMNS.items()
    )
    table = f"CREATE OR REPLACE TEMP TABLE parsed AS FROM {rows}"
    return (
        lambda: duckdb.connect().execute(table),
        lambda: duckdb.connect().execute(f"SELECT {sums} FROM {rows}").fetchall(),
    )


def problems(store_path: str, tokens: int, bad: list[int]) -> list[str]:
    """What the store holds that it should not, or lacks."""
    store = open_store(store_path)
    found = sorted(reject["line"] for reject in store.rejects().to_pylist())
    counted = sum(part.tokens for part in store.live_parts())
    wrong = []
    if found != bad:
        wrong.append(f"quarantined {found[:9]}, expected {bad}")
    if counted != tokens:
        wrong.append(f"{counted} tokens in the store, {tokens} in the log")
    return wrong


def main() -> int:
    """Run the benchmark; 1 if the ingest was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=4_000_000)
    lines: int = parser.parse_args().lines
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "events.jsonl"
        tokens, bad = write_log(log, lines)
        stores = (str(Path(folder) / f"store-{run}") for run in count())
        ours = seconds(lambda: ingest([str(log)], next(stores), Path(folder)))
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        into_table, aggregate = (seconds(parse) for parse in duckdb_parses(log))
        rejects = open_store(f"{folder}/store-0").rejects().to_pylist()
        wrong = problems(f"{folder}/store-0", tokens, bad)
        console.print(f"{lines:,} lines, {log.stat().st_size / 2**20:.0f} MiB, {tokens:,} tokens")

    table = Table("", "seconds", "ours takes")
    table.add_row("tokengap ingest, strict, into a store", f"{ours:.2f}", "")
    table.add_row(
        "DuckDB parse into a table", f"{into_table:.2f}", f"{ours / into_table:.2f} times"
    )
    table.add_row(
        "DuckDB parse, aggregate only", f"{aggregate:.2f}", f"{ours / aggregate:.2f} times"
    )
    console.print(table)
    console.print(f"target: at most {TARGET_RATIO} times a parse into a table; peak {peak_mib} MiB")
    for reject in rejects:
        console.print(f"quarantined line {reject['line']}: {reject['reason']} ({reject['value']})")
    for problem in wrong:
        console.print(f"WRONG: {problem}", style="red")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
