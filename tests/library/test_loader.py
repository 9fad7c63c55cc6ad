"""Every shipped query keeps its header's word, and a broken one is refused."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb
import pytest

from tokengap.errors import QueryError
from tokengap.library import SHARED, Query, check, ensure, load, read_catalogue, refresh
from tokengap.store.connect import NOTHING_DECLARED, Declared, connect

CATALOGUE: Final = read_catalogue().storing(SHARED)
"""As an audit has it: what is read often is not planned again for whatever reads it."""
PUBLIC: Final = [CATALOGUE[name] for name in CATALOGUE.public]
SHARES: Final = frozenset({"attainment", "low", "high", "share"})
TOKENS: Final = frozenset({"tokens_per_delivery", "worst_gap_after_token", "token_counts"})
UNITS: Final = frozenset(
    {"", "ns", "share", "tokens", "bytes", "streams", "requests", "attempts", "gaps"}
)


@pytest.fixture(scope="module")
def loaded() -> Iterator[duckdb.DuckDBPyConnection]:
    con = connect(Declared())
    load(con, CATALOGUE)
    yield con
    con.close()


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    con = connect(Declared())
    yield con
    con.close()


def write(folder: Path, name: str, columns: str, create: str, requires: str = "") -> None:
    header = f"-- {name}: things (one row).\n--\n-- Requires: {requires}\n"
    (folder / f"{name}.sql").write_text(f"{header}{columns}{create}\n", "utf-8")


@pytest.mark.parametrize("query", CATALOGUE.queries.values(), ids=lambda query: query.name)
def test_shipped_query_keeps_its_contract(loaded: duckdb.DuckDBPyConnection, query: Query) -> None:
    check(loaded, CATALOGUE, query)


@pytest.mark.parametrize("query", PUBLIC, ids=lambda query: query.name)
def test_names_carry_their_units(query: Query) -> None:
    for column in query.columns:
        if column.unit == "ns":
            assert column.name.endswith("_ns"), column.name
        if column.name.endswith("_ns") and not column.type.startswith("STRUCT"):
            assert column.unit == "ns", column.name
        if column.unit == "share":
            assert column.name.endswith("_share") or column.name in SHARES, column.name
        if column.unit == "tokens":
            assert column.name.endswith("_tokens") or column.name in TOKENS, column.name
        assert (column.unit == "bytes") == column.name.endswith("_bytes"), column.name
        assert column.unit in UNITS, column.name
        assert not re.search(r"_(ms|us|s|sec|seconds)$", column.name), column.name


def test_headers_become_comments(loaded: duckdb.DuckDBPyConnection) -> None:
    check(loaded, CATALOGUE, CATALOGUE["gaps"])
    row = loaded.execute("SELECT comment FROM duckdb_views() WHERE view_name = 'gaps'").fetchone()
    assert row == (CATALOGUE["gaps"].summary,)


@pytest.mark.parametrize(
    ("columns", "create", "said"),
    [
        ("--   one  BIGINT  -  One.\n", "SELECT 1 AS one", "('one', 'INTEGER') where the header"),
        ("--   two  INTEGER  -  One.\n", "SELECT 1 AS one", "says ('two', 'INTEGER')"),
        ("--   one  INTEGER  -  One.\n", "SELECT 1 AS one, 2 AS two", "('two', 'INTEGER')"),
        ("--   one  INTEGER  -  One.\n", "SELECT 1 AS one; DROP TABLE rejects", "2 statements"),
        ("--   one  INTEGER  -  One.\n", "SELECT nothing AS one", "mine.sql"),
    ],
)
def test_file_that_breaks_its_contract_is_refused(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, columns: str, create: str, said: str
) -> None:
    write(tmp_path, "mine", f"-- Columns:\n{columns}", f"CREATE VIEW mine AS {create};")
    with pytest.raises(QueryError) as error:
        load(con, read_catalogue([tmp_path]), "mine")
    assert said in str(error.value)


def test_parameter_may_not_shadow_a_column(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    write(
        tmp_path,
        "long_gaps",
        "-- Parameters:\n--   gap_ns  BIGINT  ns  Least.\n-- Columns:\n--   n  BIGINT  -  N.\n",
        "CREATE MACRO long_gaps(gap_ns BIGINT := 0) AS TABLE\n"
        "SELECT count(*) AS n FROM gaps WHERE gaps.gap_ns > gap_ns;",
        "gaps",
    )
    # Newer DuckDB refuses it by itself; older ones let the parameter win silently.
    with pytest.raises(QueryError, match=r"long_gaps\.sql: .*gap_ns"):
        load(con, read_catalogue([tmp_path]), "long_gaps")


@pytest.mark.parametrize(
    "parameters", ["-- Parameters:\n--   least  INTEGER  -  Least.\n", "", "-- Parameters:\n"]
)
def test_header_must_list_the_parameters_that_the_macro_has(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, parameters: str
) -> None:
    write(
        tmp_path,
        "mine",
        f"{parameters}-- Columns:\n--   n  BIGINT  -  N.\n",
        "CREATE MACRO mine(least BIGINT := 0) AS TABLE SELECT least AS n;",
    )
    with pytest.raises(QueryError, match="header lists parameters"):
        load(con, read_catalogue([tmp_path]), "mine")


def test_stored_view_answers_without_its_source(con: duckdb.DuckDBPyConnection) -> None:
    storing = read_catalogue().storing(["streams"])
    load(con, storing, "streams")
    refresh(con, storing, "streams")
    con.execute("DROP VIEW stored_streams")
    assert con.execute("SELECT count(*) FROM streams").fetchall() == [(0,)]


def test_what_a_connection_lacks_is_added() -> None:
    con = connect(NOTHING_DECLARED)
    catalogue = read_catalogue()
    load(con, catalogue.without("weekly"))
    with pytest.raises(duckdb.Error, match="promised_hours"):
        con.execute("FROM promised_hours")
    for _ in range(2):
        ensure(con, catalogue, "promised_hours")
        assert con.execute("FROM promised_hours").fetchall() == []
    con.close()
