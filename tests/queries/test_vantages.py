"""One request in several logs: which views are of one request."""

from typing import Any

import pytest

from tests.queries.given import NOTHING_DECLARED, Library, Row, clock
from tests.queries.views import half, view
from tokengap.store.connect import Declared


def pairs(
    library: Library, rows: list[Row], declared: Declared = NOTHING_DECLARED, **more: Any
) -> set[Any]:
    """Request id of the outermost view, and vantage and request id of the one beside it."""
    library.bind(rows, declared, **more)
    found = [
        (row["outer_request_id"], row["vantage"], row["request_id"])
        for row in library.rows("same_request")
    ]
    assert len(found) == len(set(found))
    return set(found)


def test_views_that_share_an_id_are_of_one_request(library: Library) -> None:
    rows = [
        view("1", "client", {"x_request_id": "a"}),
        view("2", "client", {"x_request_id": "b"}),
        view("x", "engine", {"x_request_id": "b"}),
        view("y", "engine", {"x_request_id": "a"}),
        view("z", "engine", {"x_request_id": "c"}),
    ]
    assert pairs(library, rows) == {("1", "engine", "y"), ("2", "engine", "x")}


def test_a_third_view_may_know_both_ids(library: Library) -> None:
    rows = [
        view("c", "client", {"x_request_id": "a"}),
        view("g", "gateway", {"x_request_id": "a", "x_request_id.decode": "a-d", "room": "7"}),
        half("p", "prefill", {"room": "7"}),
        half("d", "decode", {"x_request_id": "a-d"}),
    ]
    found = {("c", "gateway", "g"), ("c", "engine", "p"), ("c", "engine", "d")}
    assert pairs(library, rows) == found


def test_ids_join_by_name_and_what_follows_a_dot_is_none_of_it(library: Library) -> None:
    rows = [
        view("c", "client", {"x_request_id": "a", "sse_id": "b"}),
        view("p", "engine", {"x_request_id.prefill": "a"}),
        view("q", "gateway", {"sse_id": "a", "trace_id": "a", "x_request_id": "b"}),
    ]
    assert pairs(library, rows) == {("c", "engine", "p")}


@pytest.mark.parametrize("name", ["x_correlation_id", "session", "conversation_id"])
def test_ids_of_whole_conversations_join_nothing(library: Library, name: str) -> None:
    rows = [view("c", "client", {name: "a"}), view("e", "engine", {name: "a"})]
    assert pairs(library, rows) == set()


def test_two_requests_of_one_log_are_not_the_same(library: Library) -> None:
    ids = {"x_request_id": "a"}
    rows = [view("1", "client", ids), view("2", "client", ids), view("e", "engine", {"id": "b"})]
    assert pairs(library, rows) == set()


def test_an_id_of_several_requests_is_left_out_and_no_other(library: Library) -> None:
    rows = [
        view("1", "client", {"x_request_id": "a"}),
        view("2", "client", {"x_request_id": "b"}),
        view("x", "engine", {"x_request_id": "a"}),
        view("y", "engine", {"x_request_id": "a"}),
        view("z", "engine", {"x_request_id": "b"}),
        view("g", "gateway", {"x_request_id": "a"}),
    ]
    assert pairs(library, rows) == {("1", "gateway", "g"), ("2", "engine", "z")}


def two_runs(**later: Any) -> list[Row]:
    """Two runs with equal ids: the first within 100, the second from 1,000 on."""
    ids = {"x_request_id": "a"}
    return [
        view("1", "client", ids, stream_close_ns=100),
        view("2", "client", ids, sent_ns=1_000, first_token_ns=1_050, stream_close_ns=1_100),
        view("x", "engine", ids, arrival_ns=5, **later),
        view("y", "engine", ids, arrival_ns=1_005, first_token_ns=1_040, **later),
    ]


def test_time_tells_two_runs_with_equal_ids_apart(library: Library) -> None:
    by_time = {("1", "engine", "x"), ("2", "engine", "y")}
    assert pairs(library, two_runs(clock="client")) == by_time
    known = [clock("engine", "wall", 0), clock("client", "wall", 0, 400)]
    assert pairs(library, two_runs(), clocks=known) == by_time


def test_where_clocks_do_not_tell_equal_ids_are_left_out(library: Library) -> None:
    assert pairs(library, two_runs()) == set()
    known = [clock("engine", "wall", 0), clock("client", "wall", 0, 1_000)]
    assert pairs(library, two_runs(), clocks=known) == set()


def test_a_log_without_origins_is_told_apart_by_its_ends(library: Library) -> None:
    # Its first token came after the request arrived at the engine: that excludes nothing.
    first, second, *engines = two_runs(clock="client")
    rows = [first | {"sent_ns": None}, second, *engines]
    assert pairs(library, rows) == {("2", "engine", "y"), ("1", "engine", "x")}


def test_each_choice_has_views_of_its_own(library: Library) -> None:
    ids = {"x_request_id": "a"}
    rows = [view("c", "client", ids, choice=choice) for choice in (0, 1, 2)]
    rows += [view(f"e{choice}", "engine", ids, choice=choice) for choice in (0, 1)]
    library.bind(rows)
    found = {(row["choice"], row["request_id"]) for row in library.rows("same_request")}
    assert found == {(0, "e0"), (1, "e1")}


def test_without_a_client_the_next_view_is_the_outermost(library: Library) -> None:
    ids = {"x_request_id": "a"}
    engines = [half("p", "prefill", ids), half("d", "decode", ids)]
    rows = [view("g", "gateway", ids), *engines]
    assert pairs(library, rows) == {("g", "engine", "p"), ("g", "engine", "d")}
    assert pairs(library, engines) == {("d", "engine", "p")}
    assert pairs(library, engines[:1]) == set()


@pytest.mark.parametrize(
    ("prefixes", "joined"),
    [
        ((), set()),
        (((None, "run-"),), {"e"}),
        ((("client", "run-"),), {"e"}),
        ((("other", "run-"),), set()),
        (((None, "x-"), ("client", "run-")), {"e"}),  # the run's own wins
    ],
)
def test_a_client_that_saved_no_ids_may_be_given_their_prefix(
    library: Library, prefixes: tuple[tuple[str | None, str], ...], joined: set[str]
) -> None:
    rows = [view("7", "client", {}), view("e", "engine", {"x_request_id": "run-7"})]
    found = pairs(library, rows, Declared(id_prefixes=prefixes))
    assert {request_id for _, _, request_id in found} == joined


def test_a_saved_id_is_no_prefixs_to_replace(library: Library) -> None:
    rows = [view("7", "client", {"x_request_id": "b"}), view("e", "engine", {"x_request_id": "b"})]
    declared = Declared(id_prefixes=((None, "run-"),))
    assert pairs(library, rows, declared) == {("7", "engine", "e")}
    found = {row["request_id"]: row["ids"] for row in library.rows("streams")}
    assert found == {"7": {"x_request_id": "b"}, "e": {"x_request_id": "b"}}
