"""How long the columns behind a verdict take beside other ways to get them.

    python tests/bench/audit.py [--tokens 20000000]

Writes the same synthetic streams twice: as a part of a store, gaps nested, and as one row per
token. Then each contender runs in a process of its own, with all cores, and is timed without the
start of its process: the median of five. Every contender has to consume each column whole (a sum, a
maximum or a count), so that nothing can be skipped and nothing is kept. A quarter of the tokens
shows how the cost grows. No time is asserted: the exit code says whether all agree on the answers.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from tokengap.library import load, read_catalogue
from tokengap.schema import STREAMS
from tokengap.store.connect import Declared, Tables, bind, connect
from tokengap.store.parts import PartWriter
from tokengap.store.records import FileId, Provenance

Answers = dict[str, float]
Found = dict[str, Any]
RUNS: Final = 5
BATCH_STREAMS: Final = 10_000
MEAN_TOKENS: Final = 200
PART, PER_TOKEN = "part.parquet", "tokens.parquet"

VERDICT_COLUMNS: Final = """
    sum(ttft_ns)::DOUBLE AS ttft_ns, sum(tpot_ns) AS tpot_ns,
    sum(worst_gap_ns)::DOUBLE AS worst_gap_ns, sum(worst_gap_index)::DOUBLE AS worst_gap_index,
    sum(first_gap_ns)::DOUBLE AS first_gap_ns, count(*) FILTER (non_monotonic) AS non_monotonic
"""
WINDOW: Final = f"""
    WITH gapped AS (
        SELECT *, t_ns - lag(t_ns) OVER (
            PARTITION BY trace, request_id, attempt, choice, vantage ORDER BY index
        ) AS gap_ns
        FROM tokens
    ),
    per_stream AS (
        SELECT
            arg_min(t_ns, index) - any_value(sent_ns) AS ttft_ns,
            sum(gap_ns) / (count(*) - 1) AS tpot_ns,
            max(gap_ns) AS worst_gap_ns,
            arg_max(index, gap_ns) AS worst_gap_index,
            max(gap_ns) FILTER (index = 1) AS first_gap_ns,
            coalesce(bool_or(gap_ns < 0), false) AS non_monotonic
        FROM gapped
        GROUP BY trace, request_id, attempt, choice, vantage
    )
    SELECT {VERDICT_COLUMNS} FROM per_stream
