"""Intervals beside published tables, the textbook's formula and the library's own SQL."""

import math

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.queries.oracle_requests import wilson as textbook
from tokengap.intervals import normal_quantile, t_quantile, wilson
from tokengap.library import read_catalogue

# Student's t, two sides, by degrees of freedom: NIST/SEMATECH e-Handbook, table 1.3.6.7.2.
TABLE_95 = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 10: 2.228,
    15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000, 100: 1.984,
}  # fmt: skip
TABLE_99 = {
    1: 63.657, 2: 9.925, 3: 5.841, 4: 4.604, 5: 4.032, 6: 3.707, 7: 3.499, 8: 3.355, 10: 3.169,
    15: 2.947, 20: 2.845, 30: 2.750, 60: 2.660, 100: 2.626,
}  # fmt: skip
TABLE_998 = {
    1: 318.309, 2: 22.327, 3: 10.215, 4: 7.173, 5: 5.893, 6: 5.208, 7: 4.785, 8: 4.501, 10: 4.144,
    15: 3.733, 20: 3.552, 30: 3.385, 60: 3.232, 100: 3.174,
}  # fmt: skip
"""What 25 comparisons ask for: 1 - 0.05 / 25."""
TABLES = {0.95: TABLE_95, 0.99: TABLE_99, 0.998: TABLE_998}


@pytest.mark.parametrize(
    ("confidence", "z"), [(0.9, 1.644854), (0.95, 1.959964), (0.99, 2.575829), (0.999, 3.290527)]
)
def test_the_normal_law_is_the_published_one(confidence: float, z: float) -> None:
    assert normal_quantile(confidence) == pytest.approx(z, abs=5e-7)


@pytest.mark.parametrize(
    ("confidence", "freedom", "t"),
    [(confidence, n, t) for confidence, table in TABLES.items() for n, t in table.items()],
)
def test_students_law_is_the_published_one(confidence: float, freedom: int, t: float) -> None:
    """To the table's three decimals."""
    assert t_quantile(freedom, confidence) == pytest.approx(t, abs=6e-4)


def test_part_of_a_degree_counts_for_nothing_but_rounding_does_no_harm() -> None:
    assert t_quantile(4.9) == t_quantile(4)
    assert t_quantile(27 * (1 - 1e-15)) == t_quantile(27)


@given(st.floats(1, 10**6), st.floats(0.5, 0.9999))
@example(2.0, 0.95)
@example(3.0, 0.95)
@example(30.0, 0.9975)
def test_more_freedom_is_a_narrower_interval(freedom: float, confidence: float) -> None:
    """And none is as narrow as the normal law's."""
    found = t_quantile(freedom, confidence)
    assert t_quantile(freedom + 1, confidence) <= found * (1 + 1e-5)
    assert found >= normal_quantile(confidence) * (1 - 1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 10, 50])
def test_half_of_the_law_lies_within_its_quartiles(freedom: int) -> None:
    """By adding up the density; Gamma((n + 1) / 2) / (sqrt(n pi) Gamma(n / 2)) at its top."""
    t = t_quantile(freedom, 0.5)
    top = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    steps = 2000
    whole = sum(
        (1 + (t * (step + 0.5) / steps) ** 2 / freedom) ** (-(freedom + 1) / 2)
        for step in range(steps)
    )
    assert 2 * whole * t / steps * top / math.sqrt(freedom * math.pi) == pytest.approx(
        0.5, abs=1e-4
    )


def test_wilson_is_what_the_library_says() -> None:
    con = duckdb.connect()
    con.execute(read_catalogue()["_wilson"].sql)
    found = con.execute(
        "SELECT k, n, _wilson(k, n) FROM (SELECT unnest(range(0, n + 1)) AS k, n"
        " FROM (VALUES (0), (1), (2), (7), (40)) AS of(n))"
        " UNION ALL SELECT k, n, _wilson(k, n) FROM (VALUES (999_999, 1_000_000),"
        " (1_000_000, 1_000_000), (3_000_000_000, 4_000_000_000)) AS big(k, n)"
    ).fetchall()
    assert len(found) == 1 + 2 + 3 + 8 + 41 + 3
    for kept, of, interval in found:
        if not of:
            assert (wilson(kept, of), interval) == (None, None)
            continue
        expected = (interval["low"], interval["high"])
        assert wilson(kept, of) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_wilson_is_the_textbooks(kept: int, lost: int) -> None:
    expected = textbook(kept, kept + lost)
    found = wilson(kept, kept + lost)
    if found is None:
        assert expected == (None, None)
        return
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    low, high = found
    assert 0 <= low <= kept / (kept + lost) <= high + 1e-12 <= 1 + 2e-12


def test_wilson_at_another_confidence() -> None:
    """9 of 10 at 90 %: z = 1.6449, z² = 2.7055; (9 + 1.3528 ± 1.6449 √(0.9 + 0.6764)) / 12.7055."""
    low, high = wilson(9, 10, 0.9) or (0, 0)
    assert low == pytest.approx((10.3528 - 2.0652) / 12.7055, abs=1e-4)
    assert high == pytest.approx((10.3528 + 2.0652) / 12.7055, abs=1e-4)
