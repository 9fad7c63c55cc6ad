"""How long a store of very many parts takes to open, to bind, and to ask about one day.

    python -m tests.bench.parts [--parts 5000] [--streams 20]

The parts lie on fifty days. Every other one was written before the columns `kv_bytes` and `marks`
came, as an older version of tokengap would have. Then, each in turn and from nothing: the parts
are listed, the library is bound to them, and one day's requests are counted. The exit code says
whether the count was right and every target was met.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from tests.store.fakes import NOON_NS, PROVENANCE, batch
from tokengap.library import read_catalogue
from tokengap.library.catalogue import Catalogue
from tokengap.library.loader import load
from tokengap.store.connect import Declared, Tables, bind, connect
from tokengap.store.days import PartSet
from tokengap.store.delta import Change
from tokengap.store.parts import FOOTER_KEY
from tokengap.store.records import Part, footer, uris
from tokengap.store.tables import Store, open_store
from tokengap.utc import DAY_NS

DAYS: Final = 50
LATER: Final = ("kv_bytes", "marks")
BIND_S: Final = 1.0
DAY_S: Final = 0.5


def make(path: str, scratch: Path, parts: int, streams: int) -> None:
    """Commit that many parts of so many streams each, all at once."""
    store = Store(path)
    store.streams.ensure()
    files = []
    for number in range(parts):
        provenance = replace(PROVENANCE, options={"trace": str(number)})
        with PartSet(scratch, provenance, by_day=True) as written:
            written.write(rows(number, streams))
        [part] = written.parts
        if number % 2:
            facts = {FOOTER_KEY: footer([part])}
            older = pq.read_table(part.uri).drop_columns(list(LATER))
            pq.write_table(older.replace_schema_metadata(facts), part.uri, compression="zstd")
        files.append(store.put([part]))
        Path(part.uri).unlink()
    store.streams.commit(lambda _: Change(tuple(files)))


def rows(number: int, streams: int) -> pa.RecordBatch:
    """Completed streams of three tokens, of one day."""
    sent_ns = NOON_NS + number % DAYS * DAY_NS
    ids = [f"{number}-{index}" for index in range(streams)]
    return batch(
        *[[20_000_000, 30_000_000]] * streams,
        trace=[str(number)] * streams,
        request_id=ids,
        attempt=[0] * streams,
        choice=[0] * streams,
        vantage=["client"] * streams,
        clock=["host:wall"] * streams,
        clock_kind=["wall"] * streams,
        granularity=["token"] * streams,
        status=["completed"] * streams,
        sent_ns=[sent_ns] * streams,
        first_token_ns=[sent_ns + 10**8] * streams,
        output_tokens=[3] * streams,
        quality=[[]] * streams,
        source=[f"fake:{'ab' * 8}:{index}" for index in range(streams)],
    )


def ask(parts: list[Part], catalogue: Catalogue, scratch: Path) -> tuple[float, float, int]:
    """Seconds to bind the library to the parts, and to count their requests; and how many."""
    con = connect(Declared(), scratch)
    load(con, catalogue)
    started = time.perf_counter()
    bind(con, Tables(streams=uris(parts)))
    bound = time.perf_counter()
    answer = con.execute("SELECT count(*) FROM request_latency WHERE ttft_ns = 100_000_000")
    row = answer.fetchone()
    counted = time.perf_counter()
    con.close()
    return bound - started, counted - bound, row[0] if row else 0


def main() -> int:
    """Run the benchmark; 1 if an answer was wrong or a target missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=int, default=5000)
    parser.add_argument("--streams", type=int, default=20)
    asked = parser.parse_args()
    catalogue, console = read_catalogue(), Console()
    with tempfile.TemporaryDirectory() as folder:
        path, scratch = f"{folder}/store", Path(folder)
        make(path, scratch, asked.parts, asked.streams)
        started = time.perf_counter()
        parts = open_store(path).live_parts()
        listed_s = time.perf_counter() - started
        bound_s, _, streams = ask(parts, catalogue, scratch)
        day = [part for part in parts if part.day == parts[0].day]
        _, day_s, of_day = ask(day, catalogue, scratch)
    table = Table("", "seconds", "target")
    table.add_row(f"list {len(parts)} parts", f"{listed_s:.2f}", "")
    table.add_row("bind the library to them", f"{bound_s:.2f}", f"{BIND_S}")
    table.add_row(f"ask about the {len(day)} of one day", f"{day_s:.2f}", f"{DAY_S}")
    console.print(table)
    expected = (asked.parts * asked.streams, len(day) * asked.streams)
    if (streams, of_day) != expected:
        console.print(f"WRONG: {(streams, of_day)} streams, expected {expected}", style="red")
    return int((streams, of_day) != expected or bound_s > BIND_S or day_s > DAY_S)


if __name__ == "__main__":
    sys.exit(main())
