"""A table with one row per request: times of its tokens in lists, or of the first and last."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Events, Ints, count_source_code
from tokengap.adapters.formats.table.facts import facts
from tokengap.adapters.formats.table.files import Piece, Rows
from tokengap.adapters.formats.table.parse import Plan
from tokengap.adapters.formats.table.token_lists import Deliveries, deliveries
from tokengap.adapters.formats.table.values import Values
from tokengap.adapters.interface import Intake
from tokengap.adapters.rows import assemble
from tokengap.adapters.shared.nested import Constants
from tokengap.adapters.shared.threads import read_in_order
from tokengap.adapters.source import Source


def request_batches(
    plan: Plan, pieces: Iterator[Piece], source: Source, intake: Intake
) -> Iterator[pa.RecordBatch]:
    """One row of `streams` per row of the table; bad ones go to `intake`."""
    constants = Constants()

    def read(piece: Piece, intake: Intake) -> Iterator[pa.RecordBatch]:
        for rows in piece(intake):
            yield from _batch(plan, rows, source, intake, constants)

    return read_in_order(read, pieces, intake)


def _batch(
    plan: Plan, rows: Rows, source: Source, intake: Intake, constants: Constants
) -> Iterator[pa.RecordBatch]:
    values = Values(plan, rows, source)
    found = facts(values, rows.numbers, intake.trace, intake.source_id(source), constants)
    tokens, totals = deliveries(values), values.totals()
    values.sieve.report(source, rows.place, intake)
    good = values.sieve.good
    if good.all():
        yield assemble(found, _events(tokens, totals, plan), values.notes())
    elif good.any():
        kept = {name: column.filter(pa.array(good)) for name, column in found.items()}
        notes = {note: where[good] for note, where in values.notes().items()}
        yield assemble(kept, _events(tokens.of(good), totals[good], plan), notes)


def _events(tokens: Deliveries, totals: Ints, plan: Plan) -> Events:
    rows = len(totals)
    source = count_source_code(plan.map.total_source)
    return Events(
        offsets=tokens.offsets,
        times_ns=tokens.times_ns,
        counts=tokens.counts,
        counts_source=np.full(rows, count_source_code("events")),
        totals=totals,
        totals_source=np.where(totals < 0, -1, source),
        observed=tokens.observed,
        streamed=np.ones(rows, bool),
    )
