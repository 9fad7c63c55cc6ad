"""From the columns of AIPerf's raw records to one request after the other, and to its streams."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.rows import Stream
from tokengap.adapters.shared.aiperf_metadata import Failure, Metadata, outcome
from tokengap.adapters.shared.json_columns import column, is_text, there, values
from tokengap.adapters.shared.list_cells import in_rows, lists
from tokengap.adapters.shared.openai import asked_model, asked_tokens
from tokengap.adapters.shared.outcomes import status_of_http
from tokengap.adapters.shared.transcript import Transcript

HTTP_ERROR: Final = 400

_FIELDS: Final = ("metadata", "error", "payload", "start_perf_ns", "status")


class Request(msgspec.Struct):
    """One request. data: of each event, None where it has none. streamed: not one whole body."""

    metadata: Metadata
    error: Failure | None
    payload: dict[str, object] | None
    start_ns: int
    http_status: int | None
    times_ns: Sequence[int]
    data: Sequence[str | None]
    streamed: bool

    def streams(self, name: str, clock: str, source: str) -> Iterator[Stream]:
        """Yield one stream per choice; LineError if an event cannot be read."""
        status, error_kind = self._outcome()
        request = Stream(
            request_id=self.metadata.x_request_id or name,
            source=source,
            status=status or "truncated",
            error_kind=error_kind,
            clock=clock,
            clock_kind="monotonic",
            streamed=self.streamed,
            ids=self.metadata.ids,
            labels=self.metadata.labels | self._credit(),
            model=asked_model(self.payload),
            requested_output_tokens=asked_tokens(self.payload),
            sent_ns=self.start_ns,
        )
        if status == "cancelled" and not self.times_ns:
            # The tool throws away what a cancelled request had received: not known is not none.
            request.quality.append("events_lost")
            yield request
            return
        transcript = Transcript()
        transcript.add_all(self.times_ns, self.data)
        last_ns = self.times_ns[-1] if self.times_ns else None
        request.stream_close_ns = last_ns if transcript.done_ns is None else transcript.done_ns
        yield from transcript.streams(request)

    def _outcome(self) -> tuple[str | None, str | None]:
        found = outcome(was_cancelled=self.metadata.was_cancelled, error=self.error)
        code = self.http_status
        if found[0] is None and code is not None and code >= HTTP_ERROR:
            return status_of_http(code), f"http_{code}"
        return found

    def _credit(self) -> dict[str, str]:
        credit_ns = self.metadata.credit_issued_ns
        return {} if credit_ns is None else {"credit_issued_wall_ns": str(credit_ns)}


def requests(rows: pa.RecordBatch) -> Iterator[Request]:
    """Yield each row's request."""
    responses, offsets, _ = lists(column(rows, "responses"))
    times_ns = values(responses.field("perf_ns")).tolist()
    data = _data(responses)
    streamed = ~in_rows(there(responses.field("text")), offsets)
    columns = (column(rows, name).to_pylist() for name in _FIELDS)
    spans = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    for metadata, error, payload, start_ns, status, is_streamed, (begin, end) in zip(
        *columns, streamed.tolist(), spans, strict=True
    ):
        yield Request(
            metadata=Metadata(**metadata),
            error=None if error is None else Failure(**error),
            payload=payload,
            start_ns=start_ns,
            http_status=status,
            times_ns=times_ns[begin:end],
            data=data[begin:end],
            streamed=is_streamed,
        )


def _data(responses: pa.Array) -> list[str | None]:
    """What each event carries: its `data` packets joined as SSE joins lines, or a whole body."""
    packets, offsets, _ = lists(responses.field("packets"))
    texts = packets.field("value")
    carries = is_text(packets.field("name"), "data") & there(texts)
    parts: list[str] = texts.filter(pa.array(carries)).to_pylist()
    counts = _per_event(carries, offsets)
    data: list[str | None] = [*parts]
    if (counts != 1).any():
        left = iter(parts)
        data = ["\n".join(islice(left, n)) if n else None for n in counts.tolist()]
    bodies = responses.field("text")
    for event in np.flatnonzero(there(bodies)).tolist():
        data[event] = bodies[event].as_py()
    return data


def _per_event(carries: Bools, offsets: Ints) -> Ints:
    running = np.concatenate(([0], np.cumsum(carries)))
    counts: Ints = running[offsets[1:]] - running[offsets[:-1]]
    return counts
