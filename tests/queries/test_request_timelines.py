"""Timelines of the worst requests, against pieces cut in plain Python."""

import random
from itertools import accumulate, groupby

import pytest

from tests.queries.given import MS, Library, Row, limits, stream

LIMIT = 500 * MS
LIMITS = limits(worst_gap=LIMIT)
ALONE = 16
Piece = tuple[str, int, int, int | None, int, int | None, int]
"""piece, start_ns, end_ns, first_gap, gaps, longest_ns, over_limit."""


def of_gaps(request_id: str, gaps_ns: list[int], first_ns: int = 100 * MS, **facts: object) -> Row:
    return stream(request_id, [*accumulate(gaps_ns, initial=first_ns)], **facts)


def cut(gaps_ns: list[int], ttft_ns: int | None, limit_ns: int = LIMIT) -> list[Piece]:
    """What a request should be cut into, one gap at a time."""
    by_length = sorted(range(len(gaps_ns)), key=lambda i: (-gaps_ns[i], i))
    over = [i for i in by_length if gaps_ns[i] > limit_ns]
    alone = set((over or by_length[:1])[:ALONE])
    pieces: list[Piece] = [] if ttft_ns is None else [("ttft", 0, ttft_ns, None, 0, None, 0)]
    now = ttft_ns or 0
    for single, places in groupby(range(len(gaps_ns)), key=lambda i: i if i in alone else None):
        inside = list(places)
        took = [gaps_ns[i] for i in inside]
        pieces.append(
            (
                "steady" if single is None else "gap", now, now + sum(took), inside[0] + 1,
                len(took), max(took), sum(gap > limit_ns for gap in took),
            )
        )  # fmt: skip
        now += sum(took)
    return pieces


def found(library: Library, call: str = f"request_timelines({LIMITS})") -> dict[str, list[Piece]]:
    """Pieces by request, the request with the longest gap first."""
    rows = library.rows(call)
    names = ("piece", "start_ns", "end_ns", "first_gap", "gaps", "longest_ns", "over_limit")
    by_request: dict[str, list[Piece]] = {}
    for row in rows:
        by_request.setdefault(row["request_id"], []).append(tuple(row[name] for name in names))
    ranks = [rank for rank, _ in groupby(row["rank"] for row in rows)]
    assert ranks == list(range(1, len(by_request) + 1))
    return by_request


@pytest.mark.parametrize("seed", range(4))
def test_requests_are_cut_where_gaps_are_over_their_limit(library: Library, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 (any numbers will do)
    lengths = [MS, 20 * MS, 499 * MS, LIMIT, LIMIT + 1, 700 * MS]
    gaps = {
        f"r{n}": rng.choices(lengths, rng.choices((1, 9, 90), k=6), k=rng.randint(1, 60))
        for n in range(20)
    }
    library.bind(of_gaps(name, of) for name, of in gaps.items())
    pieces = found(library)
    assert pieces == {name: cut(of, 100 * MS) for name, of in gaps.items()}
    assert list(pieces) == sorted(gaps, key=lambda name: (-max(gaps[name]), name))


def test_of_many_long_gaps_the_longest_stand_alone(library: Library) -> None:
    gaps = [LIMIT + n for n in range(1, 41)]
    library.bind([of_gaps("slow", gaps)])
    (pieces,) = found(library).values()
    assert pieces[:2] == [
        ("ttft", 0, 100 * MS, None, 0, None, 0),
        ("steady", 100 * MS, 100 * MS + sum(gaps[:24]), 1, 24, LIMIT + 24, 24),
    ]
    assert [piece[3] for piece in pieces[2:]] == list(range(25, 41))


def test_without_limits_the_longest_gap_of_each_request_stands_alone(library: Library) -> None:
    gaps = [10 * MS, 30 * MS, 20 * MS, 30 * MS]
    library.bind([of_gaps("a", gaps)])
    assert found(library, "request_timelines()") == {"a": cut(gaps, 100 * MS, 2**62)}


def test_without_an_origin_times_count_from_the_first_delivery(library: Library) -> None:
    gaps = [10 * MS, 600 * MS]
    library.bind([of_gaps("a", gaps, sent_ns=None)])
    assert found(library) == {"a": cut(gaps, None)}
    assert {row["origin"] for row in library.rows(f"request_timelines({LIMITS})")} == {None}


def test_a_cause_stands_with_its_gap_and_nowhere_else(library: Library) -> None:
    # The tokens behind the pause come in a burst: they were made on time.
    burst = [10 * MS] * 80 + [600 * MS] + [MS] * 60
    library.bind([of_gaps("a", burst), of_gaps("b", [10 * MS] * 50)])
    causes = {
        (row["request_id"], row["first_gap"]): (row["cause"], row["basis"])
        for row in library.rows(f"request_timelines({LIMITS})")
        if row["piece"] == "gap" or row["cause"]
    }
    assert causes == {("a", 81): ("delivery_pause", "measured"), ("b", 1): (None, None)}


def test_of_several_choices_the_one_with_the_longest_gap_is_shown(library: Library) -> None:
    calm, stalls = of_gaps("a", [10 * MS], choice=0), of_gaps("a", [600 * MS], choice=1)
    library.bind([calm, stalls])
    assert {row["choice"] for row in library.rows(f"request_timelines({LIMITS})")} == {1}


def test_a_stream_whose_gaps_are_not_all_known_has_none(library: Library) -> None:
    lost = of_gaps("lost", [600 * MS, MS]) | {"quality": ["events_lost"]}
    smeared = of_gaps("smeared", [600 * MS, MS]) | {"quality": ["smeared"]}
    failed = of_gaps("failed", [600 * MS, MS], status="failed")
    library.bind([lost, smeared, failed, of_gaps("fine", [MS, MS])])
    assert list(found(library)) == ["fine"]


def test_the_longest_gaps_are_kept_up_to_the_most_requests(library: Library) -> None:
    library.bind(of_gaps(f"r{n:02}", [MS, (20 + n) * MS]) for n in range(40))
    kept = found(library, f"request_timelines({LIMITS}, most_requests := 15)")
    assert list(kept) == [f"r{n}" for n in range(39, 24, -1)]


def test_there_are_never_more_than_5000_pieces(library: Library) -> None:
    # 20 gaps over the limit each: TTFT, 16 alone, and what lies between them.
    gaps = [LIMIT + MS, MS] * 20
    library.bind(of_gaps(f"r{n:03}", gaps) for n in range(200))
    kept = found(library)
    assert 4500 < 34 * len(kept) <= 5000
    assert all(pieces == cut(gaps, 100 * MS) for pieces in kept.values())


def test_points_that_stand_for_many_have_the_timeline_of_the_longest(library: Library) -> None:
    """2,100 requests share marks: each mark's request has a timeline, and so have the worst 12."""
    library.bind(
        of_gaps(f"r{n}", [10 * MS, (20 + n % 7) * MS, (20 + n % 7) * MS]) for n in range(2100)
    )
    marks = {row["request_id"] for row in library.rows(f"stall_map({LIMITS})")}
    kept = found(library)
    assert marks <= kept.keys()
    assert list(kept)[:12] == sorted(f"r{n}" for n in range(6, 2100, 7))[:12]
