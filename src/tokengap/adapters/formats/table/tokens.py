"""A table with one row per token, in any order: put aside, and read back request by request.

What else is said of a request is taken from the first good row of it.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.formats.table.facts import facts
from tokengap.adapters.formats.table.files import Piece, Rows
from tokengap.adapters.formats.table.marks import END_KINDS, MARKS, Marks
from tokengap.adapters.formats.table.parse import Plan
from tokengap.adapters.formats.table.settle import ORDER, TOKENS, Requests, Settler, Tokens
from tokengap.adapters.formats.table.token_rows import (
    NO_EVENT,
    NOT_SAID,
    TOKEN,
    TokenRows,
    read_tokens,
)
from tokengap.adapters.formats.table.values import Values
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.nested import Constants
from tokengap.adapters.shared.spill import GROUP, Spill
from tokengap.adapters.shared.threads import read_in_order
from tokengap.adapters.source import Source

BATCH_TOKENS: Final = 1 << 19
REQUEST_TOKENS: Final = 32
"""What a request takes in memory, in tokens."""


def token_batches(
    plan: Plan, pieces: Iterator[Piece], source: Source, intake: Intake
) -> Iterator[pa.RecordBatch]:
    """Requests in the order in which they first appear; bad rows go to `intake`."""

    def read(piece: Piece, intake: Intake) -> Iterator[TokenRows]:
        return read_tokens(plan, piece, source, intake)

    with Spill({"tokens": TOKENS, "marks": MARKS}) as spill:
        gathered = _Gathered(plan, source, intake, spill)
        for some in read_in_order(read, pieces, intake):
            gathered.add(some)
        yield from gathered.batches()


class _Gathered:
    """All rows of a file, by request."""

    def __init__(self, plan: Plan, source: Source, intake: Intake, spill: Spill) -> None:
        self._plan = plan
        self._source = source
        self._intake = intake
        self._spill = spill
        self._numbers: dict[str, int] = {}
        self._requests: list[Requests] = []
        self._ends_logged = False
        self._constants = Constants()

    def add(self, some: TokenRows) -> None:
        """Put rows aside; those that cannot stand for their request go to `intake`."""
        good = some.good.copy()
        while len(firsts := self._firsts(some, good)):
            good[firsts[~self._begin(some, firsts)]] = False
        numbers = [self._numbers.get(name, NOT_SAID) for name in some.requests]
        columns = some.columns | {GROUP: np.array(numbers, np.int64)[some.request]}
        kind = some.columns["kind"]
        self._put("tokens", TOKENS, columns, good & (kind == TOKEN))
        self._put("marks", MARKS, columns, good & (kind != TOKEN) & (kind != NO_EVENT))
        self._ends_logged = self._ends_logged or bool(np.isin(kind[good], END_KINDS).any())

    def _put(self, table: str, schema: pa.Schema, columns: dict[str, Ints], which: Bools) -> None:
        arrays = [pa.array(columns[f.name][which], f.type) for f in schema]
        self._spill.add(table, pa.RecordBatch.from_arrays(arrays, schema=schema))

    def _firsts(self, some: TokenRows, good: Bools) -> Ints:
        """The first good row of each request that has none yet, in order."""
        first = np.full(len(some.requests), NOT_SAID)
        at = np.flatnonzero(good)[::-1]
        first[some.request[at]] = at
        fresh = [name not in self._numbers for name in some.requests]
        return np.sort(first[np.array(fresh, bool) & (first != NOT_SAID)])

    def _begin(self, some: TokenRows, firsts: Ints) -> Bools:
        """Take what the rows say of their requests; tell which of them can be used."""
        rows = Rows(
            {name: column.take(pa.array(firsts)) for name, column in some.rows.columns.items()},
            some.rows.numbers[firsts],
            lambda row: some.rows.place(int(firsts[row])),
        )
        values = Values(self._plan, rows, self._source)
        source_id = self._intake.source_id(self._source)
        found = facts(values, rows.numbers, self._intake.trace, source_id, self._constants)
        totals = values.totals()
        values.sieve.report(self._source, rows.place, self._intake)
        good = values.sieve.good
        table = pa.table(found).filter(pa.array(good))
        self._requests.append(Requests(table, totals[good], values.dropped[good]))
        for request in some.request[firsts[good]].tolist():
            self._numbers[some.requests[request]] = len(self._numbers)
        return good

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The streams; rows that contradict others go to `intake`."""
        if not self._numbers:
            return
        mapping = self._plan.map
        settler = Settler(mapping, self._source, self._intake, self._ends_logged)
        requests = Requests.joined(self._requests)
        ends = self._batch_ends()
        tokens = self._spill.read("tokens", ORDER, ends)
        marks = self._spill.read("marks", ("line",), ends)
        for first, end, *tables in zip([0, *ends[:-1]], ends, tokens, marks, strict=True):
            yield settler.batch(
                requests.of(first, end), Tokens.of(tables[0], first), Marks.of(tables[1], first)
            )

    def _batch_ends(self) -> list[int]:
        """Requests before which a batch ends, so that each holds about `BATCH_TOKENS`."""
        count = len(self._numbers)
        weights = self._spill.sizes("tokens", count) + REQUEST_TOKENS
        batch = np.cumsum(weights) // BATCH_TOKENS
        return [*(np.flatnonzero(np.diff(batch)) + 1).tolist(), count]
