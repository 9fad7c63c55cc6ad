"""Calling a relation with parameters from a command line."""

from pathlib import Path
from typing import Final

import duckdb
import pytest

from tokengap.errors import QueryError, UnitError, UsageError
from tokengap.library import read_catalogue
from tokengap.library.call import call
from tokengap.slo import Objective

CATALOGUE: Final = read_catalogue()
LIMITS: Final = [Objective("tpot", 50_000_000, "--limit")]


def test_view_is_selected_from() -> None:
    assert call(CATALOGUE, "gaps", []) == "SELECT * FROM gaps"
    assert call(CATALOGUE, "rejects", []) == "SELECT * FROM rejects"


def test_limits_go_to_the_parameter_that_takes_them() -> None:
    wanted = (
        "SELECT * FROM slo_attainment(objectives := [{'statistic': 'tpot', 'limit_ns': 50000000}])"
    )
    assert call(CATALOGUE, "slo_attainment", [], LIMITS) == wanted
    assert call(CATALOGUE, "slo_attainment", ["objectives=tpot=50ms"]) == wanted
    assert call(CATALOGUE, "slo_attainment", ["objectives=tpot=50ms"], LIMITS) == wanted


def test_macro_without_arguments_takes_its_defaults() -> None:
    assert call(CATALOGUE, "stall_map", []) == "SELECT * FROM stall_map()"
    assert call(CATALOGUE, "stall_map", ["most_marks=7"]).endswith("(most_marks := 7)")


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("gaps", ["x=1"], QueryError),
        ("stall_map", ["most_marks"], QueryError),
        ("stall_map", ["most_marks=1); DROP VIEW gaps; --"], QueryError),
        ("slo_attainment", ["objectives=tpot=50"], UnitError),
        ("slo_attainment", ["objectives=speed=50ms"], UsageError),
        ("_wilson", [], QueryError),
    ],
)
def test_wrong_parameter_is_refused(name: str, given: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(CATALOGUE, name, given)


MINE: Final = """\
-- mine: what is called so (one row).
-- Parameters:
--   called     VARCHAR  -   Name.
--   longer_ns  BIGINT   ns  Length.
--   least      DOUBLE   -   Share.
-- Columns:
--   found  VARCHAR  -  What was given.
CREATE MACRO mine(
    called VARCHAR := '', longer_ns BIGINT := 0, least DOUBLE := 0
) AS TABLE SELECT concat_ws('|', called, longer_ns, least) AS found;
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["longer_ns=1.5ms"], "|1500000|0.0"),
        (["longer_ns=-2us", "least=0.25"], "|-2000|0.25"),
        (["called=o'brien'); DROP VIEW gaps; --"], "o'brien'); DROP VIEW gaps; --|0|0.0"),
        (["called=a=b"], "a=b|0|0.0"),
    ],
)
def test_values_arrive_as_they_were_meant(tmp_path: Path, given: list[str], found: str) -> None:
    (tmp_path / "mine.sql").write_text(MINE, "utf-8")
    catalogue = read_catalogue([tmp_path])
    with duckdb.connect() as con:
        con.execute(catalogue["mine"].sql)
        assert con.execute(call(catalogue, "mine", given)).fetchall() == [(found,)]


@pytest.mark.parametrize(
    ("given", "error"),
    [("longer_ns=5", UnitError), ("least=most", QueryError), ("least=nan", QueryError)],
)
def test_values_of_another_kind_are_refused(
    tmp_path: Path, given: str, error: type[Exception]
) -> None:
    (tmp_path / "mine.sql").write_text(MINE, "utf-8")
    with pytest.raises(error):
        call(read_catalogue([tmp_path]), "mine", [given])


def test_limits_for_a_query_without_any_are_refused() -> None:
    with pytest.raises(QueryError, match="takes no limits"):
        call(CATALOGUE, "gaps", [], LIMITS)
