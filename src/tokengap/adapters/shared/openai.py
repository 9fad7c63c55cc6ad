"""One event of an OpenAI-style answer: what it carries, and what it says about token counts.

Read are completions (`text`), chat chunks (`delta`) and whole bodies (`message`). Text itself is
looked at only to see whether there is any.
"""

from enum import IntEnum
from typing import Annotated, Any, Final

import msgspec

from tokengap.adapters.shared.lines import COUNT_LIMIT, LineError, shape_error

DONE: Final = "[DONE]"

Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_LIMIT)]


class Part(IntEnum):
    """What a choice of an event carries; text of any kind is above EMPTY."""

    NOTHING = 0
    EMPTY = 1  # a text field of length 0: a token only if counts prove it
    REASONING = 2
    TOOL = 3
    ANSWER = 4


_NOTHING, _EMPTY, _REASONING, _TOOL, _ANSWER = Part  # looking a member up takes long in a loop


class PromptDetails(msgspec.Struct, gc=False):
    """Part of `usage`."""

    cached_tokens: Count | None = None


class Usage(msgspec.Struct, gc=False):
    """Token counts of the whole request so far."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: PromptDetails | None = None


class Function(msgspec.Struct, gc=False):
    """The text of a tool call."""

    name: Any = None
    arguments: Any = None


class ToolCall(msgspec.Struct, gc=False):
    """One call, or a piece of one."""

    function: Function | None = None


class Delta(msgspec.Struct, gc=False):
    """New text of a chat choice; servers differ in the name of the reasoning field."""

    role: Any = None
    content: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None

    @property
    def part(self) -> Part:
        """The most final kind of text in it."""
        if self.content or self.refusal:
            return _ANSWER
        if self.reasoning_content or self.reasoning:
            return _REASONING
        if any(call.name or call.arguments for call in self._calls()):
            return _TOOL
        texts = (self.content, self.reasoning_content, self.reasoning)
        return _EMPTY if "" in texts else _NOTHING

    def _calls(self) -> list[Function]:
        calls = [call.function for call in self.tool_calls or () if call.function]
        return [*calls, self.function_call] if self.function_call else calls


class Choice(msgspec.Struct, gc=False):
    """One choice's share of an event."""

    index: Count = 0
    text: str | None = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    token_ids: list[Any] | None = None

    @property
    def has_role(self) -> bool:
        """True if it names the speaker."""
        return self.delta is not None and self.delta.role is not None

    @property
    def part(self) -> Part:
        """What it carries."""
        chat = self.delta or self.message
        if chat is not None:
            return chat.part
        if self.text:
            return _ANSWER
        return _NOTHING if self.text is None else _EMPTY


class Payload(msgspec.Struct, gc=False):
    """One event, or one body. `choices` is empty on a usage event and missing on an error."""

    id: Any = None
    object: Any = None
    choices: list[Choice] | None = None
    usage: Usage | None = None
    error: Any = None
    type: Any = None

    @property
    def error_type(self) -> str | None:
        """Type of the error the event reports, None if it reports none. Its text is left alone."""
        if self.object == "error":  # older servers send the error's fields bare
            return _named(self.type)
        if self.error is None:
            return None
        return _named(self.error.get("type")) if isinstance(self.error, dict) else "error"


def _named(kind: object) -> str:
    return kind if isinstance(kind, str) and kind else "error"


_PAYLOAD: Final = msgspec.json.Decoder(Payload)


def parse(text: str | bytes) -> Payload:
    """Decode one event; LineError if it is no event of an OpenAI-style answer."""
    try:
        payload = _PAYLOAD.decode(text)
    except RecursionError:
        raise LineError("event: nested too deeply") from None
    except msgspec.ValidationError as error:
        raise shape_error(error) from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise LineError(f"event: not JSON: {error}") from error
    if payload.choices is None and payload.usage is None and payload.error_type is None:
        raise LineError("event: no `choices`, `usage` or `error`, so not an OpenAI-style answer")
    return payload


def asked_tokens(body: object) -> int | None:
    """Return the output limit of a request; None without a usable one: clients send anything."""
    if not isinstance(body, dict):
        return None
    for name in ("max_completion_tokens", "max_tokens"):
        value = body.get(name)
        if type(value) is int and 0 <= value <= COUNT_LIMIT:
            return value
    return None


def asked_model(body: object) -> str | None:
    """Return the model a request names."""
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else None
