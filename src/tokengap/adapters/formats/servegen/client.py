"""One client: its windows, its lengths, and the rows drawn from them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.formats.servegen.draw import GAMMA, WEIBULL, Floats, Lengths, Window
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.cells import Cells, cast, times
from tokengap.adapters.shared.csv_rows import Csv, Rows
from tokengap.adapters.shared.documents import document
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.workload import DataSet, Requests
from tokengap.adapters.source import Line, Source

NS_PER_S: Final = 1_000_000_000
PERIOD_S: Final = 21_600
"""The release gives lengths anew every six hours."""
PERIOD_NS: Final = PERIOD_S * NS_PER_S
WINDOW_NS: Final = 600 * NS_PER_S
WINDOW_LIMIT: Final = 10_000_000
"""Requests of a window; the most in the release are 777,946."""
BATCH_ROWS: Final = 1 << 16
NOTE: Final = "drawn_from_distribution"

_COLUMNS: Final = ("start", "rate", "cv", "pattern", "shape", "scale")

Periods = Mapping[int, Lengths | None]


def read_periods(source: Source, intake: Intake) -> Periods:
    """Lengths by the second their period begins; bad ones go to `intake`.

    InputError if the file is something else.
    """
    texts = document(source, dict[str, dict[str, str]], "chunk-<client>-dataset.json of ServeGen")
    found: dict[int, Lengths | None] = {}
    for index, (start, period) in enumerate(texts.items()):
        try:
            found[int(start)] = Lengths.parse(period)
        except ValueError as error:
            intake.reject(source, index, f"lengths from {start} s: {error}")
    return found


class Drawn(NamedTuple):
    """The requests of one window, given on one line."""

    line: int
    start_ns: int
    arrival_ns: Ints
    prompt_tokens: Ints
    output_tokens: Ints


def draw(client: int, trace: Source, periods: Periods, intake: Intake) -> Iterator[pa.RecordBatch]:
    """The client's requests, window by window; windows that cannot be used go to `intake`."""
    data_set = DataSet(trace, intake, clock_kind="monotonic", counts="requested")
    held: list[Drawn] = []
    for line, window in _windows(trace, intake):
        try:
            held.append(_drawn(client, line.number, window, periods))
        except LineError as error:
            intake.reject(trace, line, error.reason, error.field, error.value)
        if sum(len(drawn.arrival_ns) for drawn in held) >= BATCH_ROWS:
            yield _batch(client, held, data_set)
            held = []
    if held:
        yield _batch(client, held, data_set)


def _drawn(client: int, line: int, window: Window, periods: Periods) -> Drawn:
    if window.duration_ns <= 0:
        raise LineError("start: the next window does not come after it", "start")
    if window.size > WINDOW_LIMIT:
        raise LineError(f"rate: more than {WINDOW_LIMIT} requests", "rate", window.rate_per_s)
    lengths = periods.get(window.start_ns // PERIOD_NS * PERIOD_S)
    if lengths is None:
        raise LineError("start: no lengths are given for these six hours", "start")
    chance = window.chance(client)
    arrival_ns = window.arrivals_ns(chance)
    return Drawn(line, window.start_ns, arrival_ns, *lengths.draw(chance, window.size))


class Given(NamedTuple):
    """A window as the file has it. pattern: None where nothing was sent."""

    line: Line
    start_ns: int
    rate_per_s: float
    pattern: str | None
    shape: float


def _windows(trace: Source, intake: Intake) -> Iterator[tuple[Line, Window]]:
    """Windows in which something was sent; one lasts until the next begins."""
    csv = Csv(trace, _COLUMNS)
    given = [
        window
        for block in csv.blocks()
        for rows in csv.rows(block, _COLUMNS, intake)
        for window in _given(rows, trace, intake)
    ]
    ends_ns = [window.start_ns for window in given[1:]] + [
        window.start_ns + WINDOW_NS for window in given[-1:]
    ]
    for (line, start_ns, rate_per_s, pattern, shape), end_ns in zip(given, ends_ns, strict=True):
        if pattern is not None and rate_per_s > 0:
            yield line, Window(start_ns, end_ns - start_ns, rate_per_s, pattern, shape)


def _given(rows: Rows, trace: Source, intake: Intake) -> Iterator[Given]:
    sieve = Sieve(len(rows))
    start, pattern = rows.columns["start"], rows.columns["pattern"]
    start_ns = sieve.checked(times(start, "s"), "time in s", "start", start).values
    rate, shape = (_numbers(rows, name, sieve) for name in ("rate", "shape"))
    known = pc.is_in(pattern, pa.array([GAMMA, WEIBULL, None])).to_numpy(zero_copy_only=False)
    sieve.refuse(~known, f"{GAMMA} or {WEIBULL} expected", "pattern", pattern)
    sent = (rate > 0) & pc.is_valid(pattern).to_numpy(zero_copy_only=False)
    sieve.refuse(sent & ~(shape > 0), "a number above 0 expected", "shape", rows.columns["shape"])
    sieve.report(trace, rows.place, intake)
    for row in np.flatnonzero(sieve.good).tolist():
        window = (int(start_ns[row]), rate[row], pattern[row].as_py(), shape[row])
        yield Given(rows.place(row), *window)


def _numbers(rows: Rows, name: str, sieve: Sieve) -> Floats:
    column = rows.columns[name]
    numbers, _ = cast(column, pa.float64())
    values: Floats = pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False)
    sieve.refuse(~(values >= 0) | np.isinf(values), "a number from 0 expected", name, column)
    return values


def _batch(client: int, held: Sequence[Drawn], data_set: DataSet) -> pa.RecordBatch:
    sizes = [len(drawn.arrival_ns) for drawn in held]
    within = pa.array(np.concatenate([np.arange(size) for size in sizes]))
    starts = pa.array([str(drawn.start_ns // NS_PER_S) for drawn in held])
    which = pa.array(np.repeat(np.arange(len(held)), sizes))
    rows = len(within)
    requests = Requests(
        arrival_ns=_cells([drawn.arrival_ns for drawn in held]),
        prompt_tokens=_cells([drawn.prompt_tokens for drawn in held]),
        output_tokens=_cells([drawn.output_tokens for drawn in held]),
        labels={"client": pa.repeat(str(client), rows)},
        notes={NOTE: np.ones(rows, bool)},
    )
    names = pc.binary_join_element_wise(
        str(client), starts.take(which), pc.cast(within, pa.string()), "/"
    )
    lines = pa.array([str(drawn.line) for drawn in held]).take(which)
    return data_set.batch(requests, names, lines)


def _cells(arrays: Sequence[Ints]) -> Cells:
    values = np.concatenate(arrays)
    there = np.ones(len(values), bool)
    return Cells(values, there, ~there)
