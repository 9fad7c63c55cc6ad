from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.shared.server_sent import NO_DATA, EventReader

TEXT = 'data: {"a": 1}\n\n: ping\n\nevent: x\nid: 4\ndata:b\ndata: c\n\ndata: [DONE]\n\n'
EVENTS = ['{"a": 1}', NO_DATA, "b\nc", "[DONE]"]


def fed(*pieces: str) -> list[str]:
    reader = EventReader()
    return [data for piece in pieces for data in reader.feed(piece)] + reader.end()


def test_events_are_what_stands_between_blank_lines() -> None:
    assert fed(TEXT) == EVENTS


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@given(cuts=st.lists(st.integers(0, len(TEXT) + 11), max_size=6))
def test_it_does_not_matter_how_the_text_is_cut(line_end: str, cuts: list[int]) -> None:
    text = TEXT.replace("\n", line_end)
    edges = [0, *sorted(cuts), len(text)]
    assert fed(*(text[a:b] for a, b in pairwise(edges))) == EVENTS


def test_an_event_is_given_back_when_its_blank_line_comes() -> None:
    reader = EventReader()
    assert [reader.feed(piece) for piece in ("data: a", "\n", "\ndata: b\n\nda", "ta: c\n\n")] == [
        [],
        [],
        ["a", "b"],
        ["c"],
    ]
    assert reader.end() == []


def test_the_end_completes_what_is_left() -> None:
    assert fed("data: a\n\ndata: b") == ["a", "b"]
    assert fed("data: a\n\n\n\n\n") == ["a"]
    assert fed("") == []
