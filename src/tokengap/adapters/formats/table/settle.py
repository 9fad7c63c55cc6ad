"""Streams from sorted rows of tokens and other events, and from what is said of each request."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools, Events, Ints, count_source_code
from tokengap.adapters.formats.table.mapping import Map
from tokengap.adapters.formats.table.marks import Marks
from tokengap.adapters.formats.table.token_rows import NOT_SAID
from tokengap.adapters.formats.table.values import SENTINEL_NOTE
from tokengap.adapters.interface import Intake
from tokengap.adapters.rows import assemble
from tokengap.adapters.shared.spill import GROUP
from tokengap.adapters.source import Source

ORDER: Final = ("index", "line")

TOKENS: Final = pa.schema({
    GROUP: pa.int32(), "index": pa.int64(), "line": pa.int64(), "t_ns": pa.int64(),
    "tokens": pa.int32(),
})  # fmt: skip
"""Rows of tokens as they are put aside, a group per request."""


@dataclass(frozen=True)
class Requests:
    """What is said of some requests, as columns of `streams`.

    totals: tokens in all, -1 where not given. dropped: where a sentinel stood for no value.
    """

    facts: pa.Table
    totals: Ints
    dropped: Bools

    @classmethod
    def joined(cls, parts: Sequence["Requests"]) -> "Requests":
        """All requests of the parts."""
        return cls(
            pa.concat_tables([part.facts for part in parts]),
            np.concatenate([part.totals for part in parts]),
            np.concatenate([part.dropped for part in parts]),
        )

    def of(self, first: int, end: int) -> "Requests":
        """Those from `first` to before `end`."""
        at = slice(first, end)
        return Requests(self.facts.slice(first, end - first), self.totals[at], self.dropped[at])


@dataclass(frozen=True, slots=True)
class Tokens:
    """Rows of tokens sorted by request and `ORDER`; tokens: 0 where a row gives no number."""

    request: Ints
    index: Ints
    line: Ints
    t_ns: Ints
    tokens: Ints

    @classmethod
    def of(cls, table: pa.Table, first: int) -> "Tokens":
        """Those of a sorted table; requests are numbered from `first` on."""
        columns = (table.column(f.name).to_numpy().astype(np.int64) for f in TOKENS)
        request, *others = columns
        return cls(request - first, *others)

    def where(self, keep: Bools) -> "Tokens":
        """The marked rows."""
        return Tokens(*(getattr(self, f.name)[keep] for f in fields(self)))


@dataclass(frozen=True)
class Settler:
    """Makes streams of rows; those that contradict others go to `intake`.

    ends_logged: whether the file says of any request how it ended.
    """

    mapping: Map
    source: Source
    intake: Intake
    ends_logged: bool

    def batch(self, requests: Requests, tokens: Tokens, marks: Marks) -> pa.RecordBatch:
        """The streams of some requests, from all that is known of them."""
        count = len(requests.totals)
        settled, repeated = self._once(tokens, count)
        sizes = np.bincount(settled.request, minlength=count)
        unindexed = np.zeros(count, bool)
        unindexed[settled.request[settled.index == NOT_SAID]] = True
        found = {
            name: requests.facts.column(name).combine_chunks()
            for name in requests.facts.column_names
        }
        found |= marks.columns(found, count)
        notes = {
            "duplicate_dropped": repeated,
            "order_assumed": unindexed & (sizes > 1),
            SENTINEL_NOTE: requests.dropped,
        }
        if self.mapping.columns.status is None:
            found["status"] = marks.statuses(count, ends_logged=self.ends_logged)
            notes["end_not_seen"] = np.full(count, not self.ends_logged)
        return assemble(found, self._events(requests, settled, sizes), notes)

    def _events(self, requests: Requests, tokens: Tokens, sizes: Ints) -> Events:
        source = count_source_code(self.mapping.total_source)
        count = len(sizes)
        return Events(
            offsets=np.concatenate(([0], np.cumsum(sizes))),
            times_ns=tokens.t_ns,
            counts=tokens.tokens,
            counts_source=np.full(count, count_source_code("events")),
            totals=requests.totals,
            totals_source=np.where(requests.totals < 0, -1, source),
            observed=np.ones(count, bool),
            streamed=np.ones(count, bool),
        )

    def _once(self, rows: Tokens, count: int) -> tuple[Tokens, Bools]:
        """Each index once, the first in the file; and which requests had one again."""
        said = rows.index != NOT_SAID
        indexed = np.zeros(count, bool)
        indexed[rows.request[said]] = True
        lacking = ~said & indexed[rows.request]
        again = np.zeros(len(said), bool)
        again[1:] = said[1:] & (np.diff(rows.request) == 0) & (np.diff(rows.index) == 0)
        first = np.maximum.accumulate(np.where(again, 0, np.arange(len(again))))
        differs = again & ((rows.t_ns != rows.t_ns[first]) | (rows.tokens != rows.tokens[first]))
        name = self._index_column()
        for row in np.flatnonzero(lacking).tolist():
            reason = f"{name}: missing, and other rows of the request have one"
            self.intake.reject(self.source, int(rows.line[row]), reason, name)
        for row in np.flatnonzero(differs).tolist():
            reason = f"{name}: row {rows.line[first[row]]} has it too, and another time or number"
            self.intake.reject(self.source, int(rows.line[row]), reason, name, rows.index[row])
        repeated = np.zeros(count, bool)
        repeated[rows.request[again & ~differs]] = True
        return rows.where(~lacking & ~again), repeated

    def _index_column(self) -> str:
        cell = self.mapping.columns.index
        return "index" if cell is None else cell.column or "index"
