"""Events that are not decoded say what they would say if they were."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.shared import alike
from tokengap.adapters.shared.alike import Events
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.openai import Part, Payload, parse

TEXTS = st.text(max_size=3) | st.sampled_from(
    ["a", "assistant", "content", "stop", '"', "\\", "\n"]
)


def event(kind: str, text: str, **more: object) -> str:
    choice: dict[str, Any] = {"index": 0, "finish_reason": None}
    choice |= {"text": text} if kind == "text" else {"delta": {"role": "assistant", kind: text}}
    return json.dumps({"id": "x", "choices": [choice], **more}, ensure_ascii=False)


EVENTS = st.builds(event, st.sampled_from(["text", "content", "reasoning"]), TEXTS)


def said(payload: Payload) -> list[tuple[int, Part, bool, str | None]]:
    choices = payload.choices or []
    return [(c.index, c.part, c.has_role, c.finish_reason) for c in choices]


@given(st.lists(EVENTS, max_size=8))
def test_every_event_says_what_it_says_alone(texts: list[str]) -> None:
    events = Events()
    for text in texts:
        assert said(events.parse(text)) == said(parse(text))


def test_an_event_that_differs_in_its_text_alone_is_not_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded: list[str] = []

    def counted(text: str) -> Payload:
        decoded.append(text)
        return parse(text)

    monkeypatch.setattr(alike, "parse", counted)
    events = Events()
    first, *others = (event("content", text) for text in ["a", "b", " c", "", "d"])
    assert events.parse(first) is events.parse(others[0]) is events.parse(others[1])
    assert said(events.parse(others[2])) == [(0, Part.EMPTY, True, None)]
    assert events.parse(others[3]) is events.parse(first)
    assert decoded == [first, others[2]]


@pytest.mark.parametrize(
    "text",
    [
        event("content", "a", error={"type": "overloaded"}),
        event("content", "a", usage={"completion_tokens": 1}),
        event("content", "x"),  # as the id: which of the two is the text cannot be told
        '{"choices": []}',
    ],
)
def test_an_event_whose_text_is_not_all_that_differs_is_decoded_again(text: str) -> None:
    events = Events()
    assert events.parse(text) is not events.parse(text)


@pytest.mark.parametrize("text", ["\n", "\x00", "\u2028"])
def test_what_no_json_string_may_hold_as_it_is_is_judged_by_the_decoder(text: str) -> None:
    events = Events()
    events.parse(event("content", "a"))
    raw = event("content", "a").replace('"a"', f'"{text}"')
    try:
        expected = said(parse(raw))
    except LineError:
        with pytest.raises(LineError, match="event: not JSON"):
            events.parse(raw)
    else:
        assert said(events.parse(raw)) == expected
