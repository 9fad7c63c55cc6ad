from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.columns import Columns, unless, unless_0, unless_empty
from tokengap.adapters.shared.fields import Layout
from tokengap.adapters.shared.names import Attempts, Names
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.source import Source


class Part(msgspec.Struct):
    lasted_ms: float | None = None


class Record(msgspec.Struct):
    id: str | None = None
    s: float | None = None
    at: str | None = None
    tokens: Count | None = None
    older_tokens: Count | None = None
    part: Part | None = None


def columns(*records: Record) -> Columns:
    layout = Layout(inspect.type_info(Record))
    count = len(records)
    return Columns(layout.fields(records), 10 + np.arange(count), Sieve(count), lambda row: row)


def refused(found: Columns, tmp_path: Any) -> list[tuple[int, str, str | None, str | None]]:
    path = tmp_path / "log"
    path.write_bytes(b"x")
    source, intake = Source("log", path), Intake("t", "a")
    found.sieve.report(source, found.place, intake)
    return [(r.line, r.reason, r.field, r.value) for r in intake.rejects]


def test_fields_and_parts(tmp_path: Any) -> None:
    found = columns(
        Record("a", part=Part(1.5)), Record(None, older_tokens=4), Record("c", tokens=5)
    )
    assert len(found) == 3
    assert found["id"].to_pylist() == ["a", None, "c"]
    assert found.any_of("tokens", "older_tokens").to_pylist() == [None, 4, 5]
    assert found.part("part").there.to_pylist() == [True, False, False]
    assert found.part("part").ms_ns("lasted_ms").to_pylist() == [1_500_000, None, None]
    assert found.places_in("a:b").to_pylist() == ["a:b:10", "a:b:11", "a:b:12"]
    assert refused(found, tmp_path) == []


def test_what_is_no_time_is_refused_by_its_name(tmp_path: Any) -> None:
    found = columns(Record(s=1.5), Record(s=1e300), Record(), Record(s=0.0, part=Part(-1e300)))
    assert found.seconds_ns("s").to_pylist() == [1_500_000_000, None, None, 0]
    assert found.part("part").ms_ns("lasted_ms").to_pylist() == [None] * 4
    assert refused(found, tmp_path) == [
        (1, "s: seconds expected", "s", "1e+300"),
        (3, "part.lasted_ms: milliseconds expected", "part.lasted_ms", "-1e+300"),
    ]


def test_what_was_made_of_a_field_is_called_as_one_says(tmp_path: Any) -> None:
    found = columns(Record(s=0.0), Record(s=1e300))
    assert found.seconds_ns(unless_0(found["s"]), "x").to_pylist() == [None, None]
    assert refused(found, tmp_path) == [(1, "x: seconds expected", "x", "1e+300")]


def test_dates(tmp_path: Any) -> None:
    found = columns(
        Record(at="1970-01-01T00:00:01Z"),
        Record(),
        Record(at="soon"),
        Record(at="2300-01-01T00:00:00Z"),
    )
    assert found.wall_ns("at", "created").to_pylist() == [10**9, None, None, None]
    reasons = refused(found, tmp_path)
    assert [(row, name) for row, _, name, _ in reasons] == [(2, "created"), (3, "created")]
    # 330 years of 365 days and 80 leap days, in ns.
    assert reasons[1][3] == str((330 * 365 + 80) * 86_400 * 10**9)


def test_the_end_of_a_duration(tmp_path: Any) -> None:
    found = columns(Record(), Record(), Record())
    starts, lasted = pa.array([5, None, 2**61]), pa.array([-7, 7, 2**61])
    assert found.after_ns(starts, lasted, "t").to_pylist()[:2] == [-2, None]
    reason = "t: whole nanoseconds below 2^62 expected"
    assert refused(found, tmp_path) == [(2, reason, "t", str(2**62))]


def test_of_several_reasons_the_first_counts_and_what_is_passed_over_has_none(
    tmp_path: Any,
) -> None:
    found = columns(Record("a"), Record("b"), Record("c"))
    found.pass_over(pa.array([True, None, False]))
    found.refuse(pa.array([True, True, None]), "first", "id", found["id"])
    found.refuse(pa.array([True, True, False]), "second")
    assert found.sieve.good.tolist() == [False, False, True]
    assert refused(found, tmp_path) == [(1, "first", "id", "b")]


def test_names_and_attempts_are_given_to_good_records_only() -> None:
    found = columns(Record("a"), Record("a"), Record(None), Record("b"))
    found.refuse(pa.array([True, False, False, False]), "bad")
    assert found.named(Names(), found["id"]).to_pylist()[1:] == ["a", "12", "b"]
    assert found.attempts(Attempts(), found["id"].fill_null("x")).to_pylist() == [0, 0, 0, 0]


@pytest.mark.parametrize("number", [1787267980.0827403, 1787267980.0, 1e-5, 1e16, 0.001, 123.0])
def test_numbers_as_python_writes_them(number: float) -> None:
    found = columns(Record(s=number), Record(), Record(s=0.0), Record(s=0.5))
    assert found.numerals("s").to_pylist() == [str(number), None, None, "0.5"]


@given(st.lists(st.floats(1e-9, 1e12), min_size=1))
def test_any_numbers_as_python_writes_them(numbers: list[float]) -> None:
    found = columns(*(Record(s=number) for number in numbers))
    assert found.numerals("s").to_pylist() == [str(number) for number in numbers]


def test_values_that_are_left_out() -> None:
    yes, texts = pa.array([True, False, None]), pa.array(["a", "", "b"])
    assert unless(yes, texts).to_pylist() == [None, "", None]
    assert unless_empty(texts).to_pylist() == ["a", None, "b"]
    assert unless_0(pa.array([0, 1, None])).to_pylist() == [None, 1, None]
