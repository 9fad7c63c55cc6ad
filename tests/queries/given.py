"""Canonical rows by hand, and the query library over them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tokengap.findings.baseline import STORED
from tokengap.library import Catalogue, load, read_catalogue
from tokengap.schema import CLOCKS, REJECTS, STREAMS
from tokengap.store.connect import Declared, Tables, bind, connect
from tokengap.store.keys import superseding as superseding_of
from tokengap.store.load import load as load_paths

Row = dict[str, Any]

MS: Final = 1_000_000
NOTHING_DECLARED: Final = Declared()


def stream(
    request_id: str = "a", times: Sequence[int] | None = (), /, *notes: str, **facts: Any
) -> Row:
    """A completed stream, sent at 0 by a client, with one token at each time unless stated.

    times: None where deliveries are not known. notes: its quality. Columns left out are NULL; `ids`
    and `labels` may be dicts.
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
    maps = {name: list(facts[name].items()) for name in ("ids", "labels") if name in facts}
    return row | facts | maps


def deliveries(times: Sequence[int]) -> Row:
    """Columns that hold these delivery times."""
    gaps = [after - before for before, after in pairwise(times)]
    first = times[0] if times else None
    return {"first_token_ns": first, "gaps_ns": gaps, "min_gap_ns": min(gaps, default=None)}


def reject(line: int, reason: str) -> Row:
    return {"source": "hand:0", "line": line, "reason": reason}


def clock(id_: str, reference: str, offset_ns: int, uncertainty_ns: int = 0) -> Row:
    """How far a clock is ahead of its reference, as a log says it."""
    return {
        "id": id_, "reference": reference, "offset_ns": offset_ns, "uncertainty_ns": uncertainty_ns,
        "how": "pairs", "source": "hand:0",
    }  # fmt: skip


def limits(**limits_ns: int) -> str:
    """The `objectives` argument of a query."""
    structs = [f"{{'statistic': '{name}', 'limit_ns': {ns}}}" for name, ns in limits_ns.items()]
    return f"[{', '.join(structs)}]"


@contextmanager
def loaded_library(stored: Iterable[str], folder: Path) -> Iterator["Library"]:
    """The whole library on a connection of its own; `stored` is computed once for what is bound."""
    catalogue = read_catalogue().storing(stored)
    with connect(Declared()) as con:
        con.execute("SET threads = 1")  # tiny tables
        load(con, catalogue)
        yield Library(con, catalogue, folder)


class Library:
    """A connection that holds the library, loaded once, and shows other rows on every `bind`.

    As in an audit, what is read often is computed once; here it is when something first reads it.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, catalogue: Catalogue, folder: Path) -> None:
        self.con = con
        self.catalogue = catalogue
        self._stored = [query.name for query in catalogue.queries.values() if query.is_stored]
        self._stale = set(self._stored)
        self._joined = True
        self._folders = (folder / str(number) for number in count())

    def bind(
        self,
        rows: Iterable[Row] = (),
        declared: Declared = NOTHING_DECLARED,
        rejects: Iterable[Row] = (),
        superseding: Sequence[tuple[str, str]] = (),
        clocks: Iterable[Row] = (),
    ) -> None:
        """Show these rows, in this order, and nothing else."""
        path = self._folder() / "part.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows), STREAMS), path)
        rejected = pa.Table.from_pylist(list(rejects), REJECTS)
        related = pa.Table.from_pylist(list(clocks), CLOCKS)
        self.show(Tables([str(path)], rejected, related, superseding), declared)

    def read(self, paths: Iterable[Path], declared: Declared = NOTHING_DECLARED) -> None:
        """Show what these files hold, and nothing else."""
        loads = load_paths([str(path) for path in paths], self._folder())
        tables = Tables(
            streams=[part.uri for part in loads.parts],
            clocks=pa.concat_tables(loaded.clocks for loaded in loads.loaded),
            superseding=superseding_of(loads.parts),
        )
        self.show(tables, declared)

    def _folder(self) -> Path:
        """Make a new one, for DuckDB may remember a file by its name."""
        folder = next(self._folders)
        folder.mkdir()
        return folder

    def show(self, tables: Tables, declared: Declared = NOTHING_DECLARED) -> None:
        """Show what these tables hold, and nothing else."""
        self.con.execute(declared.macros())
        bind(self.con, tables, declared)
        # But for what is shared, all that is stored is about joined views and stages: without any
        # it stays empty.
        telling = "cardinality(ids) > 0 OR len(stages) > 0 OR len(reported) > 0"
        found = self.con.execute(f"SELECT count(*) FROM stored_streams WHERE {telling}").fetchone()
        joins = bool(declared.id_prefixes) or found != (0,)
        own = STORED if not (joins or self._joined) else self._stored
        self._stale |= set(own) & set(self._stored)
        self._joined = joins

    def compute(self, name: str) -> None:
        """Compute what of a relation, and of all that it reads, is stored and not of these rows."""
        for query in self.catalogue.closure(name):
            if query.name in self._stale:
                self.con.execute(query.sql.replace("CREATE", "CREATE OR REPLACE", 1))
                self._stale.remove(query.name)

    def rows(self, relation: str, order: str = "") -> list[Row]:
        """Every row of a relation, or of a call of one."""
        self.compute(relation.partition("(")[0])
        cursor = self.con.execute(f"FROM {relation}" + (f" ORDER BY {order}" if order else ""))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def row(self, relation: str) -> Row:
        """The one row of a relation."""
        (found,) = self.rows(relation)
        return found
