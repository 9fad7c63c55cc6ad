"""How far clocks are apart: by what logs and users say, else by what happened before what."""

import pytest

from tests.queries.given import Library, Row, clock, stream
from tokengap.errors import UsageError
from tokengap.store.clocks import ClockOffset
from tokengap.store.connect import Declared

INNER_AHEAD = 1_000


def client(name: str, sent_ns: int, *times: int, **facts: object) -> Row:
    return stream(name, times, sent_ns=sent_ns, ids={"x_request_id": name}, **facts)


def engine(name: str, arrival_ns: int, *times: int, **facts: object) -> Row:
    """On a clock of its own, which shows 1,000 more than the client's."""
    facts = {"clock": "e", "vantage": "engine", "ids": {"x_request_id": name}} | facts
    stamps = [t + INNER_AHEAD for t in times]
    return stream(name, stamps, sent_ns=None, arrival_ns=arrival_ns + INNER_AHEAD, **facts)


def test_a_request_bounds_an_offset_from_both_ends(library: Library) -> None:
    # a: sent at 0, there at 10 at the latest: at most 1,010. First token made at 50 and received at
    # 66, last one at 80 and 100: at least 1,050 - 66 = 984. b: 1,205 - 200 and 1,275 - 290 = 985.
    a = [client("a", 0, 66, 100), engine("a", 10, 50, 80)]
    library.bind(a)
    found = library.row("clock_bounds")
    assert (found["outer_base"], found["inner_base"]) == ("c", "e")
    assert (found["low_ns"], found["high_ns"]) == (984, 1_010)
    library.bind([*a, client("b", 200, 270, 290), engine("b", 205, 240, 275)])
    found = library.row("clock_bounds")
    assert (found["low_ns"], found["high_ns"], found["requests"]) == (985, 1_005, 2)
    assert found["contradictory"] is False


def test_bounds_that_exclude_each_other_bound_nothing(library: Library) -> None:
    # b's engine stamps are 100 too low: 900 at most, and a says 980 at least.
    rows = [client("a", 0, 100), engine("a", 10, 80), client("b", 200, 290), engine("b", 100, 175)]
    library.bind(rows)
    found = library.row("clock_bounds")
    assert (found["low_ns"], found["high_ns"]) == (None, None)
    assert found["contradictory"] is True


@pytest.mark.parametrize(
    "left",
    [
        {"status": "cancelled", "stream_close_ns": 60},
        {"status": "timed_out", "stream_close_ns": 60},
        {"quality": ["end_not_seen"]},  # with fewer tokens than the engine made
        {"quality": ["end_not_seen"], "output_tokens": None},
    ],
)
def test_a_server_may_go_on_when_nobody_listens(library: Library, left: Row) -> None:
    # The engine's last token, at 1,080, was never received: only the first one counts, 1,040 - 50.
    library.bind([client("a", 0, 50, **left), engine("a", 10, 40, 80)])
    found = library.row("clock_bounds")
    assert (found["low_ns"], found["high_ns"], found["contradictory"]) == (990, 1_010, False)


def test_who_received_nothing_bounds_one_side_only(library: Library) -> None:
    library.bind([client("a", 0, status="failed"), engine("a", 10, 40, 80)])
    found = library.row("clock_bounds")
    assert (found["low_ns"], found["high_ns"], found["contradictory"]) == (None, 1_010, False)


def test_a_stream_with_all_tokens_was_not_cut(library: Library) -> None:
    whole = client("a", 0, 90, 100, quality=["end_not_seen"])
    library.bind([whole, engine("a", 10, 40, 80)])
    assert library.row("clock_bounds")["low_ns"] == 980


def test_a_first_token_that_is_not_the_first_bounds_nothing(library: Library) -> None:
    # Of the engine's log only the end is left, of the client's only the beginning.
    rest = engine("a", 10, 70, 80, quality=["events_lost", "first_events_lost"])
    library.bind([client("a", 0, 50, status="cancelled"), rest])
    assert library.row("clock_bounds")["low_ns"] is None


def test_when_a_request_came_is_not_when_its_first_token_did(library: Library) -> None:
    # The client's log holds no time before its first token, which came after the arrival.
    library.bind([client("a", 0, 100) | {"sent_ns": None}, engine("a", 10, 80)])
    found = library.row("clock_bounds")
    assert (found["low_ns"], found["high_ns"]) == (980, None)


def test_clocks_with_a_logged_relation_need_no_requests(library: Library) -> None:
    rows = [client("a", 0, 100), engine("a", 10, 80)]
    library.bind(rows, clocks=[clock("e", "wall", 700, 3), clock("c", "wall", -300, 2)])
    assert library.rows("clock_bounds") == []
    found = {row["clock"]: row for row in library.rows("_related_clocks")}
    assert (found["c"]["low_ns"], found["c"]["high_ns"]) == (995, 1_005)
    assert (found["e"]["low_ns"], found["e"]["high_ns"]) == (-1_005, -995)


def test_each_side_may_know_its_own_wall_clock_only_roughly(library: Library) -> None:
    # The engine's base is its wall clock, 50 ahead or 3 either way from there, and so on.
    rows = [client("a", 0, 100), engine("a", 10, 80)]
    library.bind(rows, clocks=[clock("e", "e:wall", 50, 3)])
    bounds = library.row("clock_bounds")
    ahead = {"e": (0, 0), "e:wall": (-53, -47)}[bounds["inner_base"]]
    assert bounds["low_ns"] == 980 + ahead[0]
    assert bounds["high_ns"] == 1_010 + ahead[1]


def test_two_clocks_may_be_known_by_a_third(library: Library) -> None:
    # Halves of a request, each on its own clock, 1,000 and 5,000 ahead of the client's.
    half = {"handoff_source": "log", "ids": {"x_request_id": "a"}}
    rows = [
        client("a", 0, 100),
        engine("a-p", 10, 40, prefill_worker="p", last_prefill_token=1, clock="p", **half),
        engine("a-d", 4_045, 4_090, decode_worker="d", last_prefill_token=0, clock="d", **half),
    ]
    library.bind(rows)
    # Prefill: 1,040 - 100 to 1,010 - 0. Decode: 5,090 - 100 to 5,045 - 0.
    found = {(row["clock"], row["other"]): row for row in library.rows("_related_clocks")}
    assert (found["p", "d"]["low_ns"], found["p", "d"]["high_ns"]) == (4_990 - 1_010, 5_045 - 940)
    assert (found["d", "p"]["low_ns"], found["d", "p"]["high_ns"]) == (940 - 5_045, 1_010 - 4_990)


def test_declared_offsets_come_before_causal_order(library: Library) -> None:
    rows = [client("a", 0, 100), engine("a", 10, 80)]
    library.bind(rows, Declared(clocks=(ClockOffset("e", 1_001, 1),)))
    assert library.rows("clock_bounds") == []
    (found,) = [row for row in library.rows("_related_clocks") if row["clock"] == "c"]
    assert (found["low_ns"], found["high_ns"]) == (1_000, 1_002)


def test_a_clock_that_no_log_has_is_refused(library: Library) -> None:
    with pytest.raises(UsageError, match=r"--clock x: is no clock .* are: c, e"):
        library.bind(
            [client("a", 0, 100), engine("a", 10, 80)], Declared(clocks=(ClockOffset("x", 0),))
        )
