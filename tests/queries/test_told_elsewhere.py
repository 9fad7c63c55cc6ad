"""What another log of the same request tells: that a stream was cut, and where its handoff is."""

from typing import Any

import pytest

from tests.queries.given import Library, Row, clock, deliveries
from tests.queries.views import half, view
from tokengap.store.connect import Declared


def client(name: str, *times: int, **facts: Any) -> Row:
    """A stream whose log keeps no end marks."""
    row = view(name, "client", {"x_request_id": name}, quality=["end_not_seen"])
    return row | deliveries(times) | {"output_tokens": len(times)} | facts


def engine(name: str, *times: int, **facts: Any) -> Row:
    """What the engine logged, on the client's clock unless stated."""
    row = view(name, "engine", {"x_request_id": name}, clock="client", source=f"spans:1:{name}")
    return row | deliveries(times) | {"output_tokens": len(times)} | facts


def statuses(library: Library, rows: list[Row], **known: Any) -> dict[str, str]:
    """By request, at the client; a cut stream must say so."""
    library.bind(rows, **known)
    found = [row for row in library.rows("streams") if row["vantage"] == "client"]
    for row in found:
        assert ("cut_by_other_log" in row["quality"]) == (row["status"] == "truncated")
    return {row["request_id"]: row["status"] for row in found}


@pytest.mark.parametrize(
    ("inside", "status"),
    [
        ("failed", "truncated"),
        ("truncated", "truncated"),
        ("timed_out", "truncated"),
        ("rejected", "truncated"),
        ("cancelled", "completed"),  # by whom is not known
        ("completed", "completed"),
    ],
)
def test_a_stream_that_failed_further_in_was_cut(
    library: Library, inside: str, status: str
) -> None:
    gateway = view("g", "gateway", {"x_request_id": "a"}, status=inside)
    assert statuses(library, [client("a", 10, 20), gateway]) == {"a": status}
    counts = library.row("request_counts()")
    assert (counts["truncated"], counts["completed"]) == (
        (1, 0) if status == "truncated" else (0, 1)
    )


def test_an_end_that_was_seen_is_not_doubted(library: Library) -> None:
    gateway = view("g", "gateway", {"x_request_id": "a"}, status="failed")
    assert statuses(library, [client("a", 10, 20, quality=[]), gateway]) == {"a": "completed"}


@pytest.mark.parametrize(
    ("last_ns", "more", "status"),
    [
        (100, [], "truncated"),  # the log ended at 80
        (70, [], "completed"),  # it went on, and merely misses this one
        (80, [], "completed"),
        (100, [engine("other", 90, 95)], "truncated"),
        (100, [engine("other", 90, 120)], "completed"),
        (100, [engine("other", 90) | {"gaps_ns": None, "last_token_ns": 120}], "completed"),
        (100, [client("c", 30, 60)], "completed"),  # c, which ended before 80, is missed as well
        (100, [client("c", 30, 90)], "truncated"),
        (100, [client("c", 30, status="failed")], "truncated"),  # of which no record is expected
        (100, [engine("b", 40, 60), engine("b", 40, 61, request_id="b2")], "completed"),
        (100, [half("p", "prefill", {"x_request_id": "b"}, clock="client")], "truncated"),
    ],
)
def test_an_engine_log_that_ended_before_proves_what_it_does_not_hold(
    library: Library, last_ns: int, more: list[Row], status: str
) -> None:
    """Of a and b, the engine logged a."""
    rows = [client("a", 40, 90), engine("a", 35, 80), client("b", 50, last_ns)]
    found = statuses(library, [*rows, *more])
    assert (found["a"], found["b"]) == ("completed", status)


def test_each_log_of_an_engine_must_have_ended(library: Library) -> None:
    rows = [client("a", 40, 90), engine("a", 35, 80), client("b", 50, 100)]
    second = [client("c", 40, 150), engine("c", 35, 140, source="spans:2:c")]
    found = statuses(library, [*rows, *second])
    assert found == {"a": "completed", "b": "completed", "c": "completed"}


def test_without_an_engine_log_of_the_run_nothing_is_missed(library: Library) -> None:
    # The engine's log is of other requests, and the one that joins failed at the client.
    rows = [client("a", 40, 90), client("b", status="failed"), engine("b", 35, 80)]
    assert statuses(library, [*rows, engine("z", 1, 2)])["a"] == "completed"


@pytest.mark.parametrize(
    ("last_ns", "status"), [(91, "truncated"), (90, "completed"), (85, "completed")]
)
def test_by_causal_order_alone(library: Library, last_ns: int, status: str) -> None:
    # The log's last token, whenever that was, was received at 90.
    other = {"clock": "engine", "arrival_ns": 5_020}
    rows = [client("a", 40, 90), engine("a", 5_030, 5_080, **other), client("b", 50, last_ns)]
    assert statuses(library, rows)["b"] == status


@pytest.mark.parametrize(
    ("spread_ns", "status"), [(19, "truncated"), (20, "completed"), (500, "completed")]
)
def test_uncertain_clocks_must_leave_no_doubt(
    library: Library, spread_ns: int, status: str
) -> None:
    other = {"clock": "engine", "arrival_ns": 1_030}
    rows = [client("a", 40, 90), engine("a", 1_035, 1_080, **other), client("b", 50, 100)]
    known = [clock("engine", "client", 1_000, spread_ns)]
    assert statuses(library, rows, clocks=known)["b"] == status


def test_contradictory_clocks_prove_nothing(library: Library) -> None:
    # a arrived at most 1,000 ahead, c was made at least 2,000 ahead.
    other = {"clock": "engine"}
    rows = [client("a", 40, 90), engine("a", 1_035, 1_080, arrival_ns=1_000, **other)]
    rows += [client("c", 40, 90), engine("c", 2_040, 2_090, arrival_ns=2_030, **other)]
    assert statuses(library, [*rows, client("b", 50, 5_000)])["b"] == "completed"


@pytest.mark.parametrize(
    ("own", "gateways", "declared", "found"),
    [
        ((None, None), (0, "log"), None, (0, "log")),
        ((None, None), (1, "log"), 0, (1, "log")),
        ((None, None), (None, "none"), 1, (None, "none")),
        ((None, None), (None, "log"), 1, (None, "log")),
        ((2, "log"), (1, "log"), None, (2, "log")),
        ((None, "none"), (1, "log"), None, (None, "none")),
        ((None, None), (None, None), 1, (1, "declared")),
        ((None, None), (None, None), None, (None, None)),
    ],
)
def test_what_a_gateway_logged_of_the_handoff_holds_at_the_client(
    library: Library,
    own: tuple[int | None, str | None],
    gateways: tuple[int | None, str | None],
    declared: int | None,
    found: tuple[int | None, str | None],
) -> None:
    rows = [
        client("a", 10, 20, last_prefill_token=own[0], handoff_source=own[1]),
        view(
            "g", "gateway", {"x_request_id": "a"}, last_prefill_token=gateways[0],
            handoff_source=gateways[1],
        ),
        client("b", 10, 20),
    ]  # fmt: skip
    library.bind(rows, Declared(last_prefill_token=declared))
    shown = {row["request_id"]: row for row in library.rows("streams")}
    assert (shown["a"]["last_prefill_token"], shown["a"]["handoff_source"]) == found
    alone = (declared, None if declared is None else "declared")
    assert (shown["b"]["last_prefill_token"], shown["b"]["handoff_source"]) == alone
