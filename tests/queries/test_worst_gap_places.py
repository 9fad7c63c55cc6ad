"""Where worst gaps fall, against cells counted in plain Python."""

import random
from collections import Counter
from itertools import accumulate

import pytest

from tests.queries.given import MS, Library, Row, stream

PLACES = [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 128)]


def of_gaps(request_id: str, gaps_ns: list[int], **facts: object) -> Row:
    return stream(request_id, [*accumulate(gaps_ns, initial=0)], **facts)


def place(index: int) -> tuple[int, int]:
    (found,) = [(first, last) for first, last in PLACES if first <= index <= last]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_every_request_counts_in_the_cell_of_its_worst_gap(library: Library, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 (any numbers will do)
    gaps = {
        f"r{n}": [rng.randint(1, 10 ** rng.randint(1, 10)) for _ in range(rng.randint(1, 128))]
        for n in range(300)
    }
    library.bind(of_gaps(name, of) for name, of in gaps.items())
    rows = library.rows("worst_gap_places")
    counted = Counter(place(of.index(max(of)) + 1) for of in gaps.values())
    for first, last in PLACES:
        assert counted[first, last] == sum(
            row["requests"] for row in rows if (row["first_gap"], row["last_gap"]) == (first, last)
        )
    for row in rows:
        inside = {
            name: max(of)
            for name, of in gaps.items()
            if row["low_ns"] <= max(of) < row["high_ns"]
            and row["first_gap"] <= of.index(max(of)) + 1 <= row["last_gap"]
        }
        longest = min(inside, key=lambda name: (-inside[name], name))
        assert (row["requests"], row["request_id"], row["longest_ns"]) == (
            len(inside), longest, inside[longest],
        )  # fmt: skip


@pytest.mark.parametrize("index", [1, 2, 3, 4, 5, 8, 9, 64, 65])
def test_places_double(library: Library, index: int) -> None:
    library.bind([of_gaps("a", [MS] * (index - 1) + [9 * MS] + [MS] * 3)])
    row = library.row("worst_gap_places")
    assert (row["first_gap"], row["last_gap"]) == place(index)


def test_five_cells_in_length_make_a_power_of_ten(library: Library) -> None:
    library.bind(of_gaps(f"r{ms}", [ms * MS]) for ms in (10, 15, 16, 25, 26, 39, 40, 63, 64, 99))
    rows = library.rows("worst_gap_places")  # 10, 15.8, 25.1, 39.8, 63.1, 100 ms
    assert [row["requests"] for row in rows] == [2] * 5
    assert [row["request_id"] for row in rows] == ["r15", "r25", "r39", "r63", "r99"]
    assert rows[0]["low_ns"] == pytest.approx(10 * MS)
    assert rows[-1]["high_ns"] == pytest.approx(100 * MS)


def test_only_known_worst_gaps_of_completed_requests_count(library: Library) -> None:
    lost = of_gaps("lost", [MS, 600 * MS]) | {"quality": ["events_lost"]}
    failed = of_gaps("failed", [MS, 600 * MS], status="failed")
    zero = of_gaps("zero", [0, 0])
    one = of_gaps("one", [])
    choices = [of_gaps("a", [MS], choice=0), of_gaps("a", [MS, MS, 2 * MS], choice=1)]
    library.bind([lost, failed, zero, one, *choices])
    row = library.row("worst_gap_places")
    assert (row["request_id"], row["first_gap"], row["requests"]) == ("a", 3, 1)
