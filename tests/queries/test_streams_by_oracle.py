"""`request_latency` against the oracle, column by column, on streams of every kind."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries.comparing import differences, same
from tests.queries.expected import latency_row
from tests.queries.given import Library, Row
from tests.queries.observed import Observed
from tests.queries.strategies import declarations, rows
from tokengap.store.connect import Declared

TPOT_TERMS = ("tpot_low_span_ns", "tpot_low_tokens", "tpot_high_span_ns", "tpot_high_tokens")


@st.composite
def many(draw: st.DrawFn) -> list[Row]:
    return [
        draw(rows(vantage=draw(st.sampled_from(["client", "gateway", "engine", None])), choice=i))
        for i in range(draw(st.integers(1, 12)))
    ]


@given(many(), declarations)
@settings(max_examples=60)
def test_every_column_is_what_the_oracle_says(
    library: Library, streams: list[Row], declared: Declared
) -> None:
    library.bind(streams, declared)
    found = library.rows("request_latency", "choice")
    expected = [latency_row(Observed(row, declared)) for row in streams]
    for row, stream, right in zip(found, streams, expected, strict=True):
        terms = {name: row.pop(name) for name in TPOT_TERMS}
        assert differences(row, right) == {}, stream
        assert same(row["tpot_low_ns"], _quotient(terms, "low")), stream
        assert same(row["tpot_high_ns"], _quotient(terms, "high")), stream


def _quotient(terms: Row, side: str) -> Fraction | int | None:
    """A bound from its terms; an unbounded number of tokens brings the average down to 0."""
    span, tokens = terms[f"tpot_{side}_span_ns"], terms[f"tpot_{side}_tokens"]
    if tokens is not None and span is not None:
        return Fraction(span, tokens)
    return 0 if side == "low" and span is not None else None
