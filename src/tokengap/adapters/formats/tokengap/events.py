"""Events of a block as flat columns, from rows read in bulk or from lines read singly."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.formats.tokengap.line import (
    CHOICES,
    FACTS,
    FREE_TEXT,
    KINDS,
    NESTED,
    PLACE,
    TOKEN_KINDS,
    Record,
)
from tokengap.adapters.shared.lines import COUNT_LIMIT
from tokengap.schema import TIME_LIMIT_NS, VANTAGES

COLUMNS: Final = pa.schema({
    "request_id": pa.string(), "attempt": pa.int32(), "choice": pa.int32(), "index": pa.int64(),
    "t_ns": pa.int64(), "kind": pa.string(), "n_tokens": pa.int32(), "vantage": pa.string(),
    "clock": pa.string(),
})  # fmt: skip
"""What bulk rows hold of every line."""
FURTHER: Final = pa.schema({
    name: pa.string() if name in FREE_TEXT or name in CHOICES
    else pa.bool_() if name == "streamed" else pa.int64()
    for name in sorted(FACTS - NESTED)
})  # fmt: skip
"""Facts that a row may hold too."""

IN_STREAM: Final = len(KINDS)
"""Kind of a token event that came in a line for a whole stream."""
NOT_SAID: Final = -1
"""Index or vantage of a line that names none, and choice of one that speaks of all."""

_TOKEN_KINDS: Final = len(TOKEN_KINDS)


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Events, one per element; `owner` and `clock` are positions in `owners` and `clocks`.

    owners: requests and attempts, each first found on its line of `first_lines`. kind and vantage:
    positions in `KINDS` (or `IN_STREAM`) and `VANTAGES`. tokens: 0 where the line gives no number.
    line: its number in the file.
    """

    owners: Sequence[tuple[str, int]]
    first_lines: Sequence[int]
    clocks: Sequence[str | None]
    owner: Ints
    clock: Ints
    vantage: npt.NDArray[np.int8]
    choice: npt.NDArray[np.int32]
    index: Ints
    t_ns: Ints
    tokens: npt.NDArray[np.int32]
    kind: Ints
    line: Ints


class Sorted(NamedTuple):
    """Which rows are token events and which other ones, with nothing more to be said of them.

    A token event may also have the facts of an earlier one of its stream, its `leader`: if that
    one turns out bad, so may this. Any other row is its own leader.
    """

    tokens: Bools
    others: Bools
    leader: Ints


def sort_out(rows: pa.RecordBatch) -> Sorted:
    """Tell the plain rows from those that need a closer look."""
    kind = _kinds(rows)
    tokens = (kind >= 0) & (kind < _TOKEN_KINDS)
    usual = (kind >= 0) & _usual(rows, tokens)
    itself = np.arange(rows.num_rows)
    facts = [rows.column(name) for name in rows.schema.names[len(COLUMNS) :] if name in FACTS]
    states = np.zeros(rows.num_rows, bool)
    for column in facts:
        states |= _numpy(pc.is_valid(column))
    plain, leader = usual & ~states, itself
    if (usual & states & tokens).any():
        kin = [pa.array(usual & tokens), pc.is_valid(rows.column("index"))]
        kin += [rows.column(name) for name in PLACE]
        codes, first = _codes([*kin, *facts])
        leader = np.where(states, first[codes], itself)
        plain |= usual & tokens & (leader < itself)
    return Sorted(plain & tokens, plain & ~tokens, leader)


def _usual(rows: pa.RecordBatch, tokens: Bools) -> Bools:
    """Rows with every value as it should be, their kind aside."""
    usual = _numpy(pc.fill_null(pc.binary_length(rows.column("request_id")), 0)) > 0
    usual &= _numpy(pc.is_valid(rows.column("t_ns")))
    usual &= (_numpy(pc.fill_null(rows.column("n_tokens"), 1)) > 0) | ~tokens
    usual &= (_numpy(pc.fill_null(rows.column("n_tokens"), 0)) == 0) | tokens
    vantage = rows.column("vantage")
    if vantage.null_count < len(vantage):
        usual &= _numpy(pc.or_(pc.is_null(vantage), pc.is_in(vantage, pa.array(VANTAGES))))
    for name, least, most in (
        ("attempt", 0, COUNT_LIMIT), ("choice", 0, COUNT_LIMIT),
        ("index", 0, TIME_LIMIT_NS), ("t_ns", -TIME_LIMIT_NS, TIME_LIMIT_NS),
    ):  # fmt: skip
        value = _numpy(pc.fill_null(rows.column(name), least))
        usual &= (value >= least) & (value <= most)
    return usual


