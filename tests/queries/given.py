"""Canonical rows by hand, and the query library over them."""

from collections.abc import Iterable, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tokengap.library import Catalogue
from tokengap.schema import REJECTS, STREAMS
from tokengap.store.connect import Declared, Tables, bind

Row = dict[str, Any]

MS: Final = 1_000_000
NOTHING_DECLARED: Final = Declared()
LATENCY: Final = "request_latency"


def stream(
    request_id: str = "a", times: Sequence[int] | None = (), /, *notes: str, **facts: Any
) -> Row:
    """A completed stream, sent at 0 by a client, with one token at each time unless stated.

    times: None where deliveries are not known. notes: its quality. Columns left out are NULL.
    """
    row: Row = {
        "trace": "t", "request_id": request_id, "attempt": 0, "choice": 0, "vantage": "client",
        "clock": "c", "clock_kind": "monotonic", "status": "completed", "sent_ns": 0,
        "granularity": "aggregate" if times is None else "token",
        "quality": list(notes), "source": f"hand:0:{request_id}", "token_count_source": "usage",
    }  # fmt: skip
    if times is not None:
        row |= deliveries(times) | {"output_tokens": len(times)}
    assert facts.keys() <= set(STREAMS.names)
    return row | facts


def deliveries(times: Sequence[int]) -> Row:
    """Columns that hold these delivery times."""
    gaps = [after - before for before, after in pairwise(times)]
    first = times[0] if times else None
    return {"first_token_ns": first, "gaps_ns": gaps, "min_gap_ns": min(gaps, default=None)}


def reject(line: int, reason: str) -> Row:
    return {"source": "hand:0", "line": line, "reason": reason}


def limits(**limits_ns: int) -> str:
    """The `objectives` argument of a query."""
    structs = [f"{{'statistic': '{name}', 'limit_ns': {ns}}}" for name, ns in limits_ns.items()]
    return f"[{', '.join(structs)}]"


class Library:
    """A connection that holds the library, loaded once, and shows other rows on every `bind`."""

    def __init__(self, con: duckdb.DuckDBPyConnection, catalogue: Catalogue, folder: Path) -> None:
        self.con = con
        self.catalogue = catalogue
        self._paths = (folder / f"{number}.parquet" for number in count())

    def bind(
        self,
        rows: Iterable[Row] = (),
        declared: Declared = NOTHING_DECLARED,
        rejects: Iterable[Row] = (),
        superseding: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Show these rows, in this order, and nothing else."""
        path = next(self._paths)  # a new one, for DuckDB may remember a file by its name
        pq.write_table(pa.Table.from_pylist(list(rows), STREAMS), path)
        self.con.execute(declared.macros())
        self.restore(LATENCY)
        rejected = pa.Table.from_pylist(list(rejects), REJECTS)
        bind(self.con, Tables([str(path)], rejected, superseding=superseding))

    def rows(self, relation: str, order: str = "") -> list[Row]:
        """Every row of a relation, or of a call of one."""
        cursor = self.con.execute(f"FROM {relation}" + (f" ORDER BY {order}" if order else ""))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def row(self, relation: str) -> Row:
        """The one row of a relation."""
        (found,) = self.rows(relation)
        return found

    def restore(self, name: str) -> None:
        """Make a view what its file says, whatever it was replaced by."""
        self.con.execute(self.catalogue[name].sql.replace("CREATE", "CREATE OR REPLACE", 1))
