"""The library as one script for any DuckDB shell."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokengap.library import read_catalogue
from tokengap.library.script import listing, script
from tokengap.schema import STREAMS
from tokengap.store.sql import literal

CATALOGUE = read_catalogue()


@pytest.fixture(scope="module")
def shell() -> Iterator[duckdb.DuckDBPyConnection]:
    """A bare shell that ran the script over no parts."""
    with duckdb.connect() as con:
        con.execute(script(CATALOGUE, parts=[]))
        yield con


def test_whole_library_runs_in_a_bare_shell_over_no_parts(
    shell: duckdb.DuckDBPyConnection,
) -> None:
    for name in CATALOGUE.public:
        call = f"{name}()" if CATALOGUE[name].is_macro else name
        shell.execute(f"SELECT * FROM {call}").fetchall()


def test_headers_become_comments(shell: duckdb.DuckDBPyConnection) -> None:
    public = [CATALOGUE[name] for name in CATALOGUE.public]
    views = [query for query in public if not query.is_macro]
    macros = [query for query in public if query.is_macro]
    found = shell.execute("SELECT view_name, comment FROM duckdb_views()").fetchall()
    stored = shell.execute("SELECT table_name, comment FROM duckdb_tables()").fetchall()
    called = shell.execute("SELECT function_name, comment FROM duckdb_functions()").fetchall()
    described = shell.execute(
        "SELECT table_name, column_name, comment FROM duckdb_columns()"
    ).fetchall()
    assert {(query.name, query.summary) for query in views} <= set(found + stored)
    assert {(query.name, query.summary) for query in macros} <= set(called)
    columns = {(query.name, column.name, column.doc) for query in views for column in query.columns}
    assert columns <= set(described)


def test_one_query_comes_with_what_it_needs_and_no_more() -> None:
    text = script(CATALOGUE, "gaps", parts=[])
    assert "CREATE VIEW streams AS" in text
    assert "CREATE VIEW gaps AS" in text
    assert "request_latency" not in text


def test_placeholder_is_there_to_be_replaced(tmp_path: Path) -> None:
    part = tmp_path / "it's.parquet"
    row = {"request_id": "a", "first_token_ns": 5, "gaps_ns": [7]}
    pq.write_table(pa.Table.from_pylist([row], STREAMS), part)
    text = script(CATALOGUE, "gaps")
    assert "Put your own files here" in text
    for placed in (text.replace("'streams.parquet'", literal(str(part))), _over([str(part)])):
        with duckdb.connect() as shell:
            shell.execute(placed)
            assert shell.execute("SELECT gap_ns, end_ns FROM gaps").fetchall() == [(7, 12)]


def _over(parts: list[str]) -> str:
    return script(CATALOGUE, "gaps", parts)


def test_listing_has_one_line_per_public_query() -> None:
    assert [line.split()[0] for line in listing(CATALOGUE).splitlines()] == CATALOGUE.public
