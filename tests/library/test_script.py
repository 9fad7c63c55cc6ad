"""The library as one script for any DuckDB shell."""

import duckdb

from tokengap.library import read_catalogue
from tokengap.library.script import listing, script

CATALOGUE = read_catalogue()


def test_whole_library_runs_in_a_bare_shell_over_no_parts() -> None:
    with duckdb.connect() as shell:
        shell.execute(script(CATALOGUE, parts=[]))
        for name in CATALOGUE.public:
            call = f"{name}()" if CATALOGUE[name].is_macro else name
            shell.execute(f"SELECT * FROM {call}").fetchall()
        views = shell.execute("SELECT view_name, comment FROM duckdb_views()").fetchall()
    assert dict(views)["gaps"] == CATALOGUE["gaps"].summary


def test_one_query_comes_with_what_it_needs_and_no_more() -> None:
    text = script(CATALOGUE, "gaps", parts=[])
    assert "CREATE VIEW streams AS" in text
    assert "CREATE VIEW gaps AS" in text
    assert "request_latency" not in text


def test_placeholder_is_left_without_parts() -> None:
    assert "Put your own files here" in script(CATALOGUE, "gaps")


def test_listing_has_one_line_per_public_query() -> None:
    assert [line.split()[0] for line in listing(CATALOGUE).splitlines()] == CATALOGUE.public
