"""One request's answer, event by event, and the streams it amounts to: one per choice.

Which events carry tokens, and how many, is taken from the best there is:

1. running usage, if it counts every event that has text;
2. token ids, likewise;
3. events with text; those with empty text only where they make the number of events equal usage.

A proxy that hands on the prefill side's token writes the first event itself, without any count:
that event is one token.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from tokengap.adapters.openai import DONE, Choice, Part, Payload, Usage, parse
from tokengap.adapters.rows import Stream

EMPTY_LEFT_OUT: Final = "empty_text_left_out"
"""Quality note: no usage says whether the events with empty text were tokens; none was counted."""


class Event(msgspec.Struct, gc=False):
    """One choice's share of one event."""

    t_ns: int
    part: Part
    has_text: bool
    is_role: bool
    is_finish: bool
    running_tokens: int | None
    id_tokens: int | None

    def may_be_token(self, *, finish_too: bool = True) -> bool:
        """Tell an empty text, which a token may stand behind, from a mark."""
        return self.part is Part.EMPTY and not self.is_role and (finish_too or not self.is_finish)

    @property
    def mark(self) -> str:
        """What to call it where it carries no token."""
        if self.is_role:
            return "role"
        return "finish" if self.is_finish else "empty"


Events = list[Event]


@dataclass(frozen=True)
class Content:
    """Tokens of each event of a choice, 0 for a mark.

    source: what said so; None if only events were counted, each one token or more.
    """

    counts: list[int]
    source: str | None = None


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
        self._sse_id = self._sse_id or payload.id
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
        contents = _contents(self._events, self._usage.completion_tokens)
        for choice, content in sorted(contents.items()) or [(0, Content([]))]:
            yield self._stream(base, choice, content, alone=len(contents) <= 1)

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


def _contents(by_choice: Mapping[int, Events], total: int | None) -> dict[int, Content]:
    """Count the tokens of every choice's events. `total` is the usage of all choices together."""
    running = _each(by_choice, _running_counts)
    # Whose tokens a running usage counts is not standard with several choices: it must add up.
    if running and (len(running) == 1 or sum(map(sum, running.values())) == total):
        return {choice: Content(counts, "usage") for choice, counts in running.items()}
    if by_ids := _each(by_choice, _id_counts):
        return {choice: Content(counts, "token_ids") for choice, counts in by_ids.items()}
    by_text = _text_counts(by_choice, total)
    # One choice's events are held against usage later, with deliveries; several only here.
    proven = len(by_text) > 1 and sum(map(sum, by_text.values())) == total
    return {c: Content(counts, "usage" if proven else None) for c, counts in by_text.items()}


def _each(
    by_choice: Mapping[int, Events], count: Callable[[Events], list[int] | None]
) -> dict[int, list[int]]:
    """Apply `count` to every choice; empty unless it works for all."""
    found = {choice: count(events) for choice, events in by_choice.items()}
    known = {choice: counts for choice, counts in found.items() if counts is not None}
    return known if len(known) == len(found) else {}


def _running_counts(events: Events) -> list[int] | None:
    """Count by differences of running usage; None if that leaves a text uncounted."""
    counted = [event.running_tokens is not None for event in events]
    if not any(counted):
        return None
    handed_on = _handed_on(events, counted)
    counts = []
    before = 0
    for index, event in enumerate(events):
        now = 1 if index == handed_on else event.running_tokens
        counts.append(0 if now is None else now - before)
        before = before if now is None else now
    return _if_complete(events, counts)


def _id_counts(events: Events) -> list[int] | None:
    """Count by the number of token ids; None if that leaves a text uncounted."""
    counted = [event.id_tokens is not None for event in events]
    if not any(counted):
        return None
    handed_on = _handed_on(events, counted)
    counts = [1 if index == handed_on else e.id_tokens or 0 for index, e in enumerate(events)]
    return _if_complete(events, counts)


def _if_complete(events: Events, counts: list[int]) -> list[int] | None:
    for event, count in zip(events, counts, strict=True):
        if count < 0 or (event.has_text and not count):
            return None
    return counts if any(counts) else None


def _handed_on(events: Events, counted: list[bool]) -> int | None:
    """Return the first event's index if it alone has no count and two or more later texts do."""
    first = 1 if events[0].is_role else 0
    later = [counted[i] for i in range(first + 1, len(events)) if events[i].has_text]
    if len(later) < 2 or not all(later) or counted[first]:  # noqa: PLR2004
        return None
    return None if events[first].part is Part.NOTHING else first


def _text_counts(by_choice: Mapping[int, Events], total: int | None) -> dict[int, list[int]]:
    """Count 1 for each event with text, for those with empty text where that gives the total."""
    texts = {c: [int(event.has_text) for event in events] for c, events in by_choice.items()}
    for finish_too in (True, False):
        if total is None or sum(map(sum, texts.values())) == total:
            break
        fuller = {
            c: [int(e.has_text or e.may_be_token(finish_too=finish_too)) for e in events]
            for c, events in by_choice.items()
        }
        if sum(map(sum, fuller.values())) == total:
            return fuller
    return texts
