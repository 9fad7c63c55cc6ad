"""Rows of data sets that hold arrivals and lengths only: input for a replay, nothing to judge.

Such a data set says when requests reached a service and how long they were. No row has a token
time, and none is made up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.cells import ISO, Cells, counts, times
from tokengap.adapters.shared.csv_rows import Csv, Rows
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.nested import (
    Constants,
    Reported,
    note_lists,
    prefixed,
    reported_lists,
    text_maps,
)
from tokengap.adapters.shared.records import Records
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.threads import read_in_order
from tokengap.adapters.source import Block, Line, Source
from tokengap.schema import STREAMS

_ALIKE: Final = {
    "attempt": 0,
    "choice": 0,
    "vantage": "engine",
    "granularity": "workload",
    "status": "completed",
    "ids": [],
    "labels": [],
    "marks": [],
    "quality": [],
}

Record = TypeVar("Record")


@dataclass(frozen=True)
class Requests:
    """Some requests of a data set, of each one value per field."""

    NUMBERS: ClassVar = ("arrival_ns", "prompt_tokens", "output_tokens")

    arrival_ns: Cells
    prompt_tokens: Cells
    output_tokens: Cells
    texts: Mapping[str, pa.Array] = field(default_factory=dict)
    """Columns of `streams` under their names."""
    labels: Mapping[str, pa.Array] = field(default_factory=dict)
    reported: Sequence[Reported] = ()
    notes: Mapping[str, Bools] = field(default_factory=dict)
    """Quality notes, and the rows each is true of."""


class DataSet:
    """What holds for all requests of a file, which is on a clock of its own.

    counts: where its output lengths come from.
    """

    def __init__(
        self, source: Source, intake: Intake, *, clock_kind: str, counts: str = "usage"
    ) -> None:
        self.source = source
        self._source_id = intake.source_id(source)
        self._same: dict[str, Any] = {
            "trace": intake.trace,
            "clock": self._source_id,
            "clock_kind": clock_kind,
            "token_count_source": counts,
            **_ALIKE,
        }
        self._constants = Constants()

    def batch(self, requests: Requests, names: pa.Array, places: pa.Array) -> pa.RecordBatch:
        """Rows of `streams`. names: request ids; places: lines or indices, as text."""
        rows = len(names)
        columns = {name: _column(name, getattr(requests, name)) for name in requests.NUMBERS}
        columns |= {"request_id": names, **requests.texts}
        columns["source"] = prefixed(f"{self._source_id}:", places)
        if requests.labels:
            columns["labels"] = text_maps("labels", requests.labels, rows)
        if requests.notes:
            columns["quality"] = note_lists(requests.notes, rows)
        if requests.reported:
            columns["reported"] = reported_lists(requests.reported, rows)
        for name in STREAMS.names:
            if name not in columns:
                columns[name] = self._constants.column(name, self._same.get(name), rows)
        return pa.RecordBatch.from_arrays([columns[n] for n in STREAMS.names], schema=STREAMS)

    def good(
        self, requests: Requests, sieve: Sieve, lines: Ints,
        place: Callable[[int], Line], intake: Intake,
    ) -> pa.RecordBatch:  # fmt: skip
        """Rows of the requests that nothing speaks against; the others go to `intake`."""
        numbers = pc.cast(pa.array(lines), pa.string())
        batch = self.batch(requests, requests.texts.get("request_id", numbers), numbers)
        sieve.report(self.source, place, intake)
        return batch if sieve.good.all() else batch.filter(pa.array(sieve.good))


def read_csv(
    csv: Csv, columns: Sequence[str], data_set: DataSet, intake: Intake,
    requests: Callable[[Rows, Sieve], Requests],
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Rows of a table; `requests` makes them and refuses bad ones.

    One that has no id is called after its line.
    """

    def read(block: Block, intake: Intake) -> Iterator[pa.RecordBatch]:
        for rows in csv.rows(block, columns, intake):
            sieve = Sieve(len(rows))
            found = requests(rows, sieve)
            yield data_set.good(found, sieve, rows.numbers, rows.place, intake)

    return read_in_order(read, csv.blocks(), intake)


def read_jsonl(
    data_set: DataSet, shape: type[Record], intake: Intake,
    requests: Callable[[Sequence[Record], Sieve], Requests],
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Requests logged as a JSON object each; `requests` makes rows of them and refuses bad ones.

    One that has no id is called after its line.
    """
    records = Records(shape)

    def read(block: Block, intake: Intake) -> Iterator[pa.RecordBatch]:
        lines, found = [], []
        for line in block.lines():
            try:
                found.append(records.decode(line.data))
            except LineError as error:
                intake.reject(data_set.source, line, error.reason, error.field, error.value)
            else:
                lines.append(line)
        if lines:
            sieve = Sieve(len(lines))
            made = requests(found, sieve)
            numbers = np.array([line.number for line in lines])
            yield data_set.good(made, sieve, numbers, lines.__getitem__, intake)

    return read_in_order(read, data_set.source.blocks(), intake)


def tokens(column: pa.Array, name: str, sieve: Sieve) -> Cells:
    """The column of a data set that counts tokens; refuses rows that do not."""
    return sieve.checked(counts(column), "whole number of tokens", name, column)


def arrivals(column: pa.Array, unit: str, name: str, sieve: Sieve) -> Cells:
    """The column of a data set that says when requests came; refuses rows that do not.

    A date and time without a zone is taken to be in UTC.
    """
    expected = "date and time" if unit == ISO else f"time in {unit}"
    return sieve.checked(times(column, unit, utc=True), expected, name, column)


def _column(name: str, cells: Cells) -> pa.Array:
    mask = None if cells.there.all() else ~cells.there
    return pa.array(cells.values, STREAMS.field(name).type, mask=mask)