def from_rows(rows: pa.RecordBatch, lines: Ints, *, no_choice: int) -> EventColumns:
    """Plain rows, whose line numbers are given; `no_choice` stands where they name none."""
    attempt = pc.fill_null(rows.column("attempt"), 0)
    owner, firsts = _codes([rows.column("request_id"), attempt])
    first = pa.array(firsts)
    clock = rows.column("clock").dictionary_encode("encode")
    vantage = pc.index_in(rows.column("vantage"), pa.array(VANTAGES))
    return EventColumns(
        owners=list(zip(
            rows.column("request_id").take(first).to_pylist(), attempt.take(first).to_pylist(),
            strict=True,
        )),
        first_lines=lines[firsts].tolist(),
        clocks=clock.dictionary.to_pylist(),
        owner=owner,
        clock=_numpy(clock.indices),
        vantage=_numpy(pc.fill_null(vantage, NOT_SAID)),
        choice=_numpy(pc.fill_null(rows.column("choice"), no_choice)),
        index=_numpy(pc.fill_null(rows.column("index"), NOT_SAID)),
        t_ns=_numpy(rows.column("t_ns")),
        tokens=_numpy(pc.fill_null(rows.column("n_tokens"), 0)),
        kind=_kinds(rows),
        line=lines,
    )  # fmt: skip


def from_records(numbered: Sequence[tuple[int, Record]], *, no_choice: int) -> EventColumns:
    """Lines with their numbers: events, and whole streams with the times in them."""
    records = [record for _, record in numbered]
    lines = [line for line, _ in numbered]
    times = [r.times_ns or () if r.is_stream else (r.t_ns,) for r in records]
    sizes = [len(t) for t in times]
    counts = [
        (r.token_counts or (0,) * size) if r.is_stream else (r.n_tokens or 0,)
        for r, size in zip(records, sizes, strict=True)
    ]
    index = [
        range(size) if r.is_stream else (NOT_SAID if r.index is None else r.index,)
        for r, size in zip(records, sizes, strict=True)
    ]
    kind = [IN_STREAM if r.is_stream else KINDS.index(r.kind or "token") for r in records]
    vantage = [NOT_SAID if r.vantage is None else VANTAGES.index(r.vantage) for r in records]
    choice = [no_choice if r.choice is None else r.choice for r in records]
    own = np.repeat(np.arange(len(records)), sizes)
    return EventColumns(
        owners=[r.owner for r in records],
        first_lines=lines,
        clocks=[r.clock for r in records],
        owner=own,
        clock=own,
        vantage=np.array(vantage, np.int8)[own],
        choice=np.array(choice, np.int32)[own],
        index=np.fromiter(chain.from_iterable(index), np.int64),
        t_ns=np.fromiter(chain.from_iterable(times), np.int64),
        tokens=np.fromiter(chain.from_iterable(counts), np.int32),
        kind=np.array(kind, np.int64)[own],
        line=np.array(lines, np.int64)[own],
    )


def _kinds(rows: pa.RecordBatch) -> Ints:
    """Position of each row's kind in `KINDS`, -1 for another."""
    kind = pc.fill_null(rows.column("kind"), "token")
    return _numpy(pc.fill_null(pc.index_in(kind, pa.array(KINDS)), -1))


def _codes(columns: Sequence[pa.Array]) -> tuple[Ints, Ints]:
    """A dense number for each distinct row, and the position where each is first seen."""
    dense = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        encoded = column.dictionary_encode("encode")
        distinct = len(encoded.dictionary)
        if distinct > 1:
            both = pa.array(dense * distinct + _numpy(encoded.indices)).dictionary_encode()
            dense = _numpy(both.indices).astype(np.int64)
    first = np.zeros(int(dense.max(initial=-1)) + 1, np.int64)
    first[dense[::-1]] = np.arange(len(dense))[::-1]
    return dense, first


def _numpy(array: pa.Array) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values
