"""One request of an SSE capture, from its first line to its end."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tokengap.adapters.formats.sse.entry import Entry
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.openai import parse
from tokengap.adapters.shared.outcomes import error_kind, status_of_exception, status_of_http
from tokengap.adapters.shared.transcript import Transcript

HTTP_ERROR: Final = 400
ENDED: Final = {"done": "completed", "eof": "truncated", "cancelled": "cancelled"}
OUTCOMES: Final = (*ENDED, "http_error", "exception")


@dataclass(slots=True)
class Exchange:
    """One attempt of one request, as far as it was read."""

    request: Stream
    transcript: Transcript = field(default_factory=Transcript)
    http_status: int | None = None
    outcome: str | None = None
    stamps_ns: dict[int, int] = field(default_factory=dict)

    def take(self, entry: Entry, t_ns: int) -> None:
        """Add one line of it; LineError if its content cannot be read."""
        match entry.kind:
            case "data":
                if self._is_new(entry, t_ns):
                    self.transcript.add(t_ns, entry.text)
            case "line":
                if self._is_new(entry, t_ns):
                    comment = entry.text.startswith(":")
                    self.transcript.mark("keepalive" if comment else "line", t_ns)
            case "headers":
                self.http_status = entry.status
                self.transcript.mark("headers", t_ns)
            case "body":
                self._take_body(entry.text, t_ns)
            case "cancel":
                self._close("cancelled", t_ns)
                self.transcript.mark("cancel", t_ns)
            case "exception":
                self._close("exception", t_ns)
                self.request.error_kind = error_kind(entry.text)
                self.transcript.mark("exception", t_ns)
            case "end":
                self._end(entry.outcome, t_ns)
            case _:
                raise LineError(f"unknown kind of line {entry.kind!r}", "kind", entry.kind)

    def _is_new(self, entry: Entry, t_ns: int) -> bool:
        """Tell a new line from one that was shipped twice; note a hole in `seq`."""
        if entry.seq is None:
            return True
        if entry.seq in self.stamps_ns:
            if self.stamps_ns[entry.seq] != t_ns:
                raise LineError("`seq` was there before, with another time", "seq", entry.seq)
            self.note("duplicate_dropped")
            return False
        if entry.seq != len(self.stamps_ns):
            self.note("events_lost")
        self.stamps_ns[entry.seq] = t_ns
        return True

    def _take_body(self, raw: str, t_ns: int) -> None:
        self.request.stream_close_ns = t_ns
        if self.http_status is not None and self.http_status >= HTTP_ERROR:
            self.request.error_kind = _error_type(raw)
        else:
            self.request.streamed = False
            self.transcript.add(t_ns, raw)

    def _close(self, outcome: str, t_ns: int) -> None:
        self.outcome = outcome
        self.request.stream_close_ns = t_ns

    def _end(self, outcome: str | None, t_ns: int) -> None:
        if outcome not in OUTCOMES:
            expected = ", ".join(OUTCOMES)
            raise LineError(f"outcome: one of {expected} expected", "outcome", outcome)
        self.outcome = outcome
        if self.request.stream_close_ns is None:
            self.request.stream_close_ns = t_ns

    def note(self, quality: str) -> None:
        """Remark how far this attempt can be trusted."""
        if quality not in self.request.quality:
            self.request.quality.append(quality)

    def streams(self) -> Iterator[Stream]:
        """Yield what it amounts to: one stream per choice."""
        if self.transcript.done_ns is not None:
            self.request.stream_close_ns = self.transcript.done_ns
        self._judge()
        return self.transcript.streams(self.request)

    def _judge(self) -> None:
        """Set the status by how the exchange ended; the answer itself may know better."""
        request, code = self.request, self.http_status or 0
        if self.outcome == "http_error" or code >= HTTP_ERROR:
            request.status = status_of_http(code)
            request.error_kind = request.error_kind or (f"http_{code}" if code else "http_error")
        elif self.outcome == "exception":
            request.error_kind = request.error_kind or "exception"
            request.status = status_of_exception(request.error_kind)
        else:
            request.status = ENDED.get(self.outcome or "", "in_flight")


def _error_type(raw: str) -> str | None:
    try:
        return parse(raw).error_type
    except LineError:  # an error page, not an error object
        return None
