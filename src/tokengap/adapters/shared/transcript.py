"""One request's answer, event by event, and the streams it amounts to: one per choice."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.content import Content, Event, Events, contents
from tokengap.adapters.shared.openai import DONE, Choice, Part, Payload, Usage, parse

EMPTY_LEFT_OUT: Final = "empty_text_left_out"
"""Quality note: no usage says whether the events with empty text were tokens; none was counted."""


class Transcript:
    """What came back for one request, in order."""

    def __init__(self) -> None:
        self._sse_id: str | None = None
        self._failed = False
        self.done_ns: int | None = None
        self._marks: list[tuple[str, int]] = []
        self._usage = Usage()
        self._events: defaultdict[int, Events] = defaultdict(list)
        self._finish: dict[int, str] = {}

    def add(self, t_ns: int, text: str) -> None:
        """Add the data of one SSE event, or a whole body; LineError if it cannot be read."""
        if text.strip() == DONE:
            self.done_ns = t_ns
            self._marks.append(("done", t_ns))
        else:
            self._add(t_ns, parse(text))

    def mark(self, kind: str, t_ns: int) -> None:
        """Add an event without data."""
        self._marks.append((kind, t_ns))

    def _add(self, t_ns: int, payload: Payload) -> None:
        if self._sse_id is None and isinstance(payload.id, str):
            self._sse_id = payload.id
        running_tokens = None
        if payload.usage is not None:
            self._usage = payload.usage
            running_tokens = payload.usage.completion_tokens
        if payload.error_type is not None:
            self._failed = True
            self._marks.append(("error", t_ns))
        elif not payload.choices:
            self._marks.append(("usage" if payload.usage else "other", t_ns))
        for choice in payload.choices or ():
            self._add_choice(t_ns, choice, running_tokens)

    def _add_choice(self, t_ns: int, choice: Choice, running_tokens: int | None) -> None:
        events, part = self._events[choice.index], choice.part
        has_text = part > Part.EMPTY
        is_role = not events and not has_text and choice.has_role
        is_finish = choice.finish_reason is not None
        id_tokens = None if choice.token_ids is None else len(choice.token_ids)
        events.append(Event(t_ns, part, has_text, is_role, is_finish, running_tokens, id_tokens))
        if choice.finish_reason is not None:
            self._finish[choice.index] = choice.finish_reason

    def streams(self, base: Stream) -> Iterator[Stream]:
        """Yield one stream per choice: `base`, completed by what the answer says.

        `base.status` holds unless the answer knows better: an error object in it means failed, a
        finish reason or the terminator means completed.
        """
        found = contents(self._events, self._usage.completion_tokens)
        for choice, content in sorted(found.items()) or [(0, Content([]))]:
            yield self._stream(base, choice, content, alone=len(found) <= 1)

    def _stream(self, base: Stream, choice: int, content: Content, *, alone: bool) -> Stream:
        both = list(zip(self._events.get(choice, ()), content.counts, strict=True))
        tokens = [event for event, count in both if count]
        marks = [(event.mark, event.t_ns) for event, count in both if not count]
        total = self._usage.completion_tokens if alone else None
        if total == 0 and tokens:  # a server that does not count says 0
            total = None
        status, error_kind = self._status(base, choice)
        details = self._usage.prompt_tokens_details
        return replace(
            base,
            choice=choice,
            ids={**(base.ids or {}), **({"sse_id": self._sse_id} if self._sse_id else {})},
            status=status,
            error_kind=error_kind,
            finish_reason=self._finish.get(choice),
            times_ns=[event.t_ns for event in tokens],
            counts=[count for count in content.counts if count] if content.source else None,
            counts_source=content.source or "events",
            total_tokens=total,
            total_source=None if total is None else "usage",
            prompt_tokens=self._usage.prompt_tokens,
            cached_prompt_tokens=details.cached_tokens if details else None,
            first_answer_ns=_first_answer_ns(tokens),
            marks=sorted([*base.marks, *self._marks, *marks], key=lambda mark: mark[1]),
            quality=base.quality + self._notes(choice, content, total),
        )

    def _notes(self, choice: int, content: Content, total: int | None) -> list[str]:
        if total is not None or content.source is not None:
            return []
        events = zip(self._events.get(choice, ()), content.counts, strict=True)
        left = any(event.may_be_token() and not count for event, count in events)
        return [EMPTY_LEFT_OUT] if left else []

    def _status(self, base: Stream, choice: int) -> tuple[str, str | None]:
        if self._failed:
            return "failed", "in_band_error"
        if choice in self._finish or self.done_ns is not None:
            return "completed", None
        return base.status, base.error_kind


def _first_answer_ns(tokens: Events) -> int | None:
    """Return the time of the first answer text, None where no reasoning came before it."""
    reasoned = False
    for event in tokens:
        if event.part is Part.ANSWER:
            return event.t_ns if reasoned else None
        reasoned = reasoned or event.part is Part.REASONING
    return None
