import json

import pytest

from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.openai import Part, Payload, asked_model, asked_tokens, parse


def event(**fields: object) -> Payload:
    return parse(json.dumps(fields))


def part(**choice: object) -> Part:
    choices = event(choices=[choice]).choices
    assert choices is not None
    return choices[0].part


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"content": " w0001"}, Part.ANSWER),
        ({"content": " "}, Part.ANSWER),
        ({"role": "assistant", "content": "Hi"}, Part.ANSWER),
        ({"refusal": "No"}, Part.ANSWER),
        ({"reasoning_content": "so"}, Part.REASONING),
        ({"reasoning": "so"}, Part.REASONING),
        ({"reasoning": "so", "content": ""}, Part.REASONING),
        ({"reasoning": "so", "content": "Hi"}, Part.ANSWER),
        ({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}, Part.TOOL),
        ({"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}, Part.TOOL),
        ({"function_call": {"arguments": "{"}}, Part.TOOL),
        ({"content": None, "tool_calls": [{"function": {"arguments": ""}}]}, Part.NOTHING),
        ({"content": "", "tool_calls": []}, Part.EMPTY),
        ({"content": ""}, Part.EMPTY),
        ({"reasoning_content": ""}, Part.EMPTY),
        ({"role": "assistant"}, Part.NOTHING),
        ({}, Part.NOTHING),
    ],
)
def test_what_a_chat_delta_carries(delta: dict[str, object], expected: Part) -> None:
    assert part(index=0, delta=delta) is expected
    assert part(index=0, message=delta) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [(" w0001", Part.ANSWER), ("", Part.EMPTY), (None, Part.NOTHING)]
)
def test_what_a_completion_event_carries(text: str | None, expected: Part) -> None:
    assert part(index=0, text=text) is expected


def test_text_of_any_kind_ranks_above_an_empty_one() -> None:
    assert [kind for kind in Part if kind > Part.EMPTY] == [Part.REASONING, Part.TOOL, Part.ANSWER]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"error": {"message": "m", "type": "server_error", "code": 500}}, "server_error"),
        ({"error": {"message": "m"}}, "error"),
        ({"error": "m"}, "error"),
        ({"object": "error", "message": "m", "type": "BadRequestError"}, "BadRequestError"),
        ({"choices": [], "error": None}, None),
    ],
)
def test_an_error_object_is_known_by_its_type_only(
    fields: dict[str, object], expected: str | None
) -> None:
    assert event(**fields).error_type == expected


def test_counts_come_from_usage_and_token_ids() -> None:
    payload = event(
        choices=[{"index": 1, "text": "ab", "token_ids": [5, 6]}],
        usage={
            "prompt_tokens": 63,
            "completion_tokens": 5,
            "total_tokens": 68,
            "prompt_tokens_details": {"cached_tokens": 32},
        },
    )
    assert payload.usage is not None
    assert (payload.usage.prompt_tokens, payload.usage.completion_tokens) == (63, 5)
    assert payload.usage.prompt_tokens_details is not None
    assert payload.usage.prompt_tokens_details.cached_tokens == 32
    assert payload.choices is not None
    assert payload.choices[0].token_ids == [5, 6]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "event: not JSON"),
        ('{"choices": [{"index": "0"}]}', "choices[0].index: Expected `int`, got `str`"),
        ('{"choices": [{"index": true}]}', "choices[0].index: Expected `int`, got `bool`"),
        ('{"usage": {"completion_tokens": 1.0}}', "usage.completion_tokens: Expected `int | null`"),
        ('{"usage": {"completion_tokens": -1}}', "usage.completion_tokens: Expected `int` >= 0"),
        ('{"type": "content_block_delta"}', "event: no `choices`, `usage` or `error`"),
        ('{"error": ' + "[" * 100_000, "event: nested too deeply"),
        ("17", "Expected `object`, got `int`"),
    ],
)
def test_what_is_no_event_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(LineError) as caught:
        parse(text)
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ({"max_tokens": 24}, 24),
        ({"max_completion_tokens": 12, "max_tokens": 24}, 12),
        ({"max_tokens": "24"}, None),
        ({"max_tokens": -1}, None),
        ({"max_tokens": True}, None),
        ({}, None),
        (None, None),
        ("text", None),
    ],
)
def test_a_client_may_ask_for_anything_and_only_a_usable_limit_is_kept(
    body: object, limit: int | None
) -> None:
    assert asked_tokens(body) == limit


def test_the_model_asked_for() -> None:
    assert asked_model({"model": "tiny-llama"}) == "tiny-llama"
    assert asked_model({"model": 5}) is None
    assert asked_model(None) is None
