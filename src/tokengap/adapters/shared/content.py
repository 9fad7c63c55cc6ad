"""Which events of an answer carry tokens, and how many: taken from the best there is.

1. Running usage, if it counts every event that has text.
2. Token ids, likewise.
3. Events with text; those with empty text only where they make the number of events equal usage.

A proxy that hands on the prefill side's token writes the first event itself, without any count:
that event is one token.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from tokengap.adapters.shared.openai import Part


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


def contents(by_choice: Mapping[int, Events], total: int | None) -> dict[int, Content]:
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
