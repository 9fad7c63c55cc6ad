"""Who keeps which of the three promises that are all called TPOT."""

from collections import Counter
from fractions import Fraction
from itertools import accumulate, product
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.given import MS, Library, Row, limits, stream

DECIDED: Final = set(product(("met", "missed"), repeat=3))
Combination = tuple[str | None, str | None, str | None]


def of_gaps(request_id: str, gaps_ms: list[int], **facts: object) -> Row:
    """One token at 0 and after every gap."""
    return stream(request_id, [t * MS for t in accumulate(gaps_ms, initial=0)], **facts)


def combinations(library: Library, **limits_ns: int) -> dict[Combination, Row]:
    rows = library.rows(f"tpot_promises({limits(**limits_ns)})")
    found = {(row["average"], row["own_p99"], row["worst"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def counts(found: dict[Combination, Row]) -> dict[Combination, int]:
    return {verdicts: row["requests"] for verdicts, row in found.items() if row["requests"]}


def test_each_of_the_promises_can_be_kept_without_the_next(library: Library) -> None:
    library.bind(
        [
            of_gaps("all", [40] * 10),
            # 200 gaps: p99 lies at position 0.99 * 199 = 197.01, below the one long gap
            of_gaps("one long", [10] * 199 + [900]),
            # 20 gaps: at 18.81, 81 % of the way from 10 to 700 ms; average (190 + 700) / 20 = 44.5
            of_gaps("long tail", [10] * 19 + [700]),
            of_gaps("slow", [60] * 10),
        ]
    )
    found = combinations(library, tpot=50 * MS, worst_gap=500 * MS)
    assert found.keys() == DECIDED
    assert counts(found) == {
        ("met", "met", "met"): 1,
        ("met", "met", "missed"): 1,
        ("met", "missed", "missed"): 1,
        ("missed", "missed", "met"): 1,  # 60 ms each: over 50, and under 500
    }
    longest = found["met", "met", "missed"]
    assert (longest["request_id"], longest["longest_ns"]) == ("one long", 900 * MS)
    assert found["missed", "met", "met"]["longest_ns"] is None


def test_limits_of_its_own_go_before_the_limit_on_the_average(library: Library) -> None:
    library.bind([of_gaps("a", [10] * 19 + [700])])  # own p99: 10 + 0.81 * 690 = 568.9 ms
    assert counts(combinations(library, tpot=50 * MS)) == {("met", "missed", "missed"): 1}
    own = {"gap_p99": 570 * MS, "worst_gap": 800 * MS}
    assert counts(combinations(library, tpot=50 * MS, **own)) == {("met", "met", "met"): 1}
    found = library.rows(f"tpot_promise_summary({limits(tpot=50 * MS, gap_p99=570 * MS)})")
    assert [(row["statistic"], row["limit_ns"], row["borrowed"]) for row in found] == [
        ("tpot", 50 * MS, False),
        ("gap_p99", 570 * MS, False),
        ("worst_gap", 50 * MS, True),
    ]


def test_what_the_log_does_not_decide_stays_unknown(library: Library) -> None:
    library.bind(
        [
            of_gaps("split", [400], output_tokens=20),  # average from 400 / 19 = 21.1 to 400 ms
            of_gaps("coalesced", [20] * 10, quality=["coalesced_reads"]),
            of_gaps("single", []),
            of_gaps("failed", [900], status="failed"),
        ]
    )
    found = combinations(library, tpot=50 * MS, worst_gap=500 * MS)
    assert counts(found) == {
        ("unknown", "missed", "met"): 1,
        ("met", "unknown", "met"): 1,
        (None, None, None): 1,  # one token has no gap; the failed one is not completed
    }
    alone = library.rows(f"tpot_promise_summary({limits(tpot=50 * MS, worst_gap=500 * MS)})")
    columns = ("met", "missed", "unknown", "not_applicable", "attainment")
    assert [tuple(row[name] for name in columns) for row in alone] == [
        (1, 0, 1, 1, 1 / 2),
        (0, 1, 1, 1, 0),
        (2, 0, 0, 1, 1),
    ]


def test_without_a_limit_on_the_average_there_is_nothing(library: Library) -> None:
    library.bind([of_gaps("a", [10])])
    assert combinations(library, worst_gap=MS) == {}
    assert library.rows("tpot_promises()") == library.rows("tpot_promise_summary()") == []


def p99_ns(gaps_ms: list[int]) -> Fraction:
    """Linear interpolation at position 0.99 * (n - 1)."""
    ordered = sorted(gaps_ms)
    position = Fraction(99, 100) * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return MS * (ordered[below] + (position - below) * (ordered[above] - ordered[below]))


def verdict(value: Fraction, limit_ns: int) -> str:
    return "met" if value <= limit_ns else "missed"


gaps = st.lists(st.integers(1, 100), min_size=1, max_size=30)


@given(st.lists(gaps, min_size=1, max_size=12), st.tuples(*[st.integers(1, 100)] * 3))
@settings(max_examples=30)
def test_against_exact_rationals(
    library: Library, requests: list[list[int]], limits_ms: tuple[int, int, int]
) -> None:
    average, own, worst = (limit * MS for limit in limits_ms)
    library.bind([of_gaps(str(number), each) for number, each in enumerate(requests)])
    expected = Counter(
        (
            verdict(Fraction(sum(each) * MS, len(each)), average),
            verdict(p99_ns(each), own),
            verdict(Fraction(max(each) * MS), worst),
        )
        for each in requests
    )
    found = combinations(library, tpot=average, gap_p99=own, worst_gap=worst)
    assert found.keys() == DECIDED
    assert counts(found) == expected
    for row in found.values():
        if row["requests"]:
            assert row["longest_ns"] == max(requests[int(row["request_id"])]) * MS
    longest = max(row["longest_ns"] or 0 for row in found.values())
    assert longest == max(map(max, requests)) * MS
