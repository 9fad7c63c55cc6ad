"""Loading the library into DuckDB, and holding every file to its header."""

from typing import Final

import duckdb

from tokengap.errors import QueryError
from tokengap.library.catalogue import ROOTS, Catalogue
from tokengap.library.query import Query
from tokengap.store.sql import literal


def load(con: duckdb.DuckDBPyConnection, catalogue: Catalogue, only: str | None = None) -> None:
    """Create every relation, or `only` one and what it needs, for streams to be bound later.

    Relations from users' folders are held to their headers; the shipped ones are by the tests.
    """
    queries = catalogue.queries.values() if only is None else catalogue.closure(only)
    for query in queries:
        _create(con, query)
    for query in queries:
        if query.name in catalogue.mounted:
            check(con, catalogue, query)


def ensure(con: duckdb.DuckDBPyConnection, catalogue: Catalogue, *names: str) -> None:
    """Create what these relations need and the connection has not loaded."""
    there = {row[0] for row in con.execute(_THERE).fetchall()}
    for query in catalogue.closure(*names):
        if query.name not in there:
            _create(con, query)


_THERE: Final = """
SELECT view_name FROM duckdb_views() UNION ALL SELECT table_name FROM duckdb_tables()
UNION ALL SELECT function_name FROM duckdb_functions() WHERE NOT internal
"""


def refresh(con: duckdb.DuckDBPyConnection, catalogue: Catalogue, only: str | None = None) -> None:
    """Compute what is stored anew, from the streams that the connection is bound to now."""
    queries = catalogue.queries.values() if only is None else catalogue.closure(only)
    for query in queries:
        if query.is_stored:
            con.execute(query.sql.replace("CREATE TABLE", "CREATE OR REPLACE TABLE", 1))


def keep(con: duckdb.DuckDBPyConnection, name: str, objectives: str) -> None:
    """Answer a relation that takes objectives once, for these: whatever reads it reads the answer.

    objectives: the argument, as SQL. Whoever asks for others gets the answer for these.
    """
    con.execute(f"CREATE OR REPLACE TEMP TABLE kept_{name} AS FROM {name}({objectives})")
    con.execute(f"CREATE OR REPLACE MACRO {name}(objectives := []) AS TABLE FROM kept_{name}")


def check(con: duckdb.DuckDBPyConnection, catalogue: Catalogue, query: Query) -> None:
    """Compare a relation with its header, add its comments; QueryError says what differs."""
    _check_contract(con, query)
    _check_shadowing(con, catalogue, query)
    con.execute(comments(query))


def comments(query: Query) -> str:
    """`COMMENT ON` statements that carry the header into the database."""
    if query.is_macro:
        kind = "MACRO TABLE" if query.is_table else "MACRO"
        return f"COMMENT ON {kind} {query.name} IS {literal(query.summary)};"
    statements = [f"COMMENT ON {query.kind} {query.name} IS {literal(query.summary)};"]
    statements += [
        f"COMMENT ON COLUMN {query.name}.{column.name} IS {literal(column.doc)};"
        for column in query.columns
    ]
    return "\n".join(statements)


def _create(con: duckdb.DuckDBPyConnection, query: Query) -> None:
    try:
        statements = con.extract_statements(query.sql)
        if len(statements) != 1:
            raise QueryError(
                f"{query.path}: holds {len(statements)} statements; a file defines one"
            )
        con.execute(statements[0])
    except duckdb.Error as error:
        raise QueryError(f"{query.path}: {error}") from error


def _check_contract(con: duckdb.DuckDBPyConnection, query: Query) -> None:
    if query.is_macro:
        parameters = _described_parameters(con, query)
        stated = [(p.name, _canonical(con, p.type)) for p in query.parameters]
        if query.is_table and parameters != stated:
            raise QueryError(
                f"{query.path}: header lists parameters {stated}, SQL has {parameters}"
            )
    if query.is_private:
        return
    call = f"{query.name}()" if query.is_macro else query.name
    actual = [(row[0], row[1]) for row in con.execute(f"DESCRIBE SELECT * FROM {call}").fetchall()]
    stated = [(column.name, column.type) for column in query.columns]
    if actual != stated:
        wrong = next(
            (
                f"{a or 'nothing'} where the header says {s or 'nothing'}"
                for a, s in _paired(actual, stated)
                if a != s
            )
        )
        raise QueryError(f"{query.path}: the SQL gives {wrong}")


def _paired(
    actual: list[tuple[str, str]], stated: list[tuple[str, str]]
) -> list[tuple[tuple[str, str] | None, tuple[str, str] | None]]:
    length = max(len(actual), len(stated))
    pad = [None] * length
    return list(zip([*actual, *pad][:length], [*stated, *pad][:length], strict=True))


def _described_parameters(con: duckdb.DuckDBPyConnection, query: Query) -> list[tuple[str, str]]:
    row = con.execute(
        "SELECT parameters, parameter_types FROM duckdb_functions() WHERE function_name = ?",
        [query.name],
    ).fetchone()
    names, types = row or ([], [])
    return list(zip(names, types, strict=True))


def _canonical(con: duckdb.DuckDBPyConnection, type_: str) -> str:
    row = con.execute(f"SELECT typeof(NULL::{type_})").fetchone()
    return str(row[0]) if row else type_


def _check_shadowing(con: duckdb.DuckDBPyConnection, catalogue: Catalogue, query: Query) -> None:
    """A parameter that has the name of a column it can see would silently win over it."""
    names = {parameter.name for parameter in query.parameters}
    for required in query.requires:
        if required not in ROOTS and not catalogue[required].is_table:
            continue
        is_macro = required not in ROOTS and catalogue[required].is_macro
        call = f"{required}()" if is_macro else required
        rows = con.execute(f"DESCRIBE SELECT * FROM {call}").fetchall()
        if clash := names.intersection(row[0] for row in rows):
            raise QueryError(
                f"{query.path}: the parameter {clash.pop()} has the name of a column of "
                f"{required} and would shadow it; rename the parameter"
            )
