"""Calling a relation with parameters from a command line."""

from typing import Final

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


def test_limits_for_a_query_without_any_are_refused() -> None:
    with pytest.raises(QueryError, match="takes no limits"):
        call(CATALOGUE, "gaps", [], LIMITS)
