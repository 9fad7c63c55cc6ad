"""`tokengap query`, `sql`, `ingest` and `formats` as a user calls them."""

import csv
import io
from pathlib import Path

import duckdb
import pytest

from tests.cli.running import LIMITS, VICTIMS, tokengap
from tokengap.adapters import ADAPTERS
from tokengap.library import read_catalogue

LOG = '{"request_id":"a","sent_ns":0,"times_ns":[100,120,150],"token_counts":[1,2,1]}\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(LOG, "utf-8")
    return path


def test_json_is_an_array_of_row_objects(log: Path) -> None:
    rows = tokengap("query", "token_deliveries", str(log), "--json").json()
    found = [(row["delivery"], row["t_ns"], row["n_tokens"]) for row in rows]
    assert sorted(found) == [(1, 100, 1), (2, 120, 2), (3, 150, 1)]


def test_csv_has_a_header_and_nothing_for_null(log: Path) -> None:
    (row,) = csv.DictReader(io.StringIO(tokengap("query", "streams", str(log), "--csv").out))
    assert row["request_id"] == "a"
    assert row["gaps_ns"] == "[20, 30]"
    assert row["model"] == ""


def test_formats_of_output_exclude_each_other(log: Path) -> None:
    assert tokengap("query", "gaps", str(log), "--csv", "--json").code == 2


def test_table_holds_the_rows(log: Path) -> None:
    out = tokengap("query", "gaps", str(log)).out
    assert [line.split()[-2] for line in out.splitlines()[1:]] == ["20", "30"]


def test_parameter_takes_units() -> None:
    limits = "objectives=tpot=50ms,worst_gap=500ms"
    rows = tokengap("query", "hidden_stalls", VICTIMS, "-p", limits, "--json").json()
    assert len(rows) == 23
    assert rows == tokengap("query", "hidden_stalls", VICTIMS, *LIMITS, "--json").json()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gabs",), "did you mean gaps"),
        (("gaps", "-p", "x=1"), "gaps takes no parameters"),
        (("stall_map", "-p", "most_marks=many"), "expected INTEGER"),
        (("gaps", *LIMITS), "takes no limits"),
        (("hidden_stalls", "-p", "objectives=tpot=50"), "50ms"),
        (("stall_map", "-p", "most_marks=9999999999"), "most_marks INTEGER"),
    ],
)
def test_wrong_call_says_what_is_right(log: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = tokengap("query", arguments[0], str(log), *arguments[1:])
    assert ran.code == 2
    assert said in ran.err


def test_own_folder_of_queries_is_mounted(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "first_gaps.sql").write_text(
        "-- first_gaps: the first gap (one row per stream).\n--\n-- Requires: request_latency\n"
        "-- Columns:\n--   request_id  VARCHAR  -   Whose.\n--   gap_ns  BIGINT  ns  The gap.\n"
        "CREATE VIEW first_gaps AS\nSELECT request_id, first_gap_ns AS gap_ns\n"
        "FROM request_latency;\n",
        "utf-8",
    )
    rows = tokengap("query", "first_gaps", str(log), "--queries", str(folder), "--json").json()
    assert rows == [{"request_id": "a", "gap_ns": 20}]
    assert "first_gaps" in tokengap("sql", "--list", "--queries", str(folder)).out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("request_id::DOUBLE", "Could not convert string 'a'"),
        ("'inf'::DOUBLE", "infinity"),
    ],
)
def test_own_query_that_fails_is_an_error_of_its_own(
    log: Path, tmp_path: Path, given: str, said: str
) -> None:
    (tmp_path / "mine.sql").write_text(
        "-- mine: nothing (one row per stream).\n-- Requires: streams\n-- Columns:\n"
        f"--   one  DOUBLE  -  One.\nCREATE VIEW mine AS SELECT {given} AS one FROM streams;\n",
        "utf-8",
    )
    ran = tokengap("query", "mine", str(log), "--queries", str(tmp_path), "--json")
    assert ran.code == 2
    assert said in ran.err


def test_sql_lists_every_public_query() -> None:
    names = [line.split()[0] for line in tokengap("sql", "--list").out.splitlines()]
    assert names == read_catalogue().public


def test_sql_of_a_store_runs_in_any_shell(log: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    assert tokengap("ingest", str(log), "--store", store).code == 0
    script = tokengap("sql", "--store", store).out
    with duckdb.connect() as shell:
        shell.execute(script)
        assert shell.execute("SELECT gap_ns FROM gaps ORDER BY gap_index").fetchall() == [
            (20,), (30,),
        ]  # fmt: skip


def test_sql_without_a_store_leaves_a_place_for_files() -> None:
    assert "read_parquet(['streams.parquet'])" in tokengap("sql", "gaps").out


def test_loading_twice_changes_nothing_and_says_so(log: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    first = tokengap("ingest", str(log), "--store", store)
    assert "loaded; 1 streams, 4 tokens, 0 rejects" in first.out
    again = tokengap("ingest", str(log), "--store", store)
    assert again.code == 0
    assert "already loaded" in again.out
    assert "nothing changed" in again.out
    assert tokengap("query", "streams", store, "--json").json()[0]["request_id"] == "a"


def test_formats_names_every_adapter() -> None:
    lines = tokengap("formats").out.splitlines()
    names = [line.split()[0] for line in lines if line and line[0] != " "]
    assert names == [adapter.name for adapter in ADAPTERS]
