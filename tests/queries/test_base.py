"""Streams with what is declared, and their deliveries and gaps one by one."""

import pytest

from tests.queries.given import MS, Library, Row, stream
from tokengap.store.connect import Declared, Window


def test_deliveries_and_gaps_add_up_from_the_first_token(library: Library) -> None:
    library.bind([stream("a", [100, 130, 190], token_counts=[2, 1, 3], output_tokens=6)])
    deliveries = library.rows("token_deliveries", "delivery")
    assert [(row["delivery"], row["t_ns"], row["n_tokens"]) for row in deliveries] == [
        (1, 100, 2), (2, 130, 1), (3, 190, 3),
    ]  # fmt: skip
    gaps = library.rows("gaps", "gap_index")
    assert [(row["gap_index"], row["gap_ns"], row["end_ns"]) for row in gaps] == [
        (1, 30, 130), (2, 60, 190),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "tokens"),
    [
        ({}, [1, 1]),  # as many tokens as deliveries: one each
        ({"output_tokens": 5}, [None, None]),
        ({"output_tokens": None}, [None, None]),
        ({"output_tokens": 5, "token_counts": [4, 1]}, [4, 1]),
    ],
)
def test_an_unknown_split_has_no_token_numbers(
    library: Library, facts: Row, tokens: list[int | None]
) -> None:
    library.bind([stream("a", [10, 20], **facts)])
    assert [row["n_tokens"] for row in library.rows("token_deliveries", "delivery")] == tokens


def test_streams_without_deliveries_have_neither(library: Library) -> None:
    library.bind([stream("none", []), stream("not known", None), stream("one", [7])])
    assert library.rows("gaps") == []
    assert [row["request_id"] for row in library.rows("token_deliveries")] == ["one"]


def test_a_clock_that_steps_back_keeps_its_negative_gap(library: Library) -> None:
    library.bind([stream("a", [100, 90, 95])])
    assert [row["end_ns"] for row in library.rows("gaps", "gap_index")] == [90, 95]
    assert [row["gap_ns"] for row in library.rows("gaps", "gap_index")] == [-10, 5]


@pytest.mark.parametrize(
    ("logged", "declared", "found"),
    [
        ((None, None), None, (None, None)),
        ((None, None), 1, (1, "declared")),
        ((None, None), 0, (0, "declared")),
        ((2, "log"), 1, (2, "log")),
        ((2, None), 1, (2, "log")),
        ((None, "log"), 1, (None, "log")),
        ((None, "none"), 1, (None, "none")),
    ],
)
def test_a_declared_handoff_fills_in_what_the_log_leaves_open(
    library: Library,
    logged: tuple[int | None, str | None],
    declared: int | None,
    found: tuple[int | None, str | None],
) -> None:
    row = stream("a", [1, 2], last_prefill_token=logged[0], handoff_source=logged[1])
    library.bind([row], Declared(last_prefill_token=declared))
    shown = library.row("streams")
    assert (shown["last_prefill_token"], shown["handoff_source"]) == found


@pytest.mark.parametrize(
    ("vantage", "declared", "origin", "origin_ns"),
    [
        ("client", Declared(), "sent", 2),
        ("gateway", Declared(), "received", 3),
        ("engine", Declared(), "arrival", 4),
        (None, Declared(), "sent", 2),
        (None, Declared(vantage="engine"), "arrival", 4),
        ("client", Declared(vantage="engine"), "sent", 2),
        ("client", Declared(origin="planned"), "planned", 1),
        ("engine", Declared(origin="received"), "received", 3),
    ],
)
def test_times_count_from_the_origin_of_the_vantage_unless_declared(
    library: Library, vantage: str | None, declared: Declared, origin: str, origin_ns: int
) -> None:
    stamps = {"planned_ns": 1, "sent_ns": 2, "received_ns": 3, "arrival_ns": 4}
    library.bind([stream("a", [9], vantage=vantage, **stamps)], declared)
    shown = library.row("streams")
    assert (shown["origin"], shown["origin_ns"]) == (origin, origin_ns)


def test_a_request_seen_in_less_detail_elsewhere_is_superseded(library: Library) -> None:
    finer = stream("a", [1, 2], source="raw:0:1")
    lesser = [stream("a", None, source="summary:0:1"), stream("b", None, source="summary:0:2")]
    library.bind([finer, *lesser], superseding=[("summary", "raw")])
    assert sorted(row["source"] for row in library.rows("streams")) == ["raw:0:1", "summary:0:2"]
    counts = library.row("request_counts()")
    assert (counts["streams"], counts["superseded"], counts["completed"]) == (2, 1, 2)


@pytest.mark.parametrize(
    ("rule", "begun", "ended", "counts"),
    [
        ("by_start", 10, 99, True),  # half open: the start belongs to it
        ("by_start", 19, 99, True),
        ("by_start", 20, 99, False),  # and the end does not
        ("by_start", 9, 15, False),
        ("by_start", "NULL", 15, None),
        ("by_event", 5, 10, True),
        ("by_event", 15, 20, False),
        ("by_event", 15, "NULL", None),
    ],
)
def test_windows_are_half_open(
    library: Library, rule: str, begun: object, ended: object, counts: bool | None
) -> None:
    library.bind(declared=Declared(window=Window(10, 20, rule)))
    found = library.con.execute(f"SELECT _in_window({begun}, {ended})").fetchone()
    assert found == (counts,)


def test_without_a_window_everything_counts(library: Library) -> None:
    library.bind()
    assert library.con.execute("SELECT _in_window(NULL, NULL)").fetchone() == (True,)


@pytest.mark.parametrize(
    ("parts", "total", "least"), [(2, 7, 4), (2, 8, 4), (3, 1, 1), (5, 0, 0), (1, 2**62, 2**62)]
)
def test_the_longest_of_some_parts_is_at_least_their_mean(
    library: Library, parts: int, total: int, least: int
) -> None:
    library.bind()
    found = library.con.execute(f"SELECT _longest_of({parts}, {total})").fetchone()
    assert found == (least,)


def test_a_stamp_keeps_its_nanoseconds(library: Library) -> None:
    wall_ns = 1_764_412_800_000_000_001  # a double would give ...000
    library.bind([stream("a", [wall_ns, wall_ns + 5 * MS], sent_ns=wall_ns - 1)])
    assert [row["t_ns"] for row in library.rows("token_deliveries", "delivery")] == [
        wall_ns, wall_ns + 5 * MS,
    ]  # fmt: skip
    assert library.row("request_latency")["ttft_ns"] == 1
