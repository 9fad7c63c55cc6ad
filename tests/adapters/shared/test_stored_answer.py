import json

import pytest

from tests.adapters.reading import Row, marks, times
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.openai import Payload
from tokengap.adapters.shared.stored_answer import stored_answer

MS = 1_000_000


def event(text: str, *, running: int | None = None, index: int = 0) -> str:
    usage = {} if running is None else {"usage": {"completion_tokens": running}}
    return f"data: {json.dumps({'choices': [{'index': index, 'text': text}], **usage})}\n\n"


def has_text(payload: Payload) -> bool:
    return bool(payload.choices and payload.choices[0].text)


def row(text: str, stamps: list[int] | None) -> Row:
    answer = stored_answer(text, stamps, has_text)
    assert answer is not None
    (batch,) = record_batches(answer.streams(Stream("a", "s:1", "truncated")), "t")
    (found,) = batch.to_pylist()
    only: Row = found
    return only


def test_stamps_go_to_the_events_that_the_tool_stamps() -> None:
    found = row(event("a") + event("") + event("b") + "data: [DONE]\n\n", [10 * MS, 30 * MS])
    assert (times(found), marks(found), found["status"]) == ([10 * MS, 30 * MS], [], "completed")


def test_running_usage_still_tells_the_split() -> None:
    found = row(event("a", running=1) + event("b", running=4), [10 * MS, 30 * MS])
    assert (found["token_counts"], found["output_tokens"]) == ([1, 3], 4)


def test_an_empty_token_in_between_costs_the_split_alone() -> None:
    # Usage: 1, 2 and 3 tokens. The second one has no text and no stamp.
    found = row(
        event("a", running=1) + event("", running=2) + event("b", running=3), [10 * MS, 30 * MS]
    )
    assert (times(found), found["output_tokens"], found["token_counts"]) == (
        [10 * MS, 30 * MS],
        3,
        None,
    )
    assert found["quality"] == ["count_mismatch"]


def test_an_empty_first_token_has_taken_the_first_time_with_it() -> None:
    found = row(
        event("", running=1) + event("a", running=2) + event("b", running=3), [10 * MS, 30 * MS]
    )
    assert set(found["quality"]) >= {"events_lost", "first_events_lost"}


def test_without_stamps_the_tokens_are_counted() -> None:
    found = row(event("a") + event("b"), None)
    assert (found["gaps_ns"], found["output_tokens"]) == (None, 2)
    assert found["quality"] == ["events_lost"]


def test_a_text_that_broke_off_in_an_event() -> None:
    assert row(event("a") + 'data: {"choices": [{"te', [10])["output_tokens"] == 1
    late = row(event("a") + event("b").rstrip(), [10])
    assert times(late) == [10]
    assert "events_lost" in late["quality"]


@pytest.mark.parametrize(
    ("text", "stamps"),
    [
        (event("a"), []),
        (event("a"), [10, 20]),
        ("", [10]),
        ("not an event", []),
        ('data: {"a": 1}\n\n', []),
        ("data: <html>\n\n", []),
    ],
)
def test_stamps_that_do_not_fit_the_text_are_not_spread_over_it(
    text: str, stamps: list[int]
) -> None:
    assert stored_answer(text, stamps, has_text) is None
