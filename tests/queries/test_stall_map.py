"""Where requests lie between the limits, and how marks stand for them."""

from tests.queries.given import MS, Library, Row, limits, stream

LIMITS = limits(tpot=50 * MS, worst_gap=500 * MS)


def of_gaps(request_id: str, *gaps_ms: int, **facts: object) -> Row:
    """One token at 0 and after every gap."""
    times = [sum(gaps_ms[:count]) * MS for count in range(len(gaps_ms) + 1)]
    return stream(request_id, times, **facts)


def test_verdicts_and_bounds_of_a_mark(library: Library) -> None:
    split_unknown = of_gaps("open", 600) | {"output_tokens": 20}
    library.bind([of_gaps("stalls", *[10] * 19, 610), split_unknown, of_gaps("fine", 10, 20)])
    found = library.rows(f"stall_map({LIMITS})")
    assert [
        (row["request_id"], row["average"], row["worst"], row["stall"], row["requests"])
        for row in found
    ] == [
        ("stalls", "met", "missed", "hidden", 1),  # (190 + 610) / 20 = 40
        ("open", "unknown", "missed", "possible", 1),  # 600 / 19 to 600
        ("fine", "met", "met", None, 1),
    ]
    assert found[1]["tpot_low_ns"] == 600 * MS / 19
    assert found[1]["tpot_high_ns"] == 600 * MS
    assert found[0]["worst_gap_after_token"] == 20


def test_of_several_choices_the_slowest_counts_in_either_respect(library: Library) -> None:
    slow = of_gaps("a", 60, 60, choice=0)
    stalls = of_gaps("a", *[10] * 19, 610, choice=1)
    library.bind([slow, stalls])
    (found,) = library.rows(f"stall_map({LIMITS})")
    assert (found["tpot_high_ns"], found["worst_gap_low_ns"]) == (60 * MS, 610 * MS)
    assert (found["average"], found["worst"]) == ("missed", "missed")
    assert (found["choice"], found["worst_gap_index"]) == (1, 20)


def test_a_gap_without_an_upper_bound_leaves_the_request_without_one(library: Library) -> None:
    lossy = of_gaps("a", 30, choice=1, quality=["events_lost"])
    library.bind([of_gaps("a", 10, 20, choice=0), lossy])
    (found,) = library.rows("stall_map()")
    assert (found["worst_gap_low_ns"], found["worst_gap_high_ns"]) == (30 * MS, None)
    assert (found["average"], found["worst"], found["stall"]) == (None, None, None)


def test_beyond_the_most_marks_they_are_shared_and_keep_extremes(library: Library) -> None:
    """Each request alone has a gap of its own length, so that sums and extremes are known."""
    many = [of_gaps(f"r{n}", 20 + n % 30, 100 + n % 50) for n in range(300)]
    longest, slowest = of_gaps("longest", *[1] * 99, 900), of_gaps("slowest", 400, 401)
    library.bind([*many, longest, slowest])
    marks = library.rows(f"stall_map({LIMITS}, most_marks := 100)")
    assert sum(mark["requests"] for mark in marks) == 302
    assert len(marks) < 302
    by_name = {mark["request_id"]: mark for mark in marks}
    assert by_name["longest"]["worst_gap_low_ns"] == 900 * MS
    assert by_name["slowest"]["tpot_high_ns"] == 400.5 * MS
    assert by_name["slowest"]["requests"] == 1


def test_requests_of_unlike_verdicts_never_share_a_mark(library: Library) -> None:
    library.bind([of_gaps(f"r{n}", 10, 499 + n % 3) for n in range(30)])  # at, under and over 500
    marks = library.rows(f"stall_map({LIMITS}, most_marks := 1)")
    missed = [mark for mark in marks if mark["worst"] == "missed"]
    assert sum(mark["requests"] for mark in missed) == 10
    assert {mark["worst_gap_low_ns"] for mark in missed} == {501 * MS}


def test_equal_requests_make_one_mark_and_the_slowest_alone(library: Library) -> None:
    library.bind([of_gaps(f"r{n}", 10, 20) for n in range(5)])
    assert [mark["requests"] for mark in library.rows("stall_map(most_marks := 1)")] == [1, 4]


def test_a_request_without_a_place_has_a_reason(library: Library) -> None:
    library.bind(
        [
            of_gaps("single"),
            stream("b", [0]) | {"output_tokens": 5},
            stream("c", [5, 5]),
            of_gaps("fine", 10),
            of_gaps("failed", 10, status="failed"),
        ]
    )
    assert library.rows("unplaced_requests") == [
        {"reason": "all_gaps_zero", "requests": 1},
        {"reason": "single_delivery", "requests": 1},
        {"reason": "single_token", "requests": 1},
    ]
    assert [row["request_id"] for row in library.rows("stall_map()")] == ["fine"]


def test_quadrants_count_every_completed_request_once(library: Library) -> None:
    library.bind(
        [
            of_gaps("fine", 10),
            of_gaps("also fine", 20),
            of_gaps("stalls", *[10] * 19, 610),
            of_gaps("slow", 60),
            of_gaps("both", 600),
            of_gaps("single"),
            of_gaps("failed", 10, status="failed"),
        ]
    )
    found = {
        (row["average"], row["worst"], row["stall"]): row["requests"]
        for row in library.rows(f"stall_quadrants({LIMITS})")
    }
    assert found == {
        ("met", "met", None): 2,
        ("met", "missed", "hidden"): 1,
        ("missed", "met", None): 1,
        ("missed", "missed", None): 1,
        (None, None, None): 1,
    }
