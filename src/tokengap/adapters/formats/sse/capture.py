"""Captured server-sent events: JSONL, one line per event, requests interleaved.

`t_ns` is the monotonic time at which the read that completed the line returned, so lines of one
read share it. A request is held only until its `end` line; one without is in flight at the end of
the file. A second `request` line with the same id is the next attempt.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa

from tokengap.adapters.formats.sse.entry import Entries, Entry, read_entries
from tokengap.adapters.formats.sse.exchange import Exchange
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.clocks import beside_wall
from tokengap.adapters.shared.lines import LineError, time_ns
from tokengap.adapters.shared.requests import body_in
from tokengap.adapters.shared.threads import in_order
from tokengap.adapters.source import Source


class Capture:
    """The requests of one file that are still open."""

    def __init__(self, source: Source, intake: Intake) -> None:
        self._source = source
        self._intake = intake
        self._clock = intake.source_id(source)
        self._open: dict[str, Exchange] = {}
        self._attempts: Counter[str] = Counter()  # the one thing that grows with the file
        self._wall_ahead_ns = array("q")
        self._last_ns: int | None = None

    def streams(self) -> Iterator[Stream]:
        """Yield every stream as its request ends, then those that never did."""
        for pieces in in_order(read_entries, self._source.blocks()):
            for entries in pieces:
                yield from self._ended(entries)
        for exchange in self._open.values():
            for stream in exchange.streams():
                if stream.status == "in_flight":  # it was still waiting at the last line
                    stream.stream_close_ns = self._last_ns
                yield stream
        self._report_clock()

    def _ended(self, entries: Entries) -> Iterator[Stream]:
        """Read some lines; yield the streams of every attempt that they end."""
        for number, entry in entries:
            try:
                if isinstance(entry, LineError):
                    raise entry
                ended = self._take(entry, number)
            except LineError as error:
                line = entries.line(number)
                self._intake.reject(self._source, line, error.reason, error.field, error.value)
                self._note_loss(None if isinstance(entry, LineError) else entry)
            else:
                if ended is not None:
                    yield from ended.streams()

    def _take(self, entry: Entry, line: int) -> Exchange | None:
        """Return the attempt this line ends, if any."""
        if entry.kind == "note":
            return None
        t_ns = self._last_ns = time_ns(entry.t_ns, "t_ns")
        if entry.request_id is None:
            raise LineError("request_id: missing", "request_id")
        before = self._open.get(entry.request_id)
        if entry.kind == "request":
            return self._replace(before, entry, t_ns, line)
        exchange = before or self._begin_unseen(entry.request_id, line)
        exchange.take(entry, t_ns)
        return self._open.pop(entry.request_id) if entry.kind == "end" else None

    def _replace(
        self, before: Exchange | None, entry: Entry, t_ns: int, line: int
    ) -> Exchange | None:
        """Open the request; return the attempt of the same id that was still open."""
        if before is not None and before.request.sent_ns == t_ns:
            before.note("duplicate_dropped")
            return None
        self._open[entry.request_id or ""] = self._begin(entry, t_ns, line)
        if before is not None:
            before.outcome = before.outcome or "eof"
        return before

    def _begin(self, entry: Entry, t_ns: int, line: int) -> Exchange:
        if entry.t_unix_ns is not None:
            ahead_ns = time_ns(entry.t_unix_ns, "t_unix_ns") - t_ns
            self._wall_ahead_ns.append(time_ns(ahead_ns, "t_unix_ns - t_ns"))
        asked = body_in(entry.body)
        exchange = self._exchange(entry.request_id or "", line)
        exchange.request.sent_ns = t_ns
        exchange.request.model = asked.model_name
        exchange.request.requested_output_tokens = asked.tokens
        if entry.url_path is not None:
            exchange.request.labels = {"path": entry.url_path}
        return exchange

    def _begin_unseen(self, request_id: str, line: int) -> Exchange:
        """Begin a request that the capture joined under way: what came before is not known."""
        if self._attempts[request_id]:
            raise LineError(
                "belongs to no open request: this one has ended", "request_id", request_id
            )
        exchange = self._open[request_id] = self._exchange(request_id, line)
        exchange.note("events_lost")
        return exchange

    def _exchange(self, request_id: str, line: int) -> Exchange:
        attempt = self._attempts[request_id]
        self._attempts[request_id] += 1
        request = Stream(
            request_id=request_id,
            source=f"{self._clock}:{line}",
            status="in_flight",
            attempt=attempt,
            clock=self._clock,
            clock_kind="monotonic",
        )
        return Exchange(request)

    def _note_loss(self, entry: Entry | None) -> None:
        """Note a loss: an unread line that names no request may belong to any open one."""
        if entry is None or entry.request_id is None:
            for exchange in self._open.values():
                exchange.note("events_lost")
        elif entry.kind in ("data", "body") and entry.request_id in self._open:
            self._open[entry.request_id].note("events_lost")

    def _report_clock(self) -> None:
        offset = beside_wall(self._clock, self._clock, self._wall_ahead_ns, "t_unix_ns - t_ns")
        if offset is not None:
            self._intake.clocks.append(offset)


class Sse:
    """Reads captured SSE streams."""

    name = "sse"
    version = 1
    about = About(
        reads="captured server-sent events of OpenAI-style servers, JSONL",
        vantage="client",
        granularity="chunk; token where counts prove it",
        clock="monotonic ns",
        ttft="yes",
        worst_gap="yes",
        handoff="stream",
        checked="vLLM 0.32.0 behind our recorder",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a captured line: raw text, or the request it belongs to."""
        return wants(head, "kind", "request_id", "t_ns", "url_path|raw|content_type")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request, attempt and choice; the clock's wall offset goes to `intake`."""
        for source in sources:
            yield from record_batches(Capture(source, intake).streams(), intake.trace)
