"""Which events of an answer carry tokens, and how many: taken from the best there is.

1. Running usage, if it counts every event that has text.
2. Token ids, likewise.
3. Events with text; those with empty text only where they make the number of events equal usage.

A proxy that hands on the prefill side's token writes the first event itself, without any count:
that event is one token.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from tokengap.adapters.shared.openai import Choice, Part

_EMPTY: Final = int(Part.EMPTY)


class Share(msgspec.Struct, gc=False):
    """One choice's share of one event."""

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


@dataclass(slots=True)
class Received:
    """What one choice got: its share of every event that names it, and when.

    has_usage, has_ids: whether any event counts its tokens that way.
    """

    times_ns: list[int] = field(default_factory=list)
    shares: list[Share] = field(default_factory=list)
    finish_reason: str | None = None
    has_usage: bool = False
    has_ids: bool = False

    def add(self, t_ns: int, choice: Choice, running_tokens: int | None) -> None:
        """Add an event; `running_tokens` is its running usage."""
        part = choice.part
        has_text = part > _EMPTY
        is_role = not self.shares and not has_text and choice.has_role
        is_finish = choice.finish_reason is not None
        id_tokens = None if choice.token_ids is None else len(choice.token_ids)
        self.times_ns.append(t_ns)
        self.shares.append(Share(part, has_text, is_role, is_finish, running_tokens, id_tokens))
        if is_finish:
            self.finish_reason = choice.finish_reason
        if running_tokens is not None:
            self.has_usage = True
        if id_tokens is not None:
            self.has_ids = True

    def repeat(self, t_ns: int) -> None:
        """Add an event that differs from the last one in nothing but time and text."""
        self.times_ns.append(t_ns)
        self.shares.append(self.shares[-1])


@dataclass(frozen=True)
class Content:
    """Tokens of each event of a choice, 0 for a mark.

    source: what said so; None if only events were counted, each one token or more.
    """

    counts: Sequence[int]
    source: str | None = None


def contents(by_choice: Mapping[int, Received], total: int | None) -> dict[int, Content]:
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
    by_choice: Mapping[int, Received], count: Callable[[Received], list[int] | None]
) -> dict[int, list[int]]:
    """Apply `count` to every choice; empty unless it works for all."""
    found = {choice: count(received) for choice, received in by_choice.items()}
    known = {choice: counts for choice, counts in found.items() if counts is not None}
    return known if len(known) == len(found) else {}


def _running_counts(received: Received) -> list[int] | None:
    """Count by differences of running usage; None if that leaves a text uncounted."""
    if not received.has_usage:
        return None
    shares = received.shares
    handed_on = _handed_on(shares, [share.running_tokens is not None for share in shares])
    counts = []
    before = 0
    for index, share in enumerate(shares):
        now = 1 if index == handed_on else share.running_tokens
        counts.append(0 if now is None else now - before)
        before = before if now is None else now
    return _if_complete(shares, counts)


def _id_counts(received: Received) -> list[int] | None:
    """Count by the number of token ids; None if that leaves a text uncounted."""
    if not received.has_ids:
        return None
    shares = received.shares
    handed_on = _handed_on(shares, [share.id_tokens is not None for share in shares])
    counts = [1 if index == handed_on else s.id_tokens or 0 for index, s in enumerate(shares)]
    return _if_complete(shares, counts)


def _if_complete(shares: Sequence[Share], counts: list[int]) -> list[int] | None:
    for share, count in zip(shares, counts, strict=True):
        if count < 0 or (share.has_text and not count):
            return None
    return counts if any(counts) else None


def _handed_on(shares: Sequence[Share], counted: list[bool]) -> int | None:
    """Return the first event's index if it alone has no count and two or more later texts do."""
    first = 1 if shares[0].is_role else 0
    later = [counted[i] for i in range(first + 1, len(shares)) if shares[i].has_text]
    if len(later) < 2 or not all(later) or counted[first]:  # noqa: PLR2004
        return None
    return None if shares[first].part is Part.NOTHING else first


def _text_counts(
    by_choice: Mapping[int, Received], total: int | None
) -> Mapping[int, Sequence[int]]:
    """Count 1 for each event with text, for those with empty text where that gives the total."""
    texts = {c: [share.has_text for share in got.shares] for c, got in by_choice.items()}
    for finish_too in (True, False):
        if total is None or sum(map(sum, texts.values())) == total:
            break
        fuller = {
            c: [s.has_text or s.may_be_token(finish_too=finish_too) for s in got.shares]
            for c, got in by_choice.items()
        }
        if sum(map(sum, fuller.values())) == total:
            return fuller
    return texts
