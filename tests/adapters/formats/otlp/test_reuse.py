"""Times are seconds."""

from tokengap.adapters.formats.otlp.reuse import placed
from tokengap.adapters.formats.otlp.shelf import Piece

S = 1_000_000_000


def served(name: str, role: str | None, process: str, start_s: float, end_s: float) -> Piece:
    facts = {"role": role, "process": process}
    return Piece(
        "g", "t", name, None, "n", round(start_s * S), round(end_s * S), False, 0, 1, facts, []
    )


def places(*pieces: Piece) -> dict[str, tuple[int, int]]:
    """Run and choice, whichever order the spans are in."""
    found, backwards = (
        {each.piece.span_id: (each.run, each.choice) for each in placed(order)}
        for order in (list(pieces), list(reversed(pieces)))
    )
    assert {name: place[0] for name, place in found.items()} == {
        name: place[0] for name, place in backwards.items()
    }
    return found


def test_one_span_is_the_first() -> None:
    assert places(served("a", None, "x", 1, 2)) == {"a": (0, 0)}


def test_one_arrival_at_one_process_is_choices() -> None:
    found = places(served("a", None, "x", 1, 2), served("b", None, "x", 1, 3))
    assert found == {"a": (0, 0), "b": (0, 1)}


def test_another_arrival_is_another_run() -> None:
    found = places(
        served("a", None, "x", 1, 2), served("b", None, "x", 5, 6), served("c", None, "x", 5, 7)
    )
    assert found == {"a": (0, 0), "b": (1, 0), "c": (1, 1)}


def test_another_process_is_another_run() -> None:
    found = places(
        served("a", None, "x", 1, 2), served("b", None, "y", 5, 6), served("c", None, "y", 7, 8)
    )
    assert found == {"a": (0, 0), "b": (1, 0), "c": (2, 0)}


def test_halves_share_their_place() -> None:
    found = places(served("p", "prefill", "x", 1, 2), served("d", "decode", "y", 2.1, 9))
    assert found == {"p": (0, 0), "d": (0, 0)}


def test_a_decode_half_goes_with_the_last_prefill_before_it() -> None:
    # The decode server had died when the first run came to it; both servers were started again.
    found = places(
        served("p1", "prefill", "x", 1, 2),
        served("p2", "prefill", "x2", 241, 242),
        served("d2", "decode", "y2", 242.1, 250),
    )
    assert found == {"p1": (0, 0), "p2": (1, 0), "d2": (1, 0)}


def test_two_runs_of_the_same_servers() -> None:
    found = places(
        served("p1", "prefill", "x", 1, 2),
        served("d1", "decode", "y", 2.1, 3),
        served("p2", "prefill", "x", 4, 5),
        served("d2", "decode", "y", 5.1, 6),
    )
    assert found == {"p1": (0, 0), "d1": (0, 0), "p2": (1, 0), "d2": (1, 0)}


def test_a_decode_half_may_seem_to_begin_before_its_prefill() -> None:
    # The decode server's host is 3 s behind.
    found = places(served("p", "prefill", "x", 1, 2), served("d", "decode", "y", -0.9, 7))
    assert found == {"p": (0, 0), "d": (0, 0)}


def test_a_decode_half_long_after_belongs_to_a_prefill_that_is_not_here() -> None:
    found = places(served("p", "prefill", "x", 1, 2), served("d", "decode", "y", 63, 70))
    assert found == {"p": (0, 0), "d": (1, 0)}


def test_a_second_run_may_begin_while_the_first_goes_on() -> None:
    found = places(
        served("p1", "prefill", "x", 1, 2),
        served("d1", "decode", "y", 2.1, 100),
        served("p2", "prefill", "x", 50, 51),
        served("d2", "decode", "y", 51.1, 120),
    )
    assert found == {"p1": (0, 0), "d1": (0, 0), "p2": (1, 0), "d2": (1, 0)}


def test_a_prefill_half_has_one_decode_half() -> None:
    found = places(
        served("p1", "prefill", "x", 1, 2),
        served("p2", "prefill", "x", 3, 4),
        served("d2", "decode", "y", 4.1, 9),
        served("d3", "decode", "y", 4.2, 9),
    )
    assert sorted(found.values()) == [(0, 0)] * 2 + [(1, 0)] * 2
