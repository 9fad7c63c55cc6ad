"""The events of one answer, most of which differ from an earlier one in nothing but their text.

An event with text is taken apart once, into what stands before its text and what stands after it.
A later event with the same before and after, and some plain text between them, says the same but
for that text, which nobody looks at: it need not be decoded.
"""

from typing import Final

import msgspec

from tokengap.adapters.shared.openai import Payload, parse

_KEPT: Final = 4
_MADE: Final = 64
"""Moulds of one answer: where so many did not do, its events are not alike."""


class _Mould(msgspec.Struct, gc=False):
    """An event without its text, which begins and ends at these places."""

    before: str
    after: str
    begin: int
    end: int
    payload: Payload


class Events:
    """Decodes the events of one answer, in order."""

    def __init__(self) -> None:
        self._moulds: list[_Mould] = []
        self._made = 0

    def parse(self, event: str) -> Payload:
        """Do as `openai.parse`, but give an earlier event's payload for one like it."""
        for mould in self._moulds:
            if event.startswith(mould.before) and event.endswith(mould.after):
                text = event[mould.begin : mould.end]
                # Such a text stands between the quotes of a JSON string as it is.
                if text and text.isprintable() and '"' not in text and "\\" not in text:
                    return mould.payload
        payload = parse(event)
        if self._made < _MADE and payload.usage is None:  # a running usage is never the same
            self._keep(event, payload)
        return payload

    def _keep(self, event: str, payload: Payload) -> None:
        """Make a mould of an event whose text is the only thing in it that is written like that."""
        text = _only_text(payload)
        if not text or "\\" in event:
            return
        before, written, after = event.partition(f'"{text}"')
        if written and written not in after:
            before, after = f'{before}"', f'"{after}'
            mould = _Mould(before, after, len(before), -len(after), payload)
            self._moulds = [mould, *self._moulds[: _KEPT - 1]]
            self._made += 1


def _only_text(payload: Payload) -> str | None:
    """The text of the event's only choice."""
    if payload.choices is None or len(payload.choices) != 1 or payload.error_type is not None:
        return None
    choice = payload.choices[0]
    chat = choice.delta
    text = choice.text if chat is None else chat.content or chat.reasoning_content or chat.reasoning
    return text if isinstance(text, str) else None
