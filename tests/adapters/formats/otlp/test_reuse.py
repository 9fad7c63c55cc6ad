"""Times are seconds."""

from tokengap.adapters.formats.otlp.reuse import DECODE, PREFILL, Half, runs

S = 1_000_000_000

Served = tuple[str, str | None, float, float]
"""Name, role, start and end."""


def places(*served: Served) -> dict[str, int]:
    """Run of each half, whichever order those of different servers are in."""
    found, by_role = (
        {order[number][0]: run for number, run in runs(halves(order))}
        for order in (list(served), sorted(served, key=lambda each: (each[1] or "", each[2])))
    )
    assert found == by_role
    return found


def halves(served: list[Served]) -> list[Half]:
    return [
        Half(number, role, round(start_s * S), round(end_s * S))
        for number, (_, role, start_s, end_s) in enumerate(served)
    ]


def test_another_arrival_is_another_run() -> None:
    assert places(("a", None, 1, 2), ("b", None, 5, 6), ("c", None, 7, 8)) == {
        "a": 0, "b": 1, "c": 2,
    }  # fmt: skip


def test_halves_share_their_run() -> None:
    assert places(("p", PREFILL, 1, 2), ("d", DECODE, 2.1, 9)) == {"p": 0, "d": 0}


def test_a_decode_half_goes_with_the_last_prefill_before_it() -> None:
    # The decode server had died when the first run came to it; both servers were started again.
    found = places(("p1", PREFILL, 1, 2), ("p2", PREFILL, 241, 242), ("d2", DECODE, 242.1, 250))
    assert found == {"p1": 0, "p2": 1, "d2": 1}


def test_two_runs_of_the_same_servers() -> None:
    found = places(
        ("p1", PREFILL, 1, 2), ("d1", DECODE, 2.1, 3), ("p2", PREFILL, 4, 5), ("d2", DECODE, 5.1, 6)
    )
    assert found == {"p1": 0, "d1": 0, "p2": 1, "d2": 1}


def test_a_decode_half_may_seem_to_begin_before_its_prefill() -> None:
    # The decode server's host is 3 s behind.
    assert places(("p", PREFILL, 1, 2), ("d", DECODE, -0.9, 7)) == {"p": 0, "d": 0}


def test_a_decode_half_long_after_belongs_to_a_prefill_that_is_not_here() -> None:
    assert places(("p", PREFILL, 1, 2), ("d", DECODE, 63, 70)) == {"p": 0, "d": 1}


def test_a_second_run_may_begin_while_the_first_goes_on() -> None:
    found = places(
        ("p1", PREFILL, 1, 2),
        ("d1", DECODE, 2.1, 100),
        ("p2", PREFILL, 50, 51),
        ("d2", DECODE, 51.1, 120),
    )
    assert found == {"p1": 0, "d1": 0, "p2": 1, "d2": 1}


def test_a_prefill_half_has_one_decode_half() -> None:
    found = places(
        ("p1", PREFILL, 1, 2),
        ("p2", PREFILL, 3, 4),
        ("d2", DECODE, 4.1, 9),
        ("d3", DECODE, 4.2, 9),
    )
    assert sorted(found.values()) == [0, 0, 1, 1]


def test_whole_requests_are_runs_beside_divided_ones() -> None:
    found = places(("p", PREFILL, 1, 2), ("d", DECODE, 2.1, 3), ("w", None, 9, 10))
    assert found == {"p": 0, "d": 0, "w": 1}
