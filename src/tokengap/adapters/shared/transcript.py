"""One request's answer, event by event, and the streams it amounts to: one per choice."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from operator import itemgetter
from typing import Final

from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.alike import Events
from tokengap.adapters.shared.content import Content, Received, Share, contents
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.openai import DONE, Part, Payload, Usage

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
        self._choices: defaultdict[int, Received] = defaultdict(Received)
        self._events = Events()
        self._last: Payload | None = None
        self._received = Received()

    def add(self, t_ns: int, text: str) -> None:
        """Add the data of one SSE event, or a whole body; LineError if it cannot be read."""
        if text[:1] != "{" and text.strip() == DONE:
            self.done_ns = t_ns
            self._marks.append(("done", t_ns))
            return
        try:
            payload = self._events.parse(text)
        except LineError:
            if self.done_ns is None:
                raise
            self.mark("other", t_ns)  # behind the answer, some servers report their own timings
            return
        if payload is self._last:
            self._received.repeat(t_ns)
        else:
            self.take(t_ns, payload)
            self._last = payload

    def add_all(self, times_ns: Sequence[int], texts: Sequence[str | None]) -> None:
        """Add the data of many events; one that has none keeps the connection alive."""
        for t_ns, text in zip(times_ns, texts, strict=True):
            if text is None:
                self.mark("keepalive", t_ns)
            else:
                self.add(t_ns, text)

    def mark(self, kind: str, t_ns: int) -> None:
        """Add an event without data."""
        self._marks.append((kind, t_ns))

    def take(self, t_ns: int, payload: Payload) -> None:
        """Add one event that is decoded already."""
        self._last = None
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
            self._received = self._choices[choice.index]
            self._received.add(t_ns, choice, running_tokens)

    def streams(self, base: Stream) -> Iterator[Stream]:
        """Yield one stream per choice: `base` itself, and copies of it, completed by the answer.

        `base.status` holds unless the answer knows better: an error object in it means failed, a
        finish reason or the terminator means completed.
        """
        found = sorted(contents(self._choices, self._usage.completion_tokens).items())
        for choice, content in found[:-1]:
            yield self._completed(replace(base), choice, content, alone=False)
        choice, content = found[-1] if found else (0, Content([]))
        yield self._completed(base, choice, content, alone=len(found) <= 1)

    def _completed(self, stream: Stream, choice: int, content: Content, *, alone: bool) -> Stream:
        received, counts = self._choices[choice], content.counts
        times_ns = list(compress(received.times_ns, counts))
        total = self._usage.completion_tokens if alone else None
        if total == 0 and times_ns:  # a server that does not count says 0
            total = None
        details = self._usage.prompt_tokens_details
        stream.choice = choice
        if self._sse_id:
            stream.ids = {**(stream.ids or {}), "sse_id": self._sse_id}
        stream.status, stream.error_kind = self._status(stream, received)
        stream.finish_reason = received.finish_reason
        stream.times_ns = times_ns
        stream.counts = list(filter(None, counts)) if content.source else None
        stream.counts_source = content.source or "events"
        stream.total_tokens = total
        stream.total_source = None if total is None else "usage"
        stream.prompt_tokens = self._usage.prompt_tokens
        stream.cached_prompt_tokens = details.cached_tokens if details else None
        stream.first_answer_ns = _first_answer_ns(compress(received.shares, counts), times_ns)
        self._remark(stream, received, content)
        return stream

    def _remark(self, stream: Stream, received: Received, content: Content) -> None:
        """Add the events that carry no token, and whether some of them may."""
        left = [i for i, count in enumerate(content.counts) if not count]
        marks = [(received.shares[i].mark, received.times_ns[i]) for i in left]
        stream.marks = sorted([*stream.marks, *self._marks, *marks], key=itemgetter(1))
        unsaid = stream.total_tokens is None and content.source is None
        if unsaid and any(received.shares[i].may_be_token() for i in left):
            stream.quality = [*stream.quality, EMPTY_LEFT_OUT]

    def _status(self, stream: Stream, received: Received) -> tuple[str, str | None]:
        if self._failed:
            return "failed", "in_band_error"
        if received.finish_reason is not None or self.done_ns is not None:
            return "completed", None
        return stream.status, stream.error_kind


def _first_answer_ns(tokens: Iterable[Share], times_ns: Sequence[int]) -> int | None:
    """Return the time of the first answer text, None where no reasoning came before it."""
    reasoned = False
    for share, t_ns in zip(tokens, times_ns, strict=True):
        if share.part is Part.ANSWER:
            return t_ns if reasoned else None
        reasoned = reasoned or share.part is Part.REASONING
    return None
