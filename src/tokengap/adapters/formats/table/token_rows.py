"""Rows of a table that are one token or other event each: what each of them says."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.formats.table.files import Piece, Rows
from tokengap.adapters.formats.table.mapping import IGNORED, KINDS
from tokengap.adapters.formats.table.parse import Plan
from tokengap.adapters.formats.table.values import Values
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.cells import Cells
from tokengap.adapters.shared.lines import COUNT_LIMIT
from tokengap.adapters.source import Source
from tokengap.schema import TIME_LIMIT_NS

NOT_SAID: Final = -1
TOKEN: Final = KINDS.index("token")
NO_EVENT: Final = len(KINDS)
"""Stands for kinds that are ignored."""

_WORDS: Final = (*KINDS, IGNORED)


@dataclass(frozen=True)
class TokenRows:
    """Some rows. columns: t_ns, index, tokens, kind and line of each, as they are put aside.

    request: of each row a position in `requests`, texts that tell them apart. good: rows that can
    be used.
    """

    rows: Rows
    columns: dict[str, Ints]
    requests: list[str]
    request: Ints
    good: Bools


def read_tokens(plan: Plan, piece: Piece, source: Source, intake: Intake) -> Iterator[TokenRows]:
    """The rows of a piece; bad ones go to `intake`."""
    for rows in piece(intake):
        values = Values(plan, rows, source)
        columns = _events(values) | {"line": rows.numbers}
        keys = _keys(values).dictionary_encode()
        values.sieve.report(source, rows.place, intake)
        request = keys.indices.to_numpy(zero_copy_only=False)
        yield TokenRows(rows, columns, keys.dictionary.to_pylist(), request, values.sieve.good)


def _events(values: Values) -> dict[str, Ints]:
    """Time, index, tokens and kind of every row; refuses rows that hold what cannot be."""
    columns, sieve = values.map.columns, values.sieve
    kind = _kinds(values)
    time = values.stamp("time")
    index = _optional(values, "index", TIME_LIMIT_NS)
    tokens = _optional(values, "tokens", COUNT_LIMIT)
    if time is not None and columns.time is not None:
        sieve.refuse(~time.there & (kind != NO_EVENT), "missing", columns.time.column or "time")
    if columns.tokens is not None:
        none = tokens.there & (tokens.values == 0) & (kind == TOKEN)
        sieve.refuse(none, "at least one token expected", columns.tokens.column or "tokens")
    return {
        "t_ns": np.zeros(0, np.int64) if time is None else time.values,
        "index": np.where(index.there, index.values, NOT_SAID),
        "tokens": tokens.values,
        "kind": kind,
    }


def _optional(values: Values, name: str, limit: int) -> Cells:
    cell = getattr(values.map.columns, name)
    if cell is not None:
        return values.count(name, cell, limit)
    none = np.zeros(values.size, bool)
    return Cells(np.zeros(values.size, np.int64), none, none)


def _kinds(values: Values) -> Ints:
    """Position of each row's kind in `KINDS`; without a column of kinds every row is a token."""
    cell = values.map.columns.event
    if cell is None:
        return np.full(values.size, TOKEN)
    kinds = pc.index_in(values.text(("columns", "event"), cell), pa.array(_WORDS))
    unknown = pc.is_null(kinds).to_numpy(zero_copy_only=False)
    reason = "no kind of event; say in `values` or `other` what it means"
    values.sieve.refuse(unknown, reason, cell.column or "event", values.column(cell))
    return np.asarray(pc.fill_null(kinds, NO_EVENT)).astype(np.int64)


def _keys(values: Values) -> pa.Array:
    """What tells the requests apart; refuses rows without an id."""
    columns = values.map.columns
    named = {"request_id": columns.request_id, "trace": columns.trace}
    parts = [values.text(("columns", n), cell) for n, cell in named.items() if cell is not None]
    if columns.request_id is not None:
        missing = pc.is_null(parts[0]).to_numpy(zero_copy_only=False)
        values.sieve.refuse(missing, "missing", columns.request_id.column or "request_id")
    for name in ("attempt", "choice"):
        cells = _optional(values, name, COUNT_LIMIT)
        parts.append(pc.cast(pa.array(cells.values), pa.string()))
    filled = (pc.fill_null(part, "") for part in parts)
    return pc.binary_join_element_wise(*filled, "\0")
