"""Checks find nothing in valid data, and each thing that is planted."""

import pytest
from hypothesis import given, settings

from tests.queries.given import Library, Row, stream
from tests.queries.strategies import populations
from tokengap.store.connect import Declared


@given(populations())
@settings(max_examples=10)
def test_valid_streams_break_nothing(library: Library, rows: list[Row]) -> None:
    library.bind(rows)
    assert library.rows("check_unique_key") == []
    assert library.rows("check_identities") == []


def test_two_rows_with_one_key_are_found(library: Library) -> None:
    twice = [stream("a", [1], source=f"x:0:{line}") for line in (2, 1)]
    library.bind([*twice, stream("a", [1], choice=1), stream("a", [1], vantage="engine")])
    found = library.row("check_unique_key")
    assert (found["request_id"], found["sources"]) == ("a", ["x:0:1", "x:0:2"])


def test_a_vantage_the_log_leaves_open_may_collide_with_a_logged_one(library: Library) -> None:
    rows = [stream("a", [1], vantage=None), stream("a", [1], vantage="engine")]
    library.bind(rows)
    assert library.rows("check_unique_key") == []
    library.bind(rows, Declared(vantage="engine"))
    assert len(library.rows("check_unique_key")) == 1


def test_token_counts_must_add_up(library: Library) -> None:
    library.bind([stream("a", [1, 5], token_counts=[1, 2], output_tokens=4)])
    assert [row["identity"] for row in library.rows("check_identities")] == ["counts"]


@pytest.mark.parametrize(
    ("changed", "identity"),
    [
        ("decode_span_ns = 51", "gap_sum"),
        ("worst_gap_ns = 24", "worst_gap"),  # the mean is 25
        ("ttft_ns = e2e_ns + 1", "e2e"),
        ("worst_gap_ns = 51", "hidden"),
    ],
)
def test_metrics_that_contradict_each_other_are_found(
    library: Library, changed: str, identity: str
) -> None:
    """The library computes no such number: it is planted among the computed ones."""
    library.bind([stream("a", [10, 30, 60]), stream("b", [10, 30, 60])])
    library.compute("request_latency")
    library.con.execute(f"UPDATE request_latency SET {changed} WHERE request_id = 'a'")
    found = library.row("check_identities")
    assert (found["identity"], found["request_id"]) == (identity, "a")
