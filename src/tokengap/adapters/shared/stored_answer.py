"""The raw text of an answer, kept by a tool that stamps only some of its events."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.alike import Events
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.openai import DONE, Part, Payload
from tokengap.adapters.shared.server_sent import NO_DATA, EventReader
from tokengap.adapters.shared.transcript import Transcript
from tokengap.schema import TIME_LIMIT_NS

UNSTAMPED: Final = TIME_LIMIT_NS + 1
"""Stands for the time of an event that has none: no stamp is that late."""


class StoredAnswer:
    """An answer whose events have their stamps, or `UNSTAMPED`."""

    def __init__(self) -> None:
        self._transcript = Transcript()
        self._text_lost = False

    def take(self, t_ns: int, payload: Payload) -> None:
        """Add one event."""
        if t_ns == UNSTAMPED and any(c.part > Part.EMPTY for c in payload.choices or ()):
            self._text_lost = True
        self._transcript.take(t_ns, payload)

    def end(self) -> None:
        """Add the terminator."""
        self._transcript.add(UNSTAMPED, DONE)

    def streams(self, base: Stream) -> Iterator[Stream]:
        """Yield one stream per choice: `base`, completed by what the answer says."""
        for stream in self._transcript.streams(base):
            self._drop_unstamped(stream)
            yield stream

    def _drop_unstamped(self, stream: Stream) -> None:
        """Keep what has a time. An event without one is lost if it has text, or comes first."""
        stream.marks = [(kind, t_ns) for kind, t_ns in stream.marks if t_ns != UNSTAMPED]
        if stream.first_answer_ns == UNSTAMPED:
            stream.first_answer_ns = None
        times_ns = list(stream.times_ns or ())
        stamped_ns = [t_ns for t_ns in times_ns if t_ns != UNSTAMPED]
        if len(stamped_ns) == len(times_ns):
            return
        if stream.total_tokens is None and not stamped_ns:
            stream.total_tokens = sum(stream.counts) if stream.counts else len(times_ns)
            stream.total_source = stream.counts_source
        first_lost = times_ns[0] == UNSTAMPED
        lost = ["events_lost"] if self._text_lost or first_lost else []
        first = ["first_events_lost"] if first_lost and stamped_ns else []
        stream.quality = [*stream.quality, *lost, *first]
        stream.times_ns, stream.counts = stamped_ns or None, None


def stored_answer(
    text: str, stamps_ns: Sequence[int] | None, is_stamped: Callable[[Payload], bool]
) -> StoredAnswer | None:
    """Put an answer's text and the stamps of its events together; None if they do not fit.

    is_stamped: whether the tool stamps such an event. stamps_ns: None if all of them were lost.
    """
    if text.strip() and "data:" not in text:
        return None
    answer, reader, events = StoredAnswer(), EventReader(), Events()
    left = None if stamps_ns is None else iter(stamps_ns)
    try:
        for data in reader.feed(text):
            if data.strip() == DONE:
                answer.end()
            elif data != NO_DATA:
                payload = events.parse(data)
                has_stamp = left is not None and is_stamped(payload)
                answer.take(next(left) if left and has_stamp else UNSTAMPED, payload)
    except (LineError, StopIteration):
        return None
    with suppress(LineError):  # where the connection broke, an event may be cut
        for data in reader.end():
            answer.take(UNSTAMPED, events.parse(data))
    return None if left is not None and next(left, None) is not None else answer
