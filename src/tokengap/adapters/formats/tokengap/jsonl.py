"""tokengap's own log: JSON lines that any proxy can write, read in bulk and strictly.

Two kinds of line, in any mix and any order, also over several files:

- an event, with `request_id` and `t_ns`: a token, or something else that happened;
- a whole stream, with `request_id` and `times_ns`.

`line.Record` has every field. A line that breaks the format, or contradicts an earlier
one, is quarantined alone. Lines belong together by request, attempt, choice and vantage:

- A line that carries no token and names no choice speaks of all choices of its attempt; one that
  names no vantage belongs to the only vantage its attempt is logged at, and is quarantined where
  there are several.
- The clock of an attempt at a vantage is the first one its events name, else that of the file.
  Lines on another one are quarantined; lines of several files that name none are taken to share
  one, noted `clock_assumed`.
- Events are ordered by index, or where a stream has none by their order in the file, noted
  `order_assumed`. Where only some have one, the others are quarantined.
- Of lines that stand for one whole stream the first counts, and single events of that stream are
  quarantined.
- A total without a choice, where there are several, is that of none: noted `total_of_all_choices`.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.formats.tokengap.block import Found, read_block
from tokengap.adapters.formats.tokengap.bulk import BulkReader
from tokengap.adapters.formats.tokengap.events import COLUMNS, FURTHER, EventColumns
from tokengap.adapters.formats.tokengap.facts import END_KINDS, says_how_it_ended
from tokengap.adapters.formats.tokengap.late import LateRejects
from tokengap.adapters.formats.tokengap.order import ORDER
from tokengap.adapters.formats.tokengap.streams import Call, streams_batch
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.spill import GROUP, Spill
from tokengap.adapters.shared.threads import in_order
from tokengap.adapters.source import Source

BATCH_EVENTS: Final = 1 << 19
LINE_EVENTS: Final = 32
"""What an attempt, or a line that is no mere token event, takes in memory, in token events."""

_FOREIGN: Final = frozenset({"raw", "url_path", "read", "seq", "t_unix_ns", "metadata"})
_TOKENS: Final = pa.schema({
    GROUP: pa.int32(), "vantage": pa.int8(), "choice": pa.int32(), "index": pa.int64(),
    "line": pa.int64(), "t_ns": pa.int64(), "tokens": pa.int32(), "kind": pa.int8(),
    "clock": pa.int32(),
})  # fmt: skip
_MARKS: Final = pa.schema({
    GROUP: pa.int32(), "vantage": pa.int8(), "choice": pa.int32(), "line": pa.int64(),
    "t_ns": pa.int64(), "kind": pa.int8(), "clock": pa.int32(),
})  # fmt: skip
_FACTS: Final = pa.schema({
    GROUP: pa.int32(), "line": pa.int64(), "digest": pa.binary(), "record": pa.binary(),
})  # fmt: skip


class TokengapJsonl:
    """Reads tokengap's own log."""

    name = "tokengap"
    version = 1
    about = About(
        reads="tokengap's own JSONL: one line per event or per stream",
        vantage="any",
        granularity="any",
        clock="ns, named",
        ttft="yes",
        worst_gap="yes",
        handoff="all",
        checked="this version",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = True

    def sniff(self, head: Head) -> Sniff:
        """A request's id beside times in nanoseconds, and no sign of a capture of raw payloads."""
        wanted = wants(head, "request_id", "t_ns|times_ns|granularity")
        foreign = sorted(_FOREIGN.intersection(head.keys))
        return Sniff(
            wanted.wanted, (*wanted.missing, *(f"lines without {name}" for name in foreign))
        )

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """Streams of all files together, by the order in which their requests first appear."""
        with Spill({"tokens": _TOKENS, "marks": _MARKS, "facts": _FACTS}) as spill:
            gathered = _Gathered(spill, LateRejects(sources))
            for source in sources:
                gathered.add_source(source, intake)
            yield from gathered.batches(intake)


class _Gathered:
    """All lines of a call, put aside until each stream's are known to be complete."""

    def __init__(self, spill: Spill, late: LateRejects) -> None:
        self._spill = spill
        self._late = late
        self._reader = BulkReader(COLUMNS, FURTHER)
        self._attempts: dict[tuple[str, int], int] = {}
        self._clocks: dict[str | None, int] = {None: 0}
        self._ends_logged = False

    def add_source(self, source: Source, intake: Intake) -> None:
        """Read a file; its bad lines go to `intake`."""
        base, end = self._late.bases[-1], 0
        for found in in_order(partial(read_block, self._reader), source.blocks()):
            for line, error in found.rejects:
                intake.reject(source, line, error.reason, error.field, error.value)
            self._number(found)
            for tokens in found.tokens:
                self._spill.add("tokens", self._event_rows(tokens, base, _TOKENS))
            for marks in found.marks:
                self._spill.add("marks", self._event_rows(marks, base, _MARKS))
                self._ends_logged = self._ends_logged or bool(np.isin(marks.kind, END_KINDS).any())
            if found.facts:
                self._spill.add("facts", self._fact_rows(found, base))
            end = found.end_line
        self._late.end_source(end)

    def _number(self, found: Found) -> None:
        """Number the block's attempts by first line, whichever way its lines were read."""
        firsts = [(line, record.owner) for line, record, _ in found.facts]
        for events in (*found.tokens, *found.marks):
            firsts += zip(events.first_lines, events.owners, strict=True)
        for _, owner in sorted(firsts):
            self._attempts.setdefault(owner, len(self._attempts))

    def _clock(self, name: str | None) -> int:
        return self._clocks.setdefault(name, len(self._clocks))

    def _event_rows(self, events: EventColumns, base: int, schema: pa.Schema) -> pa.RecordBatch:
        owners = np.array([self._attempts[owner] for owner in events.owners], np.int32)
        clocks = np.array([self._clock(name) for name in events.clocks], np.int32)
        columns = {
            GROUP: owners[events.owner],
            "clock": clocks[events.clock],
            "line": events.line + base,
        }
        return pa.RecordBatch.from_arrays(
            [
                pa.array(columns[f.name] if f.name in columns else getattr(events, f.name), f.type)
                for f in schema
            ],
            schema=schema,
        )

    def _fact_rows(self, found: Found, base: int) -> pa.RecordBatch:
        rows = []
        for line, record, digest in found.facts:
            self._clock(record.clock)
            self._ends_logged = self._ends_logged or says_how_it_ended(record)
            data = msgspec.msgpack.encode(record)
            rows.append((self._attempts[record.owner], line + base, digest, data))
        return pa.RecordBatch.from_arrays(
            [
                pa.array(column, f.type)
                for column, f in zip(zip(*rows, strict=True), _FACTS, strict=True)
            ],
            schema=_FACTS,
        )

    def batches(self, intake: Intake) -> Iterator[pa.RecordBatch]:
        """The streams; what their lines contradict each other in goes to `intake` at the end."""
        call = Call(
            trace=intake.trace,
            source_ids=[intake.source_id(source) for source in self._late.sources],
            attempts=list(self._attempts),
            clocks=self._clocks,
            ends_logged=self._ends_logged,
            late=self._late,
        )
        ends = self._batch_ends()
        tables = zip(
            self._spill.read("tokens", ORDER, ends),
            self._spill.read("marks", ("line",), ends),
            self._spill.read("facts", ("line",), ends),
            strict=True,
        )
        for batch in in_order(partial(streams_batch, call), tables, workers=1):
            if batch.num_rows:
                yield batch
        self._late.report(intake)

    def _batch_ends(self) -> list[int]:
        """Attempts before which a batch ends, so that each holds about `BATCH_EVENTS`."""
        attempts = len(self._attempts)
        tokens, marks, facts = (
            self._spill.sizes(table, attempts) for table in ("tokens", "marks", "facts")
        )
        weights = tokens + LINE_EVENTS * (1 + marks + facts)
        batch = np.cumsum(weights) // BATCH_EVENTS
        return [*(np.flatnonzero(np.diff(batch)) + 1).tolist(), attempts] if attempts else []