"""


def write_streams(folder: Path, tokens: int) -> int:
    """Write the part and the per-token file; how many gaps they hold."""
    chance = np.random.default_rng(1)
    writer = PartWriter(folder / PART, Provenance("bench", 1, (FileId("bench", 0, "", ""),), {}))
    gaps = 0
    with pq.ParquetWriter(folder / PER_TOKEN, _token_schema(), compression="zstd") as per_token:
        for _ in range(max(tokens // MEAN_TOKENS // BATCH_STREAMS, 1)):
            streams = _streams(chance)
            writer.write(streams)
            per_token.write_table(_per_token(streams))
            gaps += len(streams.column("gaps_ns").flatten())
    writer.close()
    return gaps


def _streams(chance: np.random.Generator) -> pa.RecordBatch:
    size = BATCH_STREAMS
    tokens = chance.integers(MEAN_TOKENS // 2, MEAN_TOKENS * 3 // 2, size)
    offsets = np.concatenate(([0], np.cumsum(tokens - 1)))
    gaps = chance.lognormal(np.log(2e7), 0.4, offsets[-1]).astype(np.int64) + 1
    sent = 1_764_000_000_000_000_000 + np.sort(chance.integers(0, 10**13, size))
    known = {
        "trace": ["bench"] * size,
        "request_id": [f"req-{number:032x}" for number in chance.integers(0, 2**63, size)],
        "attempt": np.zeros(size, np.int32),
        "choice": np.zeros(size, np.int32),
        "vantage": ["client"] * size,
        "clock": ["host"] * size,
        "clock_kind": ["wall"] * size,
        "granularity": ["token"] * size,
        "status": ["completed"] * size,
        "output_tokens": tokens.astype(np.int32),
        "token_count_source": ["usage"] * size,
        "sent_ns": sent,
        "first_token_ns": sent + chance.integers(10**7, 10**9, size),
        "gaps_ns": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(gaps)),
        "min_gap_ns": np.minimum.reduceat(gaps, offsets[:-1]),
        "quality": [[]] * size,
        "source": [f"bench:0:{number}" for number in range(size)],
    }
    columns = [pa.array(known.get(f.name, [None] * size), f.type) for f in STREAMS]
    return pa.RecordBatch.from_arrays(columns, schema=STREAMS)


def _token_schema() -> pa.Schema:
    key = [("trace", pa.string()), ("request_id", pa.string()), ("attempt", pa.int32()),
           ("choice", pa.int32()), ("vantage", pa.string())]  # fmt: skip
    return pa.schema([*key, ("index", pa.int32()), ("sent_ns", pa.int64()), ("t_ns", pa.int64())])


def _per_token(streams: pa.RecordBatch) -> pa.Table:
    """The same streams, one row per token."""
    with duckdb.connect() as con:
        con.register("streams", pa.Table.from_batches([streams]))
        return (
            con.sql("""
            SELECT
                trace, request_id, attempt, choice, vantage,
                (delivery - 1)::INTEGER AS index, sent_ns,
                (first_token_ns + sum(step_ns) OVER (
                    PARTITION BY request_id ORDER BY delivery
                ))::BIGINT AS t_ns
            FROM (
                SELECT
                    *,
                    generate_subscripts(list_prepend(0, gaps_ns), 1) AS delivery,
                    unnest(list_prepend(0, gaps_ns)) AS step_ns
                FROM streams
            )
            ORDER BY request_id, index
        """)
            .to_arrow_table()
            .cast(_token_schema())
        )


def _library(folder: Path) -> duckdb.DuckDBPyConnection:
    con = connect(Declared(), folder)
    load(con, read_catalogue(), "request_latency")
    bind(con, Tables([str(folder / PART)]))
    return con


def _answers(con: duckdb.DuckDBPyConnection, query: str) -> Answers:
    cursor = con.execute(query)
    row = cursor.fetchone() or ()
    return {column[0]: value for column, value in zip(cursor.description or (), row, strict=True)}


def sum_of_gaps(folder: Path) -> Callable[[], Answers]:
    con = _library(folder)
    return lambda: _answers(con, "SELECT sum(list_sum(gaps_ns))::DOUBLE FROM stored_streams")


def verdict_columns(folder: Path) -> Callable[[], Answers]:
    con = _library(folder)
    return lambda: _answers(con, f"SELECT {VERDICT_COLUMNS} FROM request_latency")


def request_latency(folder: Path) -> Callable[[], Answers]:
    con = _library(folder)
    names = [row[0] for row in con.execute("DESCRIBE request_latency").fetchall()]
    every = ", ".join(f"max({name})" for name in names)
    return lambda: {} | dict.fromkeys(_answers(con, f"SELECT {every} FROM request_latency"), 0)


def window_function(folder: Path) -> Callable[[], Answers]:
    con = duckdb.connect()
    con.execute(f"CREATE VIEW tokens AS FROM read_parquet('{folder / PER_TOKEN}')")
    return lambda: _answers(con, WINDOW)


def pandas_groupby(folder: Path) -> Callable[[], Answers]:
    """In its favour, the key is the request id alone."""
    import pandas as pd  # noqa: PLC0415, TID251 (the peer itself)

    def run() -> Answers:
        columns = ["request_id", "index", "sent_ns", "t_ns"]
        frame = pd.read_parquet(folder / PER_TOKEN, columns=columns)
        frame = frame.sort_values(["request_id", "index"])
        frame["gap_ns"] = frame.groupby("request_id", sort=False)["t_ns"].diff()
        streams = frame.groupby("request_id", sort=False)
        gaps = streams["gap_ns"]
        longest = frame.loc[gaps.idxmax()]
        first = frame[frame["index"] == 0]
        return {
            "ttft_ns": float((first["t_ns"] - first["sent_ns"]).sum()),
            "tpot_ns": float((gaps.sum() / (streams.size() - 1)).sum()),
            "worst_gap_ns": float(longest["gap_ns"].sum()),
            "worst_gap_index": float(longest["index"].sum()),
            "first_gap_ns": float(frame.loc[frame["index"] == 1, "gap_ns"].sum()),
            "non_monotonic": int((gaps.min() < 0).sum()),
        }

    return run


CONTENDERS: Final = {
    "sum of gaps_ns (a)": (sum_of_gaps, ""),
    "verdict columns": (verdict_columns, "at most 1.7 (a)"),
    "all of request_latency": (request_latency, "at most 5 (a)"),
    "window function, one row per token": (window_function, "at least 10 verdicts"),
    "pandas, one row per token": (pandas_groupby, "at least 10 verdicts"),
}
TOKENGAP: Final = list(CONTENDERS)[:3]
AGREEING: Final = ("verdict columns", *list(CONTENDERS)[3:])


def measure(name: str, folder: Path) -> None:
    """Run one contender in this process and print what it took as JSON."""
    work = CONTENDERS[name][0](folder)
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        answers = work()
        times.append(time.perf_counter() - started)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"seconds": statistics.median(times), "peak_mib": peak_mib, "answers": answers}
    sys.stdout.write(json.dumps(found))


def in_own_process(*arguments: str) -> Found:
    """What the script prints when called with these arguments, so that no peak hides another."""
    command = [sys.executable, __file__, *arguments]
    found: Found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def main() -> int:
    """Run the benchmark; 1 if contenders disagree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=20_000_000)
    parser.add_argument("--contender", choices=CONTENDERS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.contender:
        measure(given.contender, given.folder)
        return 0
    if given.folder:
        sys.stdout.write(json.dumps({"gaps": write_streams(given.folder, given.tokens)}))
        return 0
    _, fewer = run(given.tokens // 4, TOKENGAP)
    gaps, found = run(given.tokens, list(CONTENDERS))
    _print(gaps, found, fewer)
    answers = [found[name]["answers"] for name in AGREEING]
    return int(not all(_agree(answers[0], other) for other in answers[1:]))


def run(tokens: int, names: Sequence[str]) -> tuple[int, dict[str, Found]]:
    """How many gaps were written, and what each contender took over them."""
    with tempfile.TemporaryDirectory() as folder:
        written = in_own_process("--folder", folder, "--tokens", str(tokens))
        found = {name: in_own_process("--contender", name, "--folder", folder) for name in names}
    return written["gaps"], found


def _agree(one: Answers, other: Answers) -> bool:
    return all(abs(one[key] - other[key]) <= 1e-9 * abs(one[key]) for key in one)


def _print(gaps: int, found: dict[str, Found], fewer: dict[str, Found]) -> None:
    table = Table("", "seconds", "to (a)", "to verdicts", "to 1/4 of it", "peak MiB", "target")
    base, verdicts = (found[name]["seconds"] for name in list(CONTENDERS)[:2])
    for name, (_, target) in CONTENDERS.items():
        took = found[name]["seconds"]
        growth = f"{took / fewer[name]['seconds']:.2f}" if name in fewer else ""
        table.add_row(
            name,
            f"{took:.3f}",
            f"{took / base:.2f}",
            f"{took / verdicts:.2f}",
            growth,
            f"{found[name]['peak_mib']:.0f}",
            target,
        )
    console = Console(width=120)
    console.print(f"{gaps:,} gaps")
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
