from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.formats.otlp.reuse import DECODE, PREFILL
from tokengap.adapters.formats.otlp.vllm_places import Spans, places


class Served(NamedTuple):
    """A span; `process` is the number of what wrote it, times are seconds."""

    request: int
    name: str
    process: int
    start: int
    end: int
    role: str | None = None


Place = tuple[int, int, int, bool]
"""Run, choice, number of choices, and whether it was exported more than once."""


def placed(*served: Served) -> dict[int, Place]:
    """Places by the number of the span, for those that are kept."""
    request, name, process, start, end, role = map(np.array, zip(*served, strict=True))
    found = places(
        Spans(
            ids=request,
            file=np.zeros(len(served), np.int64),
            place=np.arange(len(served)),
            span_id=pa.array(name.tolist()),
            prefill=role == PREFILL,
            decode=role == DECODE,
            process=process,
            start_ns=start,
            end_ns=end,
        )
    )
    columns = (found.run, found.choice, found.choices, found.repeated)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    extra = found.extra.tolist()
    return {number: row for number, row in enumerate(rows) if not extra[number]}


def test_an_id_that_comes_once() -> None:
    assert placed(Served(7, "a", 0, 1, 2), Served(3, "b", 0, 1, 2)) == {
        0: (0, 0, 1, False), 1: (0, 0, 1, False),
    }  # fmt: skip


def test_one_arrival_at_one_process_is_choices_in_the_order_of_the_log() -> None:
    found = placed(Served(7, "a", 0, 1, 9), Served(7, "b", 0, 1, 3), Served(8, "c", 0, 1, 3))
    assert found == {0: (0, 0, 2, False), 1: (0, 1, 2, False), 2: (0, 0, 1, False)}


def test_another_arrival_or_process_is_another_run() -> None:
    found = placed(
        Served(7, "d", 1, 7, 8),
        Served(7, "a", 0, 1, 2),
        Served(7, "b", 0, 5, 6),
        Served(7, "c", 0, 5, 7),
    )
    assert found == {
        0: (2, 0, 1, False), 1: (0, 0, 1, False), 2: (1, 0, 2, False), 3: (1, 1, 2, False),
    }  # fmt: skip


def test_choices_of_halves_share_their_run() -> None:
    found = placed(
        Served(7, "d1", 1, 3, 9, DECODE),
        Served(7, "d2", 1, 3, 8, DECODE),
        Served(7, "p1", 0, 1, 2, PREFILL),
        Served(7, "p2", 0, 1, 2, PREFILL),
        Served(7, "q1", 0, 5, 6, PREFILL),
    )
    assert [found[number][:3] for number in range(5)] == [
        (0, 0, 2), (0, 1, 2), (0, 0, 2), (0, 1, 2), (1, 0, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("others", [0, 5])
def test_a_span_that_was_exported_twice_is_there_once(others: int) -> None:
    more = [Served(10 + number, f"o{number}", 0, 1, 2) for number in range(others)]
    found = placed(*more, Served(7, "a", 0, 1, 2), Served(7, "b", 0, 1, 3), Served(7, "a", 0, 1, 2))
    assert len(found) == others + 2
    assert found[others] == (0, 0, 2, True)
    assert found[others + 1] == (0, 1, 2, False)


S = 1_000_000_000
ROLES = st.sampled_from([PREFILL, DECODE, None])
SECONDS = st.integers(1, 70)


@given(st.lists(st.tuples(ROLES, SECONDS, SECONDS), min_size=2, max_size=2))
def test_two_of_one_id_are_placed_like_more_of_them(
    halves: list[tuple[str | None, int, int]],
) -> None:
    spans = [
        Served(7, str(number), number, start_s * S, (start_s + lasted_s) * S, role)
        for number, (role, start_s, lasted_s) in enumerate(halves)
    ]
    # A third one long after them changes nothing for the two, but that they are looked at singly.
    found, among_three = placed(*spans), placed(*spans, Served(7, "z", 9, 999 * S, 1000 * S))
    assert found == {number: among_three[number] for number in found}


def test_one_span_id_under_two_request_ids_is_two_spans() -> None:
    assert len(placed(Served(7, "a", 0, 1, 2), Served(8, "a", 0, 1, 2))) == 2
