"""The library as one SQL script that any DuckDB shell can run."""

from collections.abc import Sequence
from typing import Final

import duckdb
import pyarrow as pa

from tokengap.library.catalogue import Catalogue
from tokengap.library.loader import comments
from tokengap.schema import (
    CLOCK_COLUMNS,
    REJECT_COLUMNS,
    STREAM_COLUMNS,
    arrow_schema,
)
from tokengap.store.clocks import CLOCK_OFFSETS
from tokengap.store.connect import Declared, streams_scan
from tokengap.store.promised import SERVICE_LIMITS, SERVICE_MEMBERS, WORST_GAP_CAUSES


def script(
    catalogue: Catalogue, name: str | None = None, parts: Sequence[str] | None = None
) -> str:
    """All of the library, or `name` and what it needs, in dependency order.

    parts: Parquet files of a store to bind to; None leaves a placeholder to be edited.
    """
    queries = list(catalogue.queries.values()) if name is None else catalogue.closure(name)
    bodies = [f"{query.path.read_text('utf-8').strip()}\n{comments(query)}" for query in queries]
    declared = "-- What you declare about the logs.\n" + Declared().macros()
    return "\n\n".join([_roots(parts), declared, *bodies])


def listing(catalogue: Catalogue) -> str:
    """One line per public relation: name and what it holds."""
    width = max(len(name) for name in catalogue.public)
    return "\n".join(f"{name:{width}}  {catalogue[name].summary}" for name in catalogue.public)


_PLACEHOLDER: Final = """\
-- Put your own files here: Parquet parts as `tokengap ingest` writes them.
CREATE VIEW all_streams AS SELECT * FROM read_parquet(['streams.parquet']);"""


def _roots(parts: Sequence[str] | None) -> str:
    if parts is None:
        source = _PLACEHOLDER
    elif parts:
        source = f"CREATE VIEW all_streams AS SELECT * FROM {streams_scan(parts)};"
    else:
        source = _empty("all_streams", arrow_schema(STREAM_COLUMNS))
    stored = "CREATE VIEW stored_streams AS SELECT * FROM all_streams;"
    return "\n".join(
        [
            source,
            stored,
            _empty("rejects", arrow_schema(REJECT_COLUMNS)),
            _empty("clocks", arrow_schema(CLOCK_COLUMNS)),
            _empty("clock_offsets", CLOCK_OFFSETS),
            _empty("service_members", SERVICE_MEMBERS),
            _empty("service_limits", SERVICE_LIMITS),
            _empty("worst_gap_causes", WORST_GAP_CAUSES),
        ]
    )


def _empty(name: str, schema: pa.Schema) -> str:
    with duckdb.connect() as con:
        con.register("shape", schema.empty_table())
        described = con.execute("DESCRIBE shape").fetchall()
    return f"CREATE TABLE {name} (" + ", ".join(f'"{row[0]}" {row[1]}' for row in described) + ");"
